"""After the paste, where the screen shows the input line: Enter goes only on what was seen to stand there."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.moment import Moment
from phoenixd.core.typing import enter
from phoenixd.core.typing.clearing import UNSENT
from phoenixd.core.typing.delivery import (
    APPEARS_WITHIN,
    GIVE_UP,
    Appearing,
    Delivery,
    Discarding,
    Entered,
)
from phoenixd.core.typing.lines import can_show, squashed
from phoenixd.core.typing.orders import Discard, Look, PressEnter
from phoenixd.core.typing.outcomes import (
    ENDED,
    LOOK_INTERVAL,
    QUEUED,
    RUN_OVER,
    SETTLES,
    STEADY,
    TAKEN,
    Outcome,
    delivered,
    go_on,
    look_again,
    not_delivered,
    refused_by,
    since,
    unknown,
)
from phoenixd.core.typing.seen import Screen, Sight

ENTER_AGAIN = (1.0, 2.0, 3.5, 5.0, 7.0, 9.0)
"""Seconds after which Enter alone is pressed again on a text that is seen to stand there; it is never pasted twice."""
NEVER_APPEARED = f"what was pasted did not appear within {APPEARS_WITHIN:.0f} s; it was not submitted"
NO_WORD = f"it left the input line, but within {GIVE_UP:.0f} s neither hook nor transcript told of it"


def hear_appearing(delivery: Delivery, step: Appearing, sight: Sight, now: Moment) -> Outcome:
    """Press Enter once the text stands in the input line: as it is, or as what a CLI shows in its place."""
    screen = sight.screen or Screen(None)
    if screen.line != step.line:
        step = replace(step, line=screen.line, since=now.at)
    step = replace(step, dialog_since=since(step.dialog_since, screen.dialog is not None, now))
    if sight.is_over:
        return not_delivered(delivery, RUN_OVER)
    if delivery.told and delivery.touched:
        return delivered(delivery, TAKEN)
    if delivery.asked or sight.asks:
        return not_delivered(delivery, enter.ASKS)
    steady = STEADY if squashed(step.line or "") == squashed(delivery.text) else SETTLES
    is_ours = can_show(step.line or "", delivery.text, is_command=delivery.is_command)
    if step.line and is_ours and now.at - step.since >= steady:
        against = enter.veto(delivery, sight, step.line)
        if against is not None:
            return not_delivered(delivery, against)
        return go_on(delivery, Entered(now.at, now.at, step.line), PressEnter(), "the text stands in its input line")
    if step.dialog_since is not None and now.at - step.dialog_since >= LOOK_INTERVAL:
        words = f"a dialog opened meanwhile: {screen.dialog}; what was pasted was not submitted"
        return refused_by(delivery, words, screen.verdict, sight, now)
    if now.at > step.until:
        return go_on(delivery, Discarding(NEVER_APPEARED, NEVER_APPEARED), Discard(), NEVER_APPEARED)
    return look_again(delivery, step, now, "whether the text stands there", Look(now.at + LOOK_INTERVAL / 2))


def hear_entered(delivery: Delivery, step: Entered, sight: Sight, now: Moment) -> Outcome:
    """Find evidence that the text was taken, and press Enter again only where it is seen to stand there still."""
    if sight.queued:
        return delivered(delivery, QUEUED)
    if sight.is_over:
        return delivered(delivery, ENDED) if delivery.is_command else not_delivered(delivery, RUN_OVER)
    if sight.screen is None:
        return _wait(delivery, step, now)
    stands = sight.screen.line == step.line
    still, gone = since(step.still_since, stands, now), since(step.gone_since, not stands, now)
    step = replace(step, still_since=still, gone_since=gone)
    waited, is_over, is_due = now.at - step.at, now.at - step.at >= GIVE_UP, now.at >= _due(step)
    no_hook_comes = delivery.is_command or not delivery.has_hooks
    if not stands and sight.screen.holds and (no_hook_comes or is_due or is_over):
        return delivered(delivery, QUEUED)
    if no_hook_comes and gone is not None and now.at - gone >= SETTLES:
        return delivered(delivery, "its input line took it")
    is_still = still is not None and now.at - still >= STEADY
    if is_over and (is_still or not stands):
        return _give_up(delivery, step, sight, stands)
    if waited < GIVE_UP and is_due and is_still and enter.veto(delivery, sight, step.line) is None:
        pressed = replace(step, presses=step.presses + 1, still_since=None)
        return go_on(delivery, pressed, PressEnter(), "the text stands there still: Enter was lost")
    return _wait(delivery, step, now)


def hear_pressed(delivery: Delivery, step: Entered, now: Moment) -> Outcome:
    """Wait for word of it."""
    return _wait(delivery, replace(step, at=now.at if step.presses == 1 else step.at, newest=now.at), now)


def _give_up(delivery: Delivery, step: Entered, sight: Sight, stands: bool) -> Outcome:
    if not stands:
        return unknown(delivery, NO_WORD)
    if enter.veto(delivery, sight, step.line) is not None:
        return not_delivered(delivery, UNSENT)
    # A program that was slow would come to the Enters later.
    return go_on(delivery, Discarding(UNSENT, UNSENT, "clear", step.line), Discard(), "Enter was not taken")


def _wait(delivery: Delivery, step: Entered, now: Moment) -> Outcome:
    """Look again; at the screen only where it can be judged: there a hook is mostly faster."""
    at = now.at + LOOK_INTERVAL
    no_hook_comes = delivery.is_command or not delivery.has_hooks
    order = Look(at, screen=no_hook_comes or at + LOOK_INTERVAL >= _due(step) - STEADY, transcript=True)
    return look_again(delivery, step, now, "whether something tells that it was taken", order)


def _due(step: Entered) -> float:
    """When Enter may be pressed again, or else when it is too late for that."""
    return enter.due(step.at, step.newest, step.presses, ENTER_AGAIN)
