"""Recorded stories on disk: a file for each module of tests, a section for each test, a block for each step kept.

A step is kept where it says something that no step before it in the directory says; its number stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from phoenixd.core.moment import Moment
from phoenixd.core.typing.delivery import Delivery
from phoenixd.core.typing.machine import Outcome
from phoenixd.core.typing.seen import Seen
from tests.core import hostile_terminal, story
from tests.core.recorded.rendering import told, value

PLACE = Path(__file__).with_name("told")
EDGES = Path(__file__).with_name("edges")
AGAIN = "PHOENIX_RECORD"
"""The variable that has stories recorded anew in place of compared."""
STEP = re.compile(r"#(\d+) (.*)")
VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.e+]*")

Steps = dict[int, str]
"""By their numbers in the story: the steps that are kept, each as it was told."""
Stories = dict[str, Steps]
"""By the name of the test."""


DECIDES = {
    "test_answering": ("begin", "hear"),
    "test_behind": ("judge", "step"),
    "test_behind_activity": ("judge",),
    "test_behind_lag": ("lag", "step"),
    "test_behind_orders": ("step",),
    "test_behind_sequences": ("judge",),
    "test_behind_tasks": ("step",),
    "test_boot": ("read_boot", "why_gone"),
    "test_breaker": ("breakers.judge", "breakers.reset", "breakers.set_by_hand", "breakers.opened_on_trial"),
    "test_durability": ("told",),
    "test_escaping": ("begin", "hear"),
    "test_brief_writer": ("begin", "choose_writer", "finish", "held_back", "next_run", "tokens_of_a_run"),
    "test_left_answers": ("begin_again", "hear"),
    "test_question_render": ("render", "title"),
    "test_question_replies": ("understand", "limits"),
    "test_selection": ("parse", "choose", "broken"),
    "test_triage": ("diagnose", "prescribe"),
}
"""What decides where a test tells no story of a fleet or a terminal: by its module, as that calls it."""


class Recorder:
    """Takes the place of what decides in a test, and keeps what it decided."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def listens(self, module: ModuleType, patch: pytest.MonkeyPatch) -> None:
        """Hear what is decided while a test of this module runs."""
        patch.setattr(story, "step", self._told(story.step, told))
        patch.setattr(hostile_terminal, "hear", self._told(hostile_terminal.hear, _heard))
        for name in DECIDES.get(module.__name__.rpartition(".")[2], ()):
            owner, _, function = name.rpartition(".")
            place = getattr(module, owner) if owner else module
            in_words = told if function == "step" else _called(function)
            patch.setattr(place, function, self._told(getattr(place, function), in_words))

    def _told(self, decides: Callable[..., Any], in_words: Callable[..., str]) -> Callable[..., Any]:
        def heard(*given: Any, **named: Any) -> Any:
            found = decides(*given, **named)
            self.steps.append(in_words(*given, *named.values(), found))
            return found

        return heard


def _heard(before: Delivery, seen: Seen, now: Moment, found: Outcome) -> str:
    return f"{now.at:g} {value(seen)}: {value(found.order)}: {found.reason}"


def _called(function: str) -> Callable[..., str]:
    return lambda *given: f"{function}: {value(given[-1])}"


def file_of(module: str) -> Path:
    return PLACE / f"{module}.txt"


def load(path: Path) -> Stories:
    """Return the stories of a file."""
    stories: Stories = {}
    steps: Steps = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("== "):
            steps = stories[line[3:]] = {}
        elif begins := STEP.match(line):
            steps[int(begins[1])] = begins[2]
        elif line:
            steps[max(steps)] += f"\n{line}"
    return stories


def dump(path: Path, stories: Stories) -> None:
    lines = []
    for name, steps in sorted(stories.items()):
        lines += [f"== {name}", *(f"#{number} {step}" for number, step in steps.items()), ""]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")


def news(steps: list[str]) -> Steps:
    """Return the steps of a story that say something that no recorded one says."""
    recorded = (step for path in PLACE.glob("*.txt") for kept in load(path).values() for step in kept.values())
    said = {one for step in recorded for one in _said(step)}
    found: Steps = {}
    for number, step in enumerate(steps):
        if not _said(step) <= said:
            found[number] = step
            said |= _said(step)
    return found


def _said(step: str) -> set[tuple[str, str]]:
    """What a step says, whatever its values: each of its lines with the event."""
    first, *lines = [VALUE.sub("_", line.strip()) for line in step.splitlines()]
    if not lines:
        return {(first, "")}
    event = first.partition("(")[0]
    return {(event, line.partition("(")[0].partition(" -> ")[0].partition(" = ")[0]) for line in (event, *lines)}
