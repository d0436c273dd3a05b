"""The way of one event through the core, from a run of the real step: parts asked, files passed, microseconds.

Counted are the functions of the core's rules in the order in which they are called. The nouns (what an agent is, what
a decision is, how either is copied) are left out, for every rule uses them. What the roster calls to keep its marks is
counted apart: no rule decides there.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import phoenixd.core
from phoenixd.core import hearing, step, taking
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import ToolStarted
from phoenixd.core.moment import Moment
from tests.bench.step import EPOCH, World, world_of

CORE = str(Path(phoenixd.core.__file__).parent) + "/"
NOUNS = frozenset(
    {
        "actions.py", "agent/__init__.py", "agent/activity.py", "agent/run.py", "agent/state.py", "change.py",
        "decision.py", "events/__init__.py", "facts.py", "hooks.py", "merit.py", "moment.py", "rules.py",
        "spec.py",
    }
)  # fmt: skip
ROSTER = frozenset({"roster.py", "ranked.py"})
SAMPLES = 300
NAME = "agent-0000"


@dataclass(frozen=True, slots=True)
class Passage:
    """named: the parts of the event's row; asked: those that the step asked, in order. calls: files, call by call.

    upkeep: calls that keep the marks of the roster.
    """

    named: tuple[str, ...]
    asked: tuple[str, ...]
    calls: tuple[str, ...]
    upkeep: int
    microseconds: float

    @property
    def files(self) -> int:
        return len(set(self.calls))

    @property
    def changes(self) -> int:
        """How often the next call is in another file than the one before."""
        return sum(one != other for one, other in zip(self.calls, self.calls[1:], strict=False))


def _hook(world: World) -> tuple[Event, Moment]:
    """A tool's start that decides nothing."""
    agent = world.fleet.agents[NAME]
    return ToolStarted(NAME, agent.incarnation, tool="Bash", tool_use_id="t1", command="make"), _after(world, 1.0)


def _death(world: World) -> tuple[Event, Moment]:
    """kill -9 in the middle of a turn."""
    run = world.fleet.agents[NAME].run
    assert run is not None
    return AgentExited(NAME, run.incarnation, run.run_id, None, 9, "exit"), _after(world, 1.0)


def _send(world: World) -> tuple[Event, Moment]:
    """An operator's text."""
    return SendRequested(NAME, "m1", "please go on"), _after(world, 1.0)


def _tick(world: World) -> tuple[Event, Moment]:
    """A deadline that has come."""
    due = next_deadline(world.fleet, world.now())
    assert due is not None
    return Tick(), Moment(due, EPOCH + due, 0.5, "due")


EVENTS: dict[str, Callable[[World], tuple[Event, Moment]]] = {
    "hook": _hook, "death": _death, "send": _send, "Tick": _tick,
}  # fmt: skip


def passages() -> dict[str, Passage]:
    """The way of each kind of event."""
    found = {}
    for what, prepare in EVENTS.items():
        world = world_of(1)
        event, now = prepare(world)
        found[what] = passage(world.fleet, event, now)
    return found


def passage(fleet: Fleet, event: Event, now: Moment) -> Passage:
    """Step it once under the eyes of the profiler, and often without."""
    row = hearing.TABLE[type(event)]
    named = [part for one in row for part in (one if isinstance(one, tuple) else (one,))]
    asked, calls, upkeep = _watched(lambda: step.step(fleet, event, now), named)
    took = []
    for _ in range(SAMPLES):
        began = time.thread_time_ns()
        step.step(fleet, event, now)
        took.append((time.thread_time_ns() - began) / 1000)
    return Passage(tuple(map(word_of, named)), asked, calls, upkeep, statistics.median(took))


def word_of(part: Any) -> str:
    """A part as the table names it: file and function."""
    return f"{Path(part.__code__.co_filename).stem}.{part.__name__}"


def _watched(act: Callable[[], object], named: list[Any]) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The parts that the step's own code called, named or not, the files of all calls, and the calls for the marks."""
    table = step.__file__
    # Its own functions ask the parts; these take in what a part decided.
    takers = {one.__code__ for one in (step.answer, step.outage.once, taking.take, taking.take_turn)}
    takers |= {step.calls.is_known.__code__}
    # The door turns an order on a seat to its holder before its row is read.
    takers |= {step.door.addressed.__code__, step.asking.at_the_door.__code__}
    parts = {part.__code__ for part in named}
    asked: list[str] = []
    calls: list[str] = []

    upkeep = 0
    keeping: list[FrameType] = []

    def see(frame: FrameType, what: str, _argument: object) -> None:
        nonlocal upkeep
        if keeping:
            upkeep += what == "call"
            if what == "return" and frame is keeping[0]:
                keeping.clear()
            return
        code = frame.f_code
        if what != "call" or not code.co_filename.startswith(CORE) or code.co_name.startswith("<"):
            return
        file = code.co_filename.removeprefix(CORE)
        if file in ROSTER:
            upkeep += 1
            keeping.append(frame)
            return
        if file in NOUNS:
            return
        calls.append(file)
        caller = frame.f_back
        if caller is None or caller.f_code.co_filename != table or code.co_filename == table:
            return
        if code in parts or code not in takers:
            asked.append(f"{Path(code.co_filename).stem}.{code.co_name}")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        act()
    finally:
        sys.setprofile(before)
    return tuple(asked), tuple(calls), upkeep


def _after(world: World, seconds: float) -> Moment:
    return Moment(world.at + seconds, EPOCH + world.at + seconds, 0.5, "later")


__all__ = ["EVENTS", "Passage", "passage", "passages", "word_of"]
