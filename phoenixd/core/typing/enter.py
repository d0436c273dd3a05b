"""Whether Enter may be pressed. On a dialog it would be an answer, and on a person's line it would send that."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.core.moment import Instant
from phoenixd.core.typing.delivery import GIVE_UP, Delivery
from phoenixd.core.typing.seen import Sight

ASKS = "it asks for a permission meanwhile; what was pasted was not submitted"
TOUCHED = "somebody typed at its terminal meanwhile; what was pasted was not submitted"
ELSEWHERE = "its input line shows something else; what was pasted was not submitted"
APART = 1.0
"""Seconds from one Enter to the next, at least: a CLI that was slow may be about to take the one before."""


def due(first: Instant, newest: Instant, presses: int, again: Sequence[float]) -> Instant:
    """When Enter may be pressed again, or else when it is too late for that. again: seconds after the first one."""
    over = first + GIVE_UP
    return min(over, max(first + again[presses - 1], newest + APART)) if presses <= len(again) else over


def veto(delivery: Delivery, sight: Sight, line: str | None) -> str | None:
    """Why Enter may not be pressed after this look; None where it may.

    line: how the text shows in the input line; None where no screen shows that.
    """
    screen = sight.screen
    if delivery.asked or sight.asks:
        return ASKS
    if delivery.touched:
        return TOUCHED
    if sight.is_over or screen is None or (line is not None and screen.line != line):
        return ELSEWHERE
    if screen.dialog is not None:
        return f"a dialog opened meanwhile: {screen.dialog}; what was pasted was not submitted"
    return None
