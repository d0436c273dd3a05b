"""When a handoff begins by itself: a context that fills, or is full, or an orchestrator that asks for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core import restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Running
from phoenixd.core.handoff.state import Handoff, Step, Trigger
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.recycling import rules as recycling
from phoenixd.core.resonance import restoring

MOST_ROLLBACKS = 2
"""Handoffs in a row that may come to nothing; a further one is an operator's to ask for (E80, F-HO-21)."""


def may_begin(last: Handoff | None) -> bool:
    """Whether a handoff may begin by itself, as far as the ones before go."""
    return last is None or last.step is not Step.ROLLED_BACK or last.rollbacks < MOST_ROLLBACKS


@dataclass(frozen=True, slots=True)
class Waiting:
    """A handoff that is due and waits for the spacing between two: why it is due, and when it may begin."""

    trigger: Trigger
    why: str
    until: Instant


def found(holder: Agent, last: Handoff | None, now: Moment) -> tuple[Trigger, str] | None:
    """Why a handoff is to begin now; None where it is not, as of a seat that is to stop when its run is over."""
    spaced = now.at >= _spaced_at(holder, last)
    return next(((one, why) for one, why in _due(holder, last) if spaced or _is_urgent(one, holder, last)), None)


def waiting(holder: Agent, last: Handoff | None, now: Moment) -> Waiting | None:
    """The handoff that is due and has to wait; None where none is, or it may begin now."""
    asked = _due(holder, last)
    if not asked or found(holder, last, now) is not None:
        return None
    trigger, why = asked[0]
    return Waiting(trigger, why, _spaced_at(holder, last))


def due(holder: Agent, last: Handoff | None) -> Instant | None:
    """When the spacing between two handoffs is over, where one waits for that."""
    if last is None or not isinstance(holder.state, Running):
        return None
    return _spaced_at(holder, last) if _due(holder, last) else None


def _due(holder: Agent, last: Handoff | None) -> tuple[tuple[Trigger, str], ...]:
    """Why a handoff would begin by itself, the spacing apart; the weightiest reason first."""
    if holder.desired is Desired.STOPPED or not may_begin(last):
        return ()
    state, meter, end = holder.state, meters.of(holder), holder.last_exit
    asked: list[tuple[Trigger, str]] = []
    if isinstance(state, Running) and state.exit_due is None:
        gauge = read(meter, holder.spec.context)
        if lost := restoring.hands_over(holder):
            asked.append(("marker", lost))
        if gauge.verdict == "HANDOFF":
            asked.append(("meter", gauge.reason))
        if meter.asks:
            asked.append(("compaction", meter.asks))
    # Without a project of its own it has nothing to hand over that its brief does not tell: then it starts fresh.
    has_ended = isinstance(state, BackingOff) and end is not None and end.incarnation == holder.incarnation
    if has_ended and end is not None and holder.spec.project is not None:
        if meter.full:
            asked.append(("full", meter.full))
        if restart.is_recycling(end) and not recycling.is_weighed(holder):
            asked.append(("recycle", f"{end.text}: it asks to be recycled"))
    return tuple(asked)


def _spaced_at(holder: Agent, last: Handoff | None) -> Instant:
    """From when on one may begin by itself, as far as the spacing goes."""
    since = last.spaced_from if last is not None else None
    return since + holder.spec.handoff.spacing if since is not None else float("-inf")


def _is_urgent(trigger: Trigger, holder: Agent, last: Handoff | None) -> bool:
    """Whether a full context need not wait for the spacing.

    What fills each session at once would do so for ever, and what came to nothing a moment ago would do so again,
    however full the context is (F-HO-21).
    """
    if last is None:
        return True
    if trigger == "full":
        return last.step is Step.DONE and last.trigger != "full"
    if trigger != "meter" or last.step is Step.ROLLED_BACK:
        return False
    # Nor is there less in the next successor than in one that was so full as it acknowledged.
    hard, gauge = holder.spec.context.hard, read(meters.of(holder), holder.spec.context)
    return gauge.share is not None and gauge.share >= hard and not (last.share is not None and last.share >= hard)
