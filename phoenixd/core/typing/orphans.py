"""After the daemon's death: what was being typed is never typed again, and does not stay in the input line."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent.standing import text_hash
from phoenixd.core.moment import Moment
from phoenixd.core.typing.clearing import UNSENT
from phoenixd.core.typing.delivery import Delivery, Discarding, Orphaned
from phoenixd.core.typing.lines import which
from phoenixd.core.typing.orders import Discard
from phoenixd.core.typing.outcomes import RUN_OVER, SETTLES, TAKEN, Outcome, delivered, go_on, look_again, unknown
from phoenixd.core.typing.seen import PromptSubmitted, Screen, Sight

NO_TRACE = "phoenixd was restarted while it was being typed, and nothing tells what became of it"


def hear_orphaned(delivery: Delivery, step: Orphaned, sight: Sight, now: Moment) -> Outcome:
    """Take the text out that stands there unsent, unless a person is at the keyboard; press no Enter."""
    screen = sight.screen or Screen(None)
    if screen.line != step.line:
        step = replace(step, line=screen.line, since=now.at)
    if sight.is_over:
        return unknown(delivery, RUN_OVER)
    is_settled = step.line is not None and now.at - step.since >= SETTLES
    is_alone = sight.typed is None and not (delivery.touched or delivery.asked or sight.asks)
    found = which(step.line, step.texts) if step.line and is_alone else None
    if is_settled and found is not None:
        # The daemon may have pressed Enter at the end: a program that was slow would come to it later.
        discarding = Discarding(UNSENT, UNSENT, "clear", step.line or "")
        return go_on(replace(delivery, text=found), discarding, Discard(), "an earlier daemon left it there, unsent")
    # The hook of an Enter that the earlier daemon pressed comes once its shim is linked.
    if now.at >= step.until:
        return unknown(replace(delivery, left=()) if is_settled and step.line == "" else delivery, NO_TRACE)
    return look_again(delivery, step, now, "what an earlier daemon left in its input line")


def hear_hook(delivery: Delivery, step: Orphaned, hook: PromptSubmitted) -> Outcome:
    """Know the text again that a hook says was taken, as the shim kept it while no daemon listened."""
    taken = next((text for text in step.texts if text_hash(text) == hook.sha256), None)
    if taken is None:
        return Outcome(delivery, delivery.order, "the prompt of somebody else")
    return delivered(replace(delivery, text=taken), TAKEN)
