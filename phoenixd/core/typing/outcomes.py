"""How a step answers: go on with an order, or end with a verdict; always with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from phoenixd.core.moment import Instant, Moment
from phoenixd.core.typing.delivery import Delivery, Over, Step
from phoenixd.core.typing.orders import Done, Look, Order
from phoenixd.core.typing.people import was_touched
from phoenixd.core.typing.seen import Sight

LOOK_INTERVAL = 0.1
"""Seconds between two looks."""
STEADY = 0.3
"""Seconds for which a screen must show what is expected: a dialog may hide behind a frame of before."""
SETTLES = 0.5
"""Seconds after which a screen is believed that shows something else than what was expected."""

QUEUED = "queued: the agent reads it at its next step"
TAKEN = "the agent took the prompt"
OTHER_NAME = "its program took it, and its hook tells of another prompt"
ENDED = "its run ended with it"
RUN_OVER = "the run that it was meant for is over"


class Outcome(NamedTuple):
    """The delivery as it is now, what the runtime is to do, and why."""

    delivery: Delivery
    order: Order
    reason: str


def go_on(delivery: Delivery, step: Step, order: Order, reason: str) -> Outcome:
    """Stand at `step` and have `order` carried out."""
    return Outcome(replace(delivery, step=step, order=order), order, reason)


def look_again(delivery: Delivery, step: Step, now: Moment, reason: str, order: Look | None = None) -> Outcome:
    """Stand at `step` and look again; by default at the screen, after a moment."""
    return go_on(delivery, step, order or Look(now.at + LOOK_INTERVAL), reason)


def delivered(delivery: Delivery, evidence: str) -> Outcome:
    """End: the text arrived, and what stands in the input line from now on is somebody else's."""
    return go_on(replace(delivery, left=()), Over(), Done("delivered", evidence, queued=evidence == QUEUED), evidence)


def not_delivered(delivery: Delivery, why: str, *, person: bool = False) -> Outcome:
    """End: the text was not submitted. person: nothing was typed, for somebody's own words were in the way."""
    return go_on(delivery, Over(), Done("not delivered", why, person=person), why)


def unknown(delivery: Delivery, why: str) -> Outcome:
    """End: the text left the input line, and nothing told where it went."""
    return go_on(delivery, Over(), Done("unknown", why), why)


def refused_by(delivery: Delivery, why: str, dialog: str, sight: Sight, now: Moment) -> Outcome:
    """End: a dialog was in the way, and everybody is told of it."""
    return go_on(delivery, Over(), Done("not delivered", why, dialog, attended=was_touched(sight.typed, now.wall)), why)


def since(before: Instant | None, holds: bool, now: Moment) -> Instant | None:
    """Since when each look has found the same; None where this one does not."""
    if not holds:
        return None
    return now.at if before is None else before
