"""The terminal's session of a seat: the holder's bears the seat's name."""

from __future__ import annotations

from phoenixd.core.actions import TakeSession
from phoenixd.core.agent import Agent


def taking(holder: Agent) -> TakeSession:
    """Have the holder's session bear the seat's name; one that does already stays as it is."""
    return TakeSession(holder.name, holder.spec.seat, holder.spec.generation)
