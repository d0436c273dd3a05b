"""After the paste, where no screen shows what stands in the input line: hooks tell, or what the program has read."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.moment import Moment
from phoenixd.core.typing import enter
from phoenixd.core.typing.delivery import GIVE_UP, Delivery, TakingBack, Unseen
from phoenixd.core.typing.orders import Look, PressEnter
from phoenixd.core.typing.outcomes import (
    ENDED,
    LOOK_INTERVAL,
    OTHER_NAME,
    RUN_OVER,
    TAKEN,
    Outcome,
    delivered,
    go_on,
    look_again,
    not_delivered,
)
from phoenixd.core.typing.seen import Sight

ENTER_AGAIN = (2.0, 5.0)
"""Seconds after which Enter alone is pressed again, where a hook would have told that it was taken."""
NO_HOOK = f"its hooks did not tell within {GIVE_UP:.0f} s that it took the prompt"
NOT_READ = f"its program did not read what was typed within {GIVE_UP:.0f} s"


def hear_unseen(delivery: Delivery, step: Unseen, sight: Sight, now: Moment) -> Outcome:
    """Press Enter, and find evidence that the program took the text."""
    if not step.presses:
        if sight.is_over:
            return not_delivered(delivery, RUN_OVER)
        if delivery.told and delivery.touched:
            return delivered(delivery, TAKEN)
        against = enter.veto(delivery, sight, None)
        if against is not None:
            return not_delivered(delivery, against)
        return go_on(delivery, replace(step, presses=1), PressEnter(), "nobody is in the way, as far as can be seen")
    return (
        _hear_hooks(delivery, step, sight, now) if _hooks_tell(delivery) else _hear_reading(delivery, step, sight, now)
    )


def hear_pressed(delivery: Delivery, step: Unseen, now: Moment) -> Outcome:
    """Wait for word of it."""
    return _wait(delivery, replace(step, newest=now.at), now)


def _hear_hooks(delivery: Delivery, step: Unseen, sight: Sight, now: Moment) -> Outcome:
    if sight.is_over:
        return not_delivered(delivery, RUN_OVER)
    if now.at - step.at >= GIVE_UP:
        return look_again(delivery, TakingBack(NO_HOOK), now, NO_HOOK, Look(now.at, screen=False, unread=True))
    if now.at >= _due(step) and step.presses <= len(ENTER_AGAIN):
        again = replace(step, presses=step.presses + 1, newest=now.at)
        if enter.veto(delivery, sight, None) is None:
            return go_on(delivery, again, PressEnter(), "no hook tells of it: Enter may be lost")
        return _wait(delivery, again, now)
    return _wait(delivery, step, now)


def _hear_reading(delivery: Delivery, step: Unseen, sight: Sight, now: Moment) -> Outcome:
    """Where no hook names this text, the receipt is that the program has read all that was typed.

    Enter is not pressed again: what took the text may ask something by now, and no screen of it can be read.
    """
    if sight.is_over:
        return delivered(delivery, ENDED)
    if sight.unread is None:
        return delivered(delivery, OTHER_NAME if delivery.other else "typed; this agent gives no receipt")
    step = replace(step, emptied=step.emptied + 1 if sight.unread == 0 else 0)
    # Once might be before tmux has handed it over.
    if step.emptied == 2:
        return delivered(delivery, OTHER_NAME if delivery.other else "its program read it, and gives no other receipt")
    if now.at - step.at >= GIVE_UP:
        return look_again(delivery, TakingBack(NOT_READ), now, NOT_READ, Look(now.at, screen=False, unread=True))
    return _wait(delivery, step, now)


def _hooks_tell(delivery: Delivery) -> bool:
    return delivery.has_hooks and not delivery.is_renamed


def _wait(delivery: Delivery, step: Unseen, now: Moment) -> Outcome:
    if _hooks_tell(delivery):
        return look_again(delivery, step, now, "whether a hook tells that it was taken", Look(_due(step)))
    order = Look(now.at + LOOK_INTERVAL, screen=False, unread=True)
    return look_again(delivery, step, now, "whether its program has read it", order)


def _due(step: Unseen) -> float:
    return enter.due(step.at, step.newest, step.presses, ENTER_AGAIN)
