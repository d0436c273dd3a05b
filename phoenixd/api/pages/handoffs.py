"""A seat's handoff as people read it: where it is, its checks, and how long each step took."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import SET_IN, Page, clean, page, wrap
from phoenixd.api.times import ago
from phoenixd.core.handoff.checks import Check
from phoenixd.core.moment import Moment
from phoenixd.core.seat.state import Seat

SIGNS = {True: ".", False: "!", None: "?"}


def of_seat(seat: Seat, checks: Sequence[Check], now: Moment, here: Page) -> str:
    """The whole page."""
    handoff = seat.handoff
    head = f"{seat.name}: generation {seat.generation} leads project {seat.project}"
    if handoff is None:
        return page([head, "no handoff so far", "", f"Begin one: phoenixctl handoff start {seat.name}"])
    lines = [head]
    since = ago(max(0.0, now.wall - handoff.since_wall))
    what = f"handoff {handoff.id} ({handoff.trigger}) is at {handoff.step.value}, since {since}"
    lines += wrap(clean(f"{what}{': ' + handoff.held if handoff.held else ''}"), here.width, SET_IN)
    if handoff.why_back:
        lines += wrap(clean(f"rolled back: {handoff.why_back}"), here.width, SET_IN)
    if handoff.degraded:
        lines += wrap(clean(f"degraded: {'; '.join(handoff.degraded)}"), here.width, SET_IN)
    lines.append("")
    for one in checks:
        lines += wrap(clean(f"{SIGNS[one.well]} {one.name}: {one.what}"), here.width, SET_IN)
    if handoff.times:
        took = ", ".join(f"{one.step.value} {one.took:.1f} s" for one in handoff.times)
        lines += ["", *wrap(f"steps: {took}", here.width, SET_IN)]
    if not handoff.is_over and handoff.is_before_fence:
        lines += ["", f"Call it off: phoenixctl handoff rollback {seat.name}"]
    return page(lines)
