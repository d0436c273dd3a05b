"""A seat's handoff as people read it: where it is, its checks, and how long each step took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phoenixd.api.pages.layout import SET_IN, Page, clean, page, wrap
from phoenixd.api.times import ago, span
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.condition import activity_word
from phoenixd.core.handoff.checks import Check
from phoenixd.core.handoff.checks import past as past_checks
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.moment import Moment
from phoenixd.core.seat.state import Seat

LEFT = (Step.ROLLBACK, Step.ROLLED_BACK)
SEEN_AT = {"updates finished": Step.UPDATE, "package written": Step.SNAPSHOT, "package loaded": Step.AWAIT_ACK}
"""The step that a check is about: of one that a rollback came before, it says nothing."""
SIGNS = {True: ".", False: "!", None: "?"}


def of_seat(
    seat: Seat, holder: Agent | None, checks: Sequence[Check], past: Sequence[Handoff], now: Moment, here: Page
) -> str:
    """The whole page. holder: the generation that holds the seat, where it is there."""
    handoff = seat.handoff
    head = f"{seat.name}: generation {seat.generation} leads project {seat.project}"
    if handoff is None:
        return page([head, "no handoff so far", "", here.ending(f"Begin one: phoenixctl handoff start {seat.name}")])
    lines = [head]
    for told in _standing(handoff, seat, holder, now):
        lines += wrap(clean(told), here.width, SET_IN)
    if handoff.degraded:
        lines += wrap(clean(f"degraded: {'; '.join(handoff.degraded)}"), here.width, SET_IN)
    lines.append("")
    for one in checks:
        sign, what = (SIGNS[one.well], one.what) if _came_to(handoff, one) else (SIGNS[None], "it did not come to that")
        lines += wrap(clean(f"{sign} {one.name}: {what}"), here.width, SET_IN)
    if handoff.tokens:
        lines.append(f"wording its papers took {handoff.tokens:,} tokens")
    if handoff.times:
        lines += ["", *wrap(f"steps: {_steps(handoff)}", here.width, SET_IN)]
    earlier = [one for one in past if one.id != handoff.id]
    if earlier:
        lines += ["", "Before it:"]
    for before in earlier:
        lines += wrap(clean(_line(before, here)), here.width, SET_IN)
    if handoff.remedy and handoff.step is Step.ROLLED_BACK:
        lines += ["", here.ending(f"Bring that back, or begin it anew: {handoff.remedy}")]
    if not handoff.is_over and handoff.is_before_fence:
        lines += ["", here.ending(f"Call it off: phoenixctl handoff rollback {seat.name}")]
    return page(lines)


def _standing(handoff: Handoff, seat: Seat, holder: Agent | None, now: Moment) -> Iterator[str]:
    """How far it is; of one that a rollback ends, by whose will, and who does the work."""
    since = ago(max(0.0, now.wall - handoff.since_wall))
    named, why = f"handoff {handoff.id} ({handoff.trigger})", f": {handoff.why_back}" if handoff.why_back else ""
    held = f": {handoff.held}" if handoff.held else ""
    by = "" if handoff.is_back_by_order else " by phoenixd"
    match handoff.step:
        case Step.ROLLED_BACK:
            yield f"{named} was rolled back{by} {since} ago{why}"
        case Step.ROLLBACK:
            yield f"{named} is being rolled back{by}, since {since}{held}{why}"
        case step:
            yield f"{named} is at {step.value}, since {since}{held}"
            return
    successor = "is gone" if handoff.is_over else "is to end"
    yield f"generation {seat.generation} holds the seat{_at(holder)}; generation {handoff.successor} {successor}"


def _at(holder: Agent | None) -> str:
    """What who holds a seat is at, as a clause."""
    if holder is None:
        return ", and is not there"
    if not isinstance(holder.state, Running):
        return f", and is {holder.state_name.replace('_', ' ')}"
    word = activity_word(holder)
    return f" and goes on with the work{f' ({word})' if word else ''}"


def _line(handoff: Handoff, here: Page) -> str:
    """One that is over: when, what became of it, how long each step took, and which of its checks failed."""
    generations = f"generation {handoff.predecessor} to {handoff.successor}"
    how = "done" if handoff.step is Step.DONE else f"rolled back: {handoff.why_back}"
    wrong = [one.name for one in past_checks(handoff) if one.well is False and _came_to(handoff, one)]
    failed = f"; not: {', '.join(wrong)}" if wrong else ""
    took = f"; {_steps(handoff)}" if handoff.times else ""
    took += f"; {handoff.tokens:,} tokens to word its papers" if handoff.tokens else ""
    return f"{here.minute(handoff.began_wall)} {handoff.id} ({handoff.trigger}), {generations}, {how}{failed}{took}"


def _came_to(handoff: Handoff, check: Check) -> bool:
    """Whether the handoff got as far as to what this check is about."""
    step = SEEN_AT.get(check.name)
    return handoff.step not in LEFT or step is None or any(one.step is step for one in handoff.times)


def _steps(handoff: Handoff) -> str:
    return ", ".join(f"{one.step.value} {span(one.took)}" for one in handoff.times)
