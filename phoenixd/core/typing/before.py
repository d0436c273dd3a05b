"""Before the paste: the screen is drawn, nobody types, no dialog is open, and the input line is empty."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.moment import Moment
from phoenixd.core.typing.delivery import (
    CLEARS_WITHIN,
    FREE_WITHIN,
    Clearing,
    Delivery,
    Drawing,
    Freeing,
    Pasting,
)
from phoenixd.core.typing.lines import is_of
from phoenixd.core.typing.orders import Look, Paste
from phoenixd.core.typing.outcomes import (
    LOOK_INTERVAL,
    RUN_OVER,
    STEADY,
    Outcome,
    go_on,
    look_again,
    not_delivered,
    refused_by,
    since,
)
from phoenixd.core.typing.people import is_typing
from phoenixd.core.typing.seen import Begun, Screen, Sight

DRAFT_STAYS = 2.0
"""Seconds after which something unsent is no late frame but somebody's draft."""


def hear_begin(delivery: Delivery, seen: Begun, now: Moment) -> Outcome:
    """Look, unless the text may not be typed at all, or is too late."""
    if delivery.too_late is not None and now.at > delivery.too_late:
        return not_delivered(delivery, "the texts before it took too long")
    if seen.problem:
        return not_delivered(delivery, seen.problem)
    return look_again(delivery, delivery.step, now, "a look before anything is typed", _look(now.at))


def hear_drawing(delivery: Delivery, step: Drawing, sight: Sight, now: Moment) -> Outcome:
    """Wait until the screen stands still, but not for one that never does."""
    frame = sight.screen.frame if sight.screen is not None else ""
    if (frame.strip() and frame == step.frame) or now.at >= step.until:
        return look_again(delivery, Freeing(now.at + FREE_WITHIN), now, "its screen is drawn", _look(now.at))
    drawing = replace(step, frame=frame)
    return look_again(delivery, drawing, now, "its screen is being drawn", Look(now.at + STEADY))


def hear_freeing(delivery: Delivery, step: Freeing, sight: Sight, now: Moment) -> Outcome:
    """Paste once nothing is in the way; wait for what passes, as a late first frame or a person who types."""
    screen = sight.screen or Screen(None)
    step = replace(step, dialog_since=since(step.dialog_since, screen.dialog is not None, now))
    if sight.is_over:
        return not_delivered(delivery, RUN_OVER)
    if sight.asks:
        return not_delivered(delivery, f"it asks: {sight.asks}")
    if sight.parked:
        return not_delivered(delivery, f"it was parked meanwhile: {sight.parked}")
    if delivery.is_seen and sight.small and not is_typing(sight.typed, now.wall):
        return not_delivered(delivery, sight.small)
    if step.dialog_since is not None and now.at - step.dialog_since >= LOOK_INTERVAL:
        return refused_by(delivery, f"a dialog is open on its screen: {screen.dialog}", screen.verdict, sight, now)
    obstacle = _obstacle(delivery, screen, sight, now)
    if obstacle is None:
        # A line that was seen empty holds nothing of ours; from the paste on it does.
        pasting = replace(delivery, left=(delivery.text,), pasted_wall=now.wall)
        return go_on(pasting, Pasting(), Paste(), "nothing is in the way")
    is_alone = sight.typed is None and not delivery.asked and not step.tried
    if is_alone and screen.line and is_of(screen.line, *delivery.left):
        clearing = Clearing(now.at + CLEARS_WITHIN, "room", screen.line)
        return look_again(delivery, clearing, now, "what an earlier text left in its input line is taken out")
    is_drafted = delivery.is_seen and bool(screen.line) and not is_typing(sight.typed, now.wall)
    if is_drafted and now.at - delivery.began > DRAFT_STAYS:
        is_theirs = not is_of(screen.line or "", *delivery.left)
        return not_delivered(delivery, "something unsent stands in its input line already", person=is_theirs)
    if now.at > step.until:
        return not_delivered(delivery, obstacle, person=is_typing(sight.typed, now.wall))
    return look_again(replace(delivery, asked=False), step, now, obstacle, _look(now.at + LOOK_INTERVAL))


def _obstacle(delivery: Delivery, screen: Screen, sight: Sight, now: Moment) -> str | None:
    """What must pass before anything may be typed."""
    if delivery.asked:
        # The hook came after the look before this one: a late frame may hide its dialog.
        return "it asks for a permission"
    if is_typing(sight.typed, now.wall):
        return "somebody types at its terminal"
    if screen.dialog is not None:
        return "its screen is not to be made out"
    if not delivery.is_seen or screen.line == "":
        return None
    if screen.line is None:
        return "no input line is to be seen on its screen"
    return "something unsent stands in its input line"


def _look(at: float) -> Look:
    return Look(at, room=True)
