"""One move of a handoff: what it is then, why, and what is ordered; and the way back, which leads from each step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from phoenixd.core.handoff.state import Handoff, Step, StepTime
from phoenixd.core.moment import Moment

Order = Literal[
    "freeze",
    "silence",
    "renew",
    "unfreeze",
    "leave",
    "escape",
    "cut",
    "update",
    "write",
    "check",
    "make",
    "dismiss",
    "remind",
    "pass",
    "retire",
    "resume",
]
"""What a step asks of the fleet.

freeze: tell the predecessor to finish, and deny it to begin work. silence: deny it every tool. renew: deny it both for
longer. unfreeze: take both back, and say so. leave: it is down, and is not to be restarted. escape: break its turn off.
cut: end its run. update, write: work on files. check: hold the package against the
disk. make: declare and start the next generation. dismiss: remove the newest
successor. remind: ask it for its ack once more. pass: the successor holds the seat. retire: remove the predecessor.
resume: start it again.
"""

SAYING = 60.0
"""Seconds in which the predecessor has to be told to finish."""
ESCAPING = 30.0
"""Seconds in which a turn has to be over, once Escape was pressed on it."""
WORK_LIMIT = 120.0
"""Seconds after which work on files is taken for failed."""
MOST_ATTEMPTS = 2
COMING_UP = 120.0
"""Seconds in which a successor has to run, once its start was asked for."""
ENDING = 300.0
"""Seconds after which a generation that was told to end is taken for one that cannot be ended."""
MOST_ROUNDS = 2
"""How often one handoff may begin: a reboot takes both generations, and is no reason to give up."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move: what the handoff is then, why, and what is ordered, in this order."""

    handoff: Handoff
    reason: str
    orders: tuple[Order, ...] = ()


def back(
    handoff: Handoff, why: str, now: Moment, *, stays: bool = False, recalled: bool = False, again: bool = False
) -> Move:
    """Give a handoff up: its successor goes, and the predecessor holds the seat as before."""
    again = again and handoff.rounds < MOST_ROUNDS
    undone = entered(
        handoff, Step.ROLLBACK, now, ENDING, why_back=why, stays=stays, recalled=recalled, again=again,
        called_off=not again,
    )  # fmt: skip
    # The end of a successor may take long, and the predecessor need not wait for it.
    return Move(undone, f"rolling back: {why}", ("unfreeze", "dismiss"))


def kept_back(handoff: Handoff, why: str, *, stays: bool = False, recalled: bool = False) -> Move:
    """Somebody ordered it while it is rolled back: that ends the way back, and nothing begins once more."""
    kept = replace(
        handoff, why_back=f"{handoff.why_back}; then {why}", again=False, stays=handoff.stays or stays,
        recalled=handoff.recalled or recalled,
    )  # fmt: skip
    return Move(kept, f"it is not begun once more: {why}" if handoff.again else why)


def entered(handoff: Handoff, step: Step, now: Moment, seconds: float | None = None, **changes: Any) -> Handoff:
    took = StepTime(handoff.step, handoff.since_wall, round(now.at - handoff.since, 3))
    deadline = None if seconds is None else now.at + seconds
    fresh = replace(
        handoff, step=step, since=now.at, since_wall=now.wall, deadline=deadline, held="",
        times=(*handoff.times[-40:], took),
    )  # fmt: skip
    return replace(fresh, **changes)


def ended(handoff: Handoff, step: Step, now: Moment) -> Handoff:
    # Neither the word nor the prompt is of use to anybody any more.
    return entered(handoff, step, now, ended=now.at, word="", facts=(), opening="", claim=None)
