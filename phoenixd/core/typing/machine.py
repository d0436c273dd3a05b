"""The way in: what was seen of a delivery, and what comes next. Enter and verdicts come from nowhere else.

The table `HEARS` is the law: at which step a look is judged by which rule. docs/reference/states.md is made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from phoenixd.core.agent.standing import text_hash
from phoenixd.core.moment import Moment
from phoenixd.core.typing import after, before, clearing, orphans, unseen
from phoenixd.core.typing.delivery import (
    APPEARS_WITHIN,
    LONGEST,
    SEEN_WITHIN,
    Appearing,
    Clearing,
    Delivery,
    Discarding,
    Drawing,
    Entered,
    Freeing,
    Orphaned,
    Over,
    Parting,
    Pasting,
    TakingBack,
    Unseen,
)
from phoenixd.core.typing.orders import Look
from phoenixd.core.typing.outcomes import TAKEN, Outcome, delivered, look_again, not_delivered, unknown
from phoenixd.core.typing.people import came_since
from phoenixd.core.typing.seen import (
    Begun,
    Discarded,
    Pasted,
    PermissionAsked,
    Pressed,
    PromptSubmitted,
    Seen,
    Sight,
    Told,
)

HEARS: Mapping[type[Any], Callable[[Delivery, Any, Sight, Moment], Outcome]] = {
    Orphaned: orphans.hear_orphaned,
    Drawing: before.hear_drawing,
    Freeing: before.hear_freeing,
    Clearing: clearing.hear_clearing,
    Appearing: after.hear_appearing,
    Entered: after.hear_entered,
    Unseen: unseen.hear_unseen,
    TakingBack: clearing.hear_unread,
    Parting: clearing.hear_parting,
}
"""Who judges a look, at which step."""
TOO_LONG = f"there was no end of it within {LONGEST:.0f} s"


def hear(delivery: Delivery, seen: Seen, now: Moment) -> Outcome:
    """Judge what was seen: the delivery as it is now, what to do next, and why (F-TMUX-9)."""
    if isinstance(delivery.step, Over):
        return Outcome(delivery, delivery.order, "the verdict is out")
    if isinstance(seen, PromptSubmitted | PermissionAsked):
        return _hear_hook(delivery, seen)
    if isinstance(seen, Begun) and isinstance(delivery.step, Orphaned):
        # Its hooks are heard since the daemon was put together; its time begins with the first look.
        orphaned = replace(delivery.step, until=now.at + SEEN_WITHIN)
        delivery = replace(delivery, step=orphaned, deadline=now.at + LONGEST)
    if now.at >= delivery.deadline:
        return unknown(delivery, TOO_LONG) if delivery.enters else not_delivered(delivery, TOO_LONG)
    step = delivery.step
    match seen:
        case Begun():
            return before.hear_begin(delivery, seen, now)
        case Sight():
            judge = HEARS.get(type(step))
            delivery = _noted(delivery, seen, now)
            if judge is not None:
                return judge(delivery, step, seen, now)
        case Pasted():
            return _hear_paste(delivery, seen, now)
        case Pressed() if isinstance(step, Entered):
            return after.hear_pressed(delivery, step, now)
        case Pressed() if isinstance(step, Unseen):
            return unseen.hear_pressed(delivery, step, now)
        case Pressed() if isinstance(step, Clearing):
            return clearing.hear_cleared(delivery, step, now)
        case Discarded() if isinstance(step, Discarding):
            return clearing.hear_discarded(delivery, step, seen, now)
        case Pressed() | Discarded():
            pass
    return look_again(delivery, step, now, "nobody asked for that")


def _hear_hook(delivery: Delivery, hook: Told) -> Outcome:
    """Take note of a hook. What the runtime is about to do stays, unless the hook ends the matter."""
    if isinstance(hook, PermissionAsked):
        asked = replace(delivery, asked=True)
        return Outcome(asked, asked.order, "a dialog opens")
    if isinstance(delivery.step, Orphaned):
        return orphans.hear_hook(delivery, delivery.step, hook)
    if delivery.pasted_wall is None or hook.sha256 not in (None, text_hash(delivery.text)):
        return _hear_other(delivery)
    if isinstance(delivery.step, Pasting | Appearing) or (isinstance(delivery.step, Unseen) and not delivery.enters):
        # A hook of an earlier text with the same words may be late: alone it is no proof before Enter was pressed.
        return Outcome(replace(delivery, told=True), delivery.order, "a hook names the text before Enter was pressed")
    return delivered(delivery, TAKEN)


def _hear_other(delivery: Delivery) -> Outcome:
    """A prompt of somebody else; after Enter it may be this one, by the name that its program gives it."""
    if not delivery.enters:
        return Outcome(delivery, delivery.order, "the prompt of somebody else")
    order = replace(delivery.order, unread=True) if isinstance(delivery.order, Look) else delivery.order
    return Outcome(replace(delivery, other=True, order=order), order, "a hook names another prompt")


def _hear_paste(delivery: Delivery, seen: Pasted, now: Moment) -> Outcome:
    pasted = replace(delivery, text=seen.text, left=(seen.text,), is_command=seen.is_command)
    step = Appearing(now.at + APPEARS_WITHIN) if delivery.is_seen else Unseen(now.at, now.at)
    return look_again(pasted, step, now, "whether the text stands there", Look(now.at))


def _noted(delivery: Delivery, sight: Sight, now: Moment) -> Delivery:
    """With what one look alone would forget: a person may have come and gone."""
    came = delivery.pasted_wall is not None and came_since(sight.typed, delivery.pasted_wall, now.wall)
    return replace(delivery, looks=delivery.looks + 1, touched=delivery.touched or came)
