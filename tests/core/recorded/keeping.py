"""Recorded stories on disk: a file for each module of tests, a section for each test, a block for each step.

Where a story begins as an earlier one of its file did, its section says so and goes on from there.
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
AGAIN = "PHOENIX_RECORD"
"""The variable that has stories recorded anew in place of compared."""
BEGINS = re.compile(r"as in (\S.*), (\d+) steps$")

Stories = dict[str, list[str]]
"""By the name of the test: the steps, each as it was told."""


DECIDES = {
    "test_answering": ("begin", "hear"),
    "test_behind": ("judge", "lag"),
    "test_boot": ("read_boot", "why_gone"),
    "test_breaker": ("breakers.judge", "breakers.reset", "breakers.set_by_hand", "breakers.opened_on_trial"),
    "test_durability": ("told",),
    "test_escaping": ("begin", "hear"),
    "test_brief_writer": ("begin", "choose_writer", "finish", "held_back", "next_run", "tokens_of_a_run"),
    "test_left_answers": ("begin_again", "hear"),
    "test_selection": ("parse", "choose", "broken"),
    "test_triage": ("diagnose", "triage", "prescribe"),
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
            patch.setattr(place, function, self._told(getattr(place, function), _called(function)))

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
    """Return the stories of a file, each whole."""
    stories: Stories = {}
    steps: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("== "):
            steps = stories[line[3:]] = []
        elif begins := BEGINS.match(line):
            steps += stories[begins[1]][: int(begins[2])]
        elif line.startswith(" "):
            steps[-1] += f"\n{line}"
        elif line:
            steps.append(line)
    return stories


def dump(path: Path, stories: Stories) -> None:
    lines = []
    earlier: Stories = {}
    for name, steps in sorted(stories.items()):
        known, like = max(((_shared(steps, other), name) for name, other in earlier.items()), default=(0, ""))
        lines += [f"== {name}", *([f"as in {like}, {known} steps"] if known else ()), *steps[known:], ""]
        earlier[name] = steps
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")


def _shared(one: list[str], other: list[str]) -> int:
    """How many steps both begin with."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count
