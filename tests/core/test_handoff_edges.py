"""The next move of a handoff at its edges, as it was when it was last written down.

As in tests/core/test_edges.py: one fact changed, and two at once where they mean something else together.
`python -m tests.core.recorded` writes the table anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Desired,
    Parked,
    Quarantined,
    Starting,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.handoff.machine import advance, begin, due
from phoenixd.core.handoff.move import SAYING
from phoenixd.core.handoff.state import Handoff, Step, Trigger
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.rules import HandoffRules
from tests.core.handing import orchestrator
from tests.core.recorded.keeping import AGAIN, EDGES
from tests.core.recorded.rendering import changes
from tests.core.story import EPOCH, Story
from tests.core.test_edges import Edges, rows

TABLE = EDGES / "handoffs.txt"
NOW = Moment(10_000.0, EPOCH, 0.5)
WORKS = Story(orchestrator()).works().agent
RUN, ACTIVITY = WORKS.run, WORKS.activity
assert RUN is not None
assert ACTIVITY is not None
RESTS = replace(WORKS, state=replace(WORKS.state, activity=replace(ACTIVITY, turn_open=False)))  # type: ignore[arg-type]
ENDING = Stopping(RUN, ACTIVITY, StopStep.TERMINATE, 10_005.0, Afterwards.STAY, "it is ended")
GENERATIONS: dict[str, Agent | None] = {
    "none": None, "works": WORKS, "rests": RESTS,
    "rests with jobs": replace(RESTS, state=replace(RESTS.state, run=replace(RUN, jobs=("npm run dev",)))),  # type: ignore[arg-type]
    "is full": replace(WORKS, meter=replace(WORKS.meter, tokens=199_000)),
    "waits for a limit": replace(
        RESTS, limits=replace(RESTS.limits, parking=Parking(ParkingKind.LIMIT, EPOCH + 60, 9_000.0, "its limit"))
    ),
    "starts": replace(WORKS, state=Starting(RUN, ACTIVITY, 10_030.0)), "is ended": replace(WORKS, state=ENDING),
    "is going": replace(WORKS, removing=True, state=ENDING),
    "backs off": replace(WORKS, state=BackingOff(10_005.0, Mode.RESUME, RUN.prompt)),
    "is parked": replace(WORKS, state=Parked()), "is given up": replace(WORKS, state=Quarantined("crashes")),
    "is down": replace(WORKS, state=Stopped(failed=True)),
    "is to be down": replace(WORKS, state=Stopped(), desired=Desired.STOPPED),
}  # fmt: skip
KINDS = tuple(GENERATIONS)
BASE = Handoff("h1", "o", "shop", 1, "order", "it was ordered", EPOCH - 600, Step.FREEZE, 9_900.0, EPOCH - 100, "anna",
               deadline=10_100.0)  # fmt: skip
EDGES_OF: Edges = {
    "old": tuple(kind for kind in KINDS if kind != "works"), "new": tuple(kind for kind in KINDS if kind != "none"),
    "deadline": (None, 10_000.0, 10_000.1), "held": ("no room",), "waits": ("an outage",), "way": ("armed", "unsaid"),
    "alone": (True,), "said": ("armed", "sending", "unsaid"), "made": (True,), "acked": (True,), "reminded": (True,),
    "escaped": (True,), "lingers": (True,), "stays": (True,), "again": (True,), "called_off": (True,), "tries": (1, 2),
    "base": (1,), "attempt": (2,), "rounds": (2,),
}  # fmt: skip


def said(given: dict[str, Any]) -> Any:
    facts = {name: one for name, one in given.items() if name not in ("old", "new", "way", "waits")}
    handoff = replace(BASE, **facts)
    move = advance(
        handoff, GENERATIONS[given["old"]], GENERATIONS[given["new"]], HandoffRules(), given["way"], given["waits"], NOW
    )
    if move is None:
        return f"waits until {due(handoff)}"
    return (
        move.reason,
        move.orders,
        " ".join(line.replace(" -> ", ">") for line in changes("", handoff, move.handoff)),
    )


def table() -> list[str]:
    """Of each step as it is, and where it comes out otherwise."""
    base = {"old": "works", "new": "none", "way": "sending", "waits": ""}
    found = []
    for step in Step:
        plain, *others = rows(said, {**base, "step": step}, EDGES_OF)
        as_it_is = plain.partition(": ")[2]
        found += [f"{step}, {plain}", *(f"    {row.replace(as_it_is, 'as it is')}" for row in others)]
    return found


def test_the_next_move_of_a_handoff_at_its_edges_is_what_it_was() -> None:
    found = table()
    if AGAIN in os.environ:
        TABLE.write_text("\n".join((*found, "")), encoding="utf-8")
    assert found == TABLE.read_text(encoding="utf-8").splitlines(), "if that is meant: python -m tests.core.recorded"


def test_a_handoff_begins_with_what_the_last_one_left() -> None:
    def begun(last: Handoff | None, trigger: Trigger = "order") -> Handoff:
        return begin("o", "shop", 3, last, trigger, "it was ordered", "anna", NOW)

    last = replace(BASE, rollbacks=2, session="s2", previous_session="s1")
    first, done = begun(None), begun(replace(last, step=Step.DONE))
    back = begun(replace(last, step=Step.ROLLED_BACK))

    assert (first.predecessor, first.step, first.deadline, first.by) == (3, Step.FREEZE, NOW.at + SAYING, "anna")
    assert (first.rollbacks, first.previous_session, first.degraded) == (0, "", ())
    assert (done.rollbacks, done.previous_session) == (0, "s2")
    assert (back.rollbacks, back.previous_session) == (2, "s1")
    assert len(begun(None, "marker").degraded) == 1
