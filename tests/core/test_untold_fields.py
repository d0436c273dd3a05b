"""What agents and people wrote, and what only an agent may know, stands in no representation of a value.

A value is written as it is where a fault is logged, and the log is read by more people than an agent's terminal.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any

import pytest

import phoenixd.core
import phoenixd.runtime

UNTOLD = frozenset({
    "AckFileSeen.word", "AgentSpec.env", "AgentSpec.opening", "AnchorSeen.marker", "AnswerHold.updated",
    "Appearing.line", "ArmedAnswer.text", "Asked.code", "CaseExamined.opinion", "Challenge.words", "Claim.facts",
    "Claim.word", "Clearing.shown", "CodesPlanted.planting", "CodesSeen.codes", "Deliver.text", "Delivered.queued",
    "Delivery.left", "Delivery.text",
    "Discarding.shown", "Drawing.frame", "Entered.line", "ExamineCase.command", "ExamineCase.evidence",
    "ExamineCase.reader", "Fleet.roster", "FooterSeen.marker", "Giving.updated", "Handoff.facts", "Handoff.opening",
    "Handoff.word", "HandoffAcked.word", "IncidentRecorded.record", "Late.text", "Letter.text", "Notified.text",
    "Orphaned.line", "Orphaned.texts", "OtherHook.text", "PackageWritten.facts", "PackageWritten.opening",
    "PackageWritten.word", "Pasted.text", "PermissionAsked.text", "PromptSubmitted.text", "Resonance.planting",
    "Restoration.seed", "Screen.frame", "Seat.declared", "SeedRead.words", "SendRequested.text",
    "TaskRequested.prompt", "ToolStarted.command", "TroubleSeen.text", "TurnEnded.check", "TurnEnded.text",
    "TurnFailed.text", "TurnKept.text", "Unfinished.text",
})  # fmt: skip
"""Texts, prompts, screens, codes, a package's word, an environment, and all that holds such."""


def of_the_daemon() -> Iterator[tuple[str, Field[Any]]]:
    for package in (phoenixd.core, phoenixd.runtime):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for kind in vars(importlib.import_module(info.name)).values():
                if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == info.name:
                    yield from ((f"{kind.__name__}.{field.name}", field) for field in fields(kind))


@pytest.fixture(scope="module")
def every() -> list[tuple[str, Field[Any]]]:
    return list(of_the_daemon())


def test_what_is_untold_is_a_field(every: list[tuple[str, Field[Any]]]) -> None:
    assert {name for name, _ in every} >= UNTOLD


def test_these_fields_and_no_others_are_untold(every: list[tuple[str, Field[Any]]]) -> None:
    assert {name for name, field in every if not field.repr} == UNTOLD


def test_only_what_is_made_of_the_rest_is_not_compared(every: list[tuple[str, Field[Any]]]) -> None:
    """Two fleets of the same agents are equal, whatever was looked up in them."""
    assert {name for name, field in every if not field.compare} == {"Fleet.roster"}
    assert {name for name, field in every if not field.init} == {"Fleet.roster"}
