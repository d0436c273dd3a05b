"""What stands of mutes: whose alerts nobody is told of, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phoenixd.core.limits.marks import instant_of
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.spec import AgentSpec

ROUNDING = 0.001
"""Seconds by which a mute may end too early rather than ask for one more Tick."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Nobody is told of this agent's alerts before a wall time. agent: its name, or the name of its seat."""

    agent: str
    since_wall: float
    until_wall: float
    by: str


Mutes = Mapping[str, Mute]
"""By the names that `key_of` gives."""


def key_of(spec: AgentSpec) -> str:
    """Under which name an agent is muted: all generations of a seat are muted together."""
    return spec.seat or spec.name


def standing(mutes: Mutes, spec: AgentSpec, now_wall: float) -> Mute | None:
    """The mute that holds an agent's alerts back now; None where none does."""
    found = mutes.get(key_of(spec)) if mutes else None
    return found if found is not None and not is_over(found, now_wall) else None


def is_over(mute: Mute, now_wall: float) -> bool:
    """Whether its time has come."""
    return mute.until_wall <= now_wall + ROUNDING


def next_due(mutes: Mutes, now: Moment) -> Instant | None:
    """When the first of them ends, in supervised time."""
    first = min((one.until_wall for one in mutes.values()), default=None)
    return instant_of(first, now) if first is not None else None


def without(mutes: Mutes, key: str) -> Mutes:
    """The others."""
    return {name: one for name, one in mutes.items() if name != key} if key in mutes else mutes
