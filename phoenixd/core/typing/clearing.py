"""Our own text is taken out of the input line again: there the next Enter would send it, and no other text could go."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.moment import Moment
from phoenixd.core.typing.delivery import (
    CLEARS_WITHIN,
    FREE_WITHIN,
    GIVE_UP,
    LAST_WORD,
    Clearing,
    Delivery,
    Discarding,
    Freeing,
    Parting,
    TakingBack,
)
from phoenixd.core.typing.lines import is_rest_of
from phoenixd.core.typing.orders import ClearLine, Discard, Look
from phoenixd.core.typing.outcomes import (
    LOOK_INTERVAL,
    RUN_OVER,
    STEADY,
    Outcome,
    go_on,
    look_again,
    not_delivered,
    since,
)
from phoenixd.core.typing.seen import Discarded, Screen, Sight

CLEARS = 50
"""Lines of a text that are taken away one by one, at most."""
UNSENT = "it stands in the input line, unsent"
TAKEN_OUT_LATER = "phoenixd was restarted while it was being typed; the text was taken out of the input line again"
TAKEN_OUT = f"Enter was not taken within {GIVE_UP:.0f} s; the text was taken out of the input line again"


def hear_clearing(delivery: Delivery, step: Clearing, sight: Sight, now: Moment) -> Outcome:
    """Press the keys as long as something of ours stands there, and nobody else is at the keyboard."""
    screen = sight.screen or Screen(None)
    blank = since(step.blank_since, screen.line == "", now)
    closed = since(step.closed_since, screen.line is None, now)
    step = replace(step, blank_since=blank, closed_since=closed)
    if sight.is_over:
        return not_delivered(delivery, RUN_OVER)
    if blank is not None and step.presses and now.at - blank >= STEADY:
        return _cleared(delivery, step, now)
    if closed is not None and now.at - closed >= LOOK_INTERVAL:
        return _stays(delivery, step, now)
    if closed is not None or (blank is not None and step.presses):
        return look_again(delivery, step, now, "whether that is what its input line shows")
    is_somebody_there = delivery.touched or (step.purpose == "room" and sight.typed is not None)
    is_ours = blank is not None or is_rest_of(screen.line or "", step.shown, *delivery.left)
    if is_somebody_there or delivery.asked or sight.asks or not is_ours:
        return _stays(delivery, step, now)
    if step.presses >= CLEARS or now.at >= step.until:
        return _stays(delivery, step, now)
    pressed = replace(step, presses=step.presses + 1)
    return go_on(delivery, pressed, ClearLine(), "nothing took it, and so it is taken out of the input line")


def hear_cleared(delivery: Delivery, step: Clearing, now: Moment) -> Outcome:
    """Look whether the keys took it all away."""
    return look_again(delivery, step, now, "whether something of it stands there still")


def hear_unread(delivery: Delivery, step: TakingBack, sight: Sight, now: Moment) -> Outcome:
    """Take back what the program has not read, before it comes to it later."""
    if not sight.unread:
        return not_delivered(delivery, step.why)
    return go_on(delivery, Discarding(f"{step.why}; it was taken back", step.why), Discard(), step.why)


def hear_discarded(delivery: Delivery, step: Discarding, seen: Discarded, now: Moment) -> Outcome:
    """Go on with what nothing in the terminal's queue can disturb any more."""
    if seen.problem:
        return not_delivered(delivery, step.failed)
    if step.then == "verdict":
        return not_delivered(delivery, step.why)
    clearing = Clearing(now.at + CLEARS_WITHIN, "back", step.shown)
    return look_again(delivery, clearing, now, "what stands in its input line", Look(now.at))


def hear_parting(delivery: Delivery, step: Parting, sight: Sight, now: Moment) -> Outcome:
    """End where no hook told meanwhile of an Enter that was taken at the last moment."""
    return not_delivered(delivery, step.why)


def _cleared(delivery: Delivery, step: Clearing, now: Moment) -> Outcome:
    clean = replace(delivery, left=())
    if step.purpose == "room":
        return look_again(clean, Freeing(now.at + FREE_WITHIN), now, "its input line is empty", Look(now.at, room=True))
    parting = Parting(TAKEN_OUT_LATER if delivery.is_orphan else TAKEN_OUT)
    return look_again(clean, parting, now, "its input line is empty", Look(now.at + LAST_WORD, screen=False))


def _stays(delivery: Delivery, step: Clearing, now: Moment) -> Outcome:
    """Leave what stands there to whom it belongs."""
    if step.purpose == "back":
        return not_delivered(delivery, UNSENT)
    freeing = Freeing(now.at + FREE_WITHIN, tried=True)
    return look_again(delivery, freeing, now, "it is left alone", Look(now.at, room=True))
