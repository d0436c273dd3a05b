"""The daemon, with a verb for each step of a seat's succession: `phoenixctl send boss '#seat STEP'`.

Nothing but the way in is a test's: the steps are those of phoenixd.core.seat.succession, decided on the daemon's queue.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from phoenixd.__main__ import main
from phoenixd.core import hearing, requests, step
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import SendRequested, StartRequested
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding, succession

WORD = "#seat "


def hand_over(before: Fleet, found: Step, event: SendRequested, now: Moment) -> Step:
    """Do the step that the text names, if it names one."""
    if not event.text.startswith(WORD):
        return found
    seat = finding.of(before, event.agent)
    assert seat is not None
    match event.text.removeprefix(WORD).split():
        case ["declare"]:
            passed = succession.declare_successor(before, seat.name, now)
        case ["start"]:
            successor = finding.successor(before, seat)
            assert successor is not None
            order = StartRequested(successor.name, by="the handoff")
            passed = _as_passed(put(Step(before), requests.start(successor, order, now), now))
        case ["succeed"]:
            passed = succession.succeed(before, seat.name, now)
        case ["retire", number]:
            passed = succession.retire(before, seat.name, int(number), now)
        case words:
            raise AssertionError(words)
    return replace(found, fleet=passed[0], decisions=passed[1])


def _as_passed(found: Step) -> tuple[Fleet, tuple[Decision, ...]]:
    return found.fleet, found.decisions


def unless_a_step(part: hearing.FleetPart | tuple[hearing.AgentPart, ...]) -> hearing.FleetPart:
    """The part of every other text."""

    def decide(before: Fleet, found: Step, event: SendRequested, now: Moment) -> Step:
        if event.text.startswith(WORD):
            return found
        return (
            step._decided(before, found, part, event, now)
            if isinstance(part, tuple)
            else part(before, found, event, now)
        )

    return decide


if __name__ == "__main__":
    typed, *rest = hearing.TABLE[SendRequested]
    hearing.TABLE[SendRequested] = (unless_a_step(typed), hand_over, *rest)  # type: ignore[arg-type]
    sys.exit(main())
