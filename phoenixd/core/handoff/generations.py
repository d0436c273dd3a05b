"""What a generation of a seat is at: whether it is down, rests, has no room left in its context, or has died."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined, Running, Stopped
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read


def is_down(agent: Agent | None) -> bool:
    """Whether nothing of the agent runs, and nothing of it will by itself."""
    return agent is None or isinstance(agent.state, Stopped | Quarantined)


def is_resting(agent: Agent) -> bool:
    """Whether no turn of it is open, as far as anything can tell; of a program without hooks nothing can."""
    state = agent.state
    if not isinstance(state, Running) or state.activity.waiting is not None or agent.parking is not None:
        return False
    can_tell = agent.hooks_seen or agent.spec.has_hooks
    return not can_tell or not state.activity.turn_open


def is_hard(agent: Agent | None) -> bool:
    """Whether the context is so full that nothing can be waited for (X17)."""
    if agent is None:
        return False
    share = read(meters.of(agent), agent.spec.context).share
    return share is not None and share >= agent.spec.context.hard


def has_died(handoff: Handoff, new: Agent | None) -> bool:
    """Whether a successor that began has ended, or was kept from beginning; it is not restarted before its ack."""
    if new is None or new.removing or isinstance(new.state, Stopped | Quarantined):
        return True
    return new.incarnation > handoff.base and new.run is None


def no_ack_of(handoff: Handoff, new: Agent | None) -> str:
    """Why a successor that has died gave no ack: it ended, or it never began."""
    end = new.last_exit if new is not None else None
    if new is not None and (end is None or not end.ran):
        return f"generation {handoff.successor} did not start: {end.note if end and end.note else new.reason}"
    return f"generation {handoff.successor} ended before its ack: {end.text if end is not None else 'it is gone'}"
