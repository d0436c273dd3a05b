"""What stands of mutes: whose alerts nobody is told of, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from phoenixd.core.limits.marks import instant_of
from phoenixd.core.limits.state import comes_at, over_by
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.spec import AgentSpec

ROUNDING = 0.001
"""Seconds by which a mute may end too early rather than ask for one more Tick."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Nobody is told of this agent's alerts before a wall time. agent: its name, or the name of its seat.

    over_by: when it is over at the latest, in supervised time, whatever the wall clock is set to; None in journals of
    older versions.
    """

    agent: str
    since_wall: float
    until_wall: float
    by: str
    over_by: Instant | None = None


def begun(agent: str, until_wall: float, by: str, now: Moment) -> Mute:
    """A mute that begins now."""
    return Mute(agent, now.wall, until_wall, by, over_by(until_wall, now))


Mutes = Mapping[str, Mute]
"""By the names that `key_of` gives."""


def key_of(spec: AgentSpec) -> str:
    """Under which name an agent is muted: all generations of a seat are muted together."""
    return spec.seat or spec.name


def standing(mutes: Mutes, spec: AgentSpec, now: Moment) -> Mute | None:
    """The mute that holds an agent's alerts back now; None where none does."""
    found = mutes.get(key_of(spec)) if mutes else None
    return found if found is not None and not is_over(found, now) else None


def is_over(mute: Mute, now: Moment) -> bool:
    """Whether its time has come, by the wall clock, or by supervised time where that clock was set back."""
    return mute.until_wall <= now.wall + ROUNDING or (mute.over_by is not None and mute.over_by <= now.at)


def ends_at(mute: Mute, now: Moment) -> float:
    """When it ends by the wall clock, which may have been set back since it began."""
    return comes_at(mute.until_wall, mute.over_by, now)


def next_due(mutes: Mutes, now: Moment) -> Instant | None:
    """When the first of them ends, in supervised time."""
    found = (min(instant_of(one.until_wall, now), one.over_by or inf) for one in mutes.values())
    return min(found, default=None)


def without(mutes: Mutes, key: str) -> Mutes:
    """The others."""
    return {name: one for name, one in mutes.items() if name != key} if key in mutes else mutes
