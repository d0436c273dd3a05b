"""When a handoff begins by itself: a context that fills, or is full, or an orchestrator that asks for it. Pure."""

from __future__ import annotations

from phoenixd.core import restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Running
from phoenixd.core.handoff.state import Handoff, Step, Trigger
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.resonance import restoring

MOST_ROLLBACKS = 2
"""Handoffs in a row that may come to nothing; a further one is an operator's to ask for (E80, F-HO-21)."""


def may_begin(last: Handoff | None) -> bool:
    """Whether a handoff may begin by itself, as far as the ones before go."""
    return last is None or last.step is not Step.ROLLED_BACK or last.rollbacks < MOST_ROLLBACKS


def found(holder: Agent, last: Handoff | None, now: Moment) -> tuple[Trigger, str] | None:
    """Why a handoff is to begin now; None where it is not, as of a seat that is to stop when its run is over."""
    if holder.desired is Desired.STOPPED or not may_begin(last):
        return None
    state = holder.state
    spaced = last is None or now.at >= last.ended + holder.spec.handoff.spacing
    if isinstance(state, Running) and state.exit_due is None:
        if (lost := restoring.hands_over(holder)) and spaced:
            return "marker", lost
        gauge = read(meters.of(holder), holder.spec.context)
        # What came to nothing a moment ago would do so again, however full the context is.
        failed = last is not None and last.step is Step.ROLLED_BACK
        # Nor is there less in the next successor than in one that was so full as it acknowledged.
        full = last is not None and last.share is not None and last.share >= holder.spec.context.hard
        hard = gauge.share is not None and gauge.share >= holder.spec.context.hard and not (failed or full)
        if gauge.verdict == "HANDOFF" and (spaced or hard):
            return "meter", gauge.reason
        if (asks := meters.of(holder).asks) and spaced:
            return "compaction", asks
    end = holder.last_exit
    if isinstance(state, BackingOff) and end is not None and end.incarnation == holder.incarnation:
        # Without a project of its own it has nothing to hand over that its brief does not tell: then it starts fresh.
        if holder.spec.project is None:
            return None
        if (told := meters.of(holder).full) and (spaced or _is_first_full(last)):
            return "full", told
        if restart.is_recycling(end) and spaced:
            return "recycle", f"{end.text}: it asks to be recycled"
    return None


def _is_first_full(last: Handoff | None) -> bool:
    """Whether a full context need not wait for the spacing: what fills each session at once would do so for ever, and
    what came to nothing a moment ago would do so again (F-HO-21)."""
    return last is not None and last.step is Step.DONE and last.trigger != "full"


def due(holder: Agent, last: Handoff | None) -> Instant | None:
    """When the spacing between two handoffs is over, where one waits for that."""
    if last is None or not isinstance(holder.state, Running) or holder.desired is Desired.STOPPED:
        return None
    if not may_begin(last):
        return None
    meter = meters.of(holder)
    is_wanted = (
        bool(meter.asks or restoring.hands_over(holder)) or read(meter, holder.spec.context).verdict == "HANDOFF"
    )
    return last.ended + holder.spec.handoff.spacing if is_wanted else None
