"""What is known of an agent's limits. It stands once, whether its run lives through the wait or the agent is down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from phoenixd.core.moment import Instant, Moment

SLEWED, SLIPPED = 0.01, 1.0
"""The share of a wait, and the seconds of it at least, by which the wall clock may fall behind and is not set back."""


def over_by(until_wall: float, now: Moment) -> Instant:
    """When a wait until a wall time is over at the latest, in supervised time, which no clock is set in."""
    ahead = max(0.0, until_wall - now.wall)
    return now.at + ahead + max(SLIPPED, SLEWED * ahead)


def comes_at(until_wall: float, over: Instant | None, now: Moment) -> float:
    """When such a wait ends by the wall clock as it is set now. over: what `over_by` gave; None: the wall clock tells.

    To the second where that clock was set back: the two clocks are never read together.
    """
    if over is None or over - now.at >= until_wall - now.wall:
        return until_wall
    return float(round(now.wall + max(0.0, over - now.at)))


class ParkingKind(StrEnum):
    """What the agent waits out."""

    LIMIT = "limit"
    """Its account's limit: all agents on the account wait with it."""
    OVERLOAD = "overload"
    """A service that is overloaded or out of reach: each agent that meets it tries again by itself."""
    OUTAGE = "outage"
    """Half of those that share an account or a harness ended without progress: they wait, and try one by one."""


@dataclass(frozen=True, slots=True)
class Parking:
    """Nothing is asked of an agent before a wall time. `since`: when that began."""

    kind: ParkingKind
    until_wall: float
    since: Instant
    why: str
    owes: bool = False
    """A turn was ended by it, and is to be gone on with."""
    asked: Instant | None = None
    """When it was told to go on, or its screen looked at for that; the outcome is awaited."""
    message_id: str | None = None
    """The text that tells it to go on."""
    misses: int = 0
    """How often it could not be told to go on."""
    told: bool = False
    """People were told that it cannot go on."""
    fresh: bool = False
    """It is down, and the start that is put off was to be a fresh one."""
    over_by: Instant | None = None
    """When it is over at the latest, whatever the wall clock is set to; None: the wall clock alone tells."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the agent waits out, if anything; and the limits and overloads that it met in a row, without work between.

    A run that begins has nothing to wait out, and neither has an agent that is down for another reason: `enter` sees
    to that.
    """

    parking: Parking | None = None
    setbacks: int = 0
    ended: int = 0
    """The run whose newest turn is over by a hook that comes of a refused one as well; a look says which it was."""


UNLIMITED = Limits()
