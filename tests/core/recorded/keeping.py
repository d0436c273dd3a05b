"""Recorded stories on disk: a file for each module of tests, a section for each test, a block for each step.

Where a story begins as an earlier one of its file did, its section says so and goes on from there.
"""

from __future__ import annotations

import re
from pathlib import Path

from phoenixd.core.events import Event
from phoenixd.core.fleet import Fleet, Step
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


class Recorder:
    """Takes the place of what decides in stories of the fleet and of the terminal, and keeps what it decided."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self._step, self._hear = story.step, hostile_terminal.hear

    def step(self, before: Fleet, event: Event, now: Moment) -> Step:
        found = self._step(before, event, now)
        self.steps.append(told(before, event, now, found))
        return found

    def hear(self, before: Delivery, seen: Seen, now: Moment) -> Outcome:
        found = self._hear(before, seen, now)
        self.steps.append(f"{now.at:g} {value(seen)}: {value(found.order)}: {found.reason}")
        return found


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
