"""What nobody said: a field that an older journal lacks tells of nothing, and what others wrote stands in no repr.

Both hold for every value of the core and of the runtime, so a new field is held to them without a test of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import phoenixd.core
import phoenixd.runtime

RULES = ("phoenixd.core.spec", "phoenixd.core.rules", "phoenixd.core.treatment.authority")
"""What the configuration sets: tests/core/test_defaults.py holds it against the shipped one."""

SAID: dict[str, object] = {
    # The first one, or one that counts itself.
    "Case.incidents": 1, "Cases.next": 1, "Closing.asked": 1, "Entered.presses": 1, "Examinations.next": 1,
    "Fleet.next_item": 1, "Handoff.rounds": 1, "Incident.number": 1, "IncidentRecorded.number": 1, "Noticed.number": 1,
    "Opening.asked": 1, "Passing.asked": 1, "Patient.number": 1, "Seat.generation": 1, "Tasks.next": 1,
    "UpdatePapers.attempt": 1, "WritePackage.attempt": 1, "ArmedAnswer.times": 1,
    # Before all time, in the middle of all chances, and no turn at all.
    "Episode.bad_at": -float("inf"), "Episode.ended_at": -float("inf"), "Durability.ended": -float("inf"),
    "Passing.since": -1, "Moment.chance": 0.5,
    # What is so unless somebody says that it is not.
    "AlertKind.is_told": True, "AlertKind.needs_person": True, "Challenge.spares": True,
    "CleanedUp.looked_at_ports": True, "Delivery.has_hooks": True, "Delivery.is_seen": True, "Giving.whole": True,
    "LastExit.ran": True, "Look.screen": True, "Looked.turn_open": True, "Ordered.taken": True,
    "OrphanAnswer.says": True, "OrphanAnswer.whole": True, "RunAdopted.unwatched": True, "Seen.is_news": True,
    "Traits.has_hooks": True, "Traits.is_prompted": True, "Traits.tells_cut": True, "View.is_news": True,
    # Of a task, of send, and of daily briefs, where the order names no other.
    "Task.timeout": 45 * 60.0, "TaskRequested.timeout": 45 * 60.0, "JobRules.timeout": 45 * 60.0,
    "Task.tries": 2, "TaskRequested.tries": 2, "JobRules.at_once": 2, "JobRules.keep": 1000,
    "Task.writes": True, "TaskRequested.writes": True,
    "SendRequested.within": 60.0, "AwaitWord.within": 5.0, "HandOver.within": 5.0,
    "Calendar.hour": 4 * 3600.0, "Calendar.stagger": 1800.0,
    "ReaderRules.questions_per_day": 24, "ReaderRules.timeout": 60.0, "ReaderRules.tokens_per_day": 200_000,
}  # fmt: skip

HIDDEN = {
    "text": {
        "ArmedAnswer", "Deliver", "Delivery", "Late", "Letter", "Notified", "OtherHook", "Pasted", "PermissionAsked",
        "PromptSubmitted", "SendRequested", "TroubleSeen", "TurnEnded", "TurnFailed", "TurnKept", "Unfinished",
    },
    "updated": {"AnswerHold", "Giving"}, "command": {"ExamineCase", "ToolStarted"}, "evidence": {"ExamineCase"},
    "reader": {"ExamineCase"}, "opinion": {"CaseExamined"}, "record": {"IncidentRecorded"},
    "word": {"AckFileSeen", "Claim", "Handoff", "HandoffAcked", "PackageWritten"},
    "facts": {"Claim", "Handoff", "PackageWritten"},
    "opening": {"AgentSpec", "Handoff", "PackageWritten"}, "planting": {"CodesPlanted", "Resonance"},
    "codes": {"CodesSeen"}, "marker": {"AnchorSeen", "FooterSeen"}, "words": {"Challenge", "SeedRead"},
    "queued": {"Delivered"}, "prompt": {"TaskRequested"}, "check": {"TurnEnded"}, "code": {"Asked"},
    "seed": {"Restoration"}, "declared": {"Seat"}, "env": {"AgentSpec"}, "texts": {"Orphaned"},
    "line": {"Appearing", "Entered", "Orphaned"}, "frame": {"Drawing", "Screen"}, "shown": {"Clearing", "Discarding"},
    "left": {"Delivery"}, "roster": {"Fleet"},
}  # fmt: skip


def fields() -> list[tuple[type, dataclasses.Field[object]]]:
    names = [
        info.name
        for package in (phoenixd.core, phoenixd.runtime)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return [
        (one, field)
        for name in names
        for one in vars(importlib.import_module(name)).values()
        if inspect.isclass(one) and dataclasses.is_dataclass(one) and one.__module__ == name
        for field in dataclasses.fields(one)
    ]


def test_a_field_of_which_nobody_said_anything_tells_of_nothing() -> None:
    """A journal of an older version is read by these defaults: none may make anything happen that nobody told."""
    counted = {
        f"{one.__name__}.{field.name}": field.default
        for one, field in fields()
        if isinstance(field.default, bool | int | float) and one.__module__ not in RULES
    }

    assert {name: default for name, default in counted.items() if default} == SAID


def test_what_agents_and_people_wrote_is_in_no_repr_and_so_in_no_log() -> None:
    hidden: dict[str, set[str]] = {}
    for one, field in fields():
        if not field.repr:
            hidden.setdefault(field.name, set()).add(one.__name__)

    assert hidden == HIDDEN
