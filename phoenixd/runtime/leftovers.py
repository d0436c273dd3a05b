"""What a cleanup found becomes an event; nothing found is none."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.cleanup import is_held
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.ports.processes import Leftover, Leftovers, PortHolder


def cleaned_up(agent: Agent, occasion: str, found: Leftovers) -> CleanedUp | None:
    """The event that tells of a cleanup, None where there was nothing to tell."""
    if not (found.owned or found.foreign or is_held(agent)):
        return None
    ended = tuple(told(one) for one in found.owned if one.pid not in found.remaining)
    return CleanedUp(
        agent.name, agent.incarnation, occasion, ended, found.remaining, tuple(told_port(one) for one in found.foreign)
    )


def told(one: Leftover) -> str:
    return f"{one.pid} {one.command[:120]}: {one.why}"


def told_port(holder: PortHolder) -> str:
    whose = f"pid {holder.pid} ({holder.command[:120]})" if holder.pid is not None else "another user's process"
    return f"port {holder.port} is held by {whose}"
