"""Whose limits an agent shares, what tells of one, and how long it is waited out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from phoenixd.core.decision import Readings
from phoenixd.core.hooks import Failure, Hook, TurnFailed
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.rules import LimitRules
from phoenixd.core.spec import AgentSpec

KINDS: Mapping[Failure | Literal[""], ParkingKind] = {"limit": ParkingKind.LIMIT, "overload": ParkingKind.OVERLOAD}
"""What a failure of these classes is waited out as."""
PAST_GRACE = 300.0
"""Seconds by which a reset time may lie in the past: the turn ended as it came."""


def account_of(spec: AgentSpec) -> str:
    """Who shares this agent's limits: an account's name, or the agent alone."""
    return spec.account or f"agent {spec.name}"


@dataclass(frozen=True, slots=True)
class Wait:
    """Until when, why so, and what that rests on."""

    until_wall: float
    why: str
    readings: Readings


def signal(event: Hook) -> ParkingKind | None:
    """What of this kind a hook tells of."""
    if not isinstance(event, TurnFailed) or event.sub:
        return None
    kind = KINDS.get(event.failure)
    # A service that names a time has a limit.
    return kind if kind is None or event.reset_wall is None else ParkingKind.LIMIT


def growing(rules: LimitRules, kind: ParkingKind, setbacks: int) -> float:
    """Seconds that are waited where no time was named: more after each of those that came before it in a row."""
    first = rules.wait if kind is ParkingKind.LIMIT else rules.overload_wait
    return min(max(first, rules.wait_max), first * 2.0 ** min(setbacks, 30))


def apart(pause: float, chance: float) -> float:
    """The pause of one of those that met it together.

    Full jitter would come too early for a limit: half of it is enough to part them.
    """
    return pause * (1 + chance / 2)


def wait(rules: LimitRules, kind: ParkingKind, reset_wall: float | None, setbacks: int, now: Moment) -> Wait:
    """How long to wait: until the time that was named, or by configuration where that is missing or absurd.

    setbacks: how many came before it in a row.
    """
    pause = growing(rules, kind, setbacks)
    fallback = now.wall + apart(pause, now.chance)
    readings: Readings = (("reset", reset_wall), ("in a row", setbacks + 1), ("account wait", round(pause, 1)))
    if reset_wall is None:
        what = "no reset time was named" if kind is ParkingKind.LIMIT else "an overload or outage"
        return Wait(fallback, f"{what}, so it waits {in_words(pause)}", readings)
    ahead = reset_wall - now.wall
    if not -PAST_GRACE <= ahead <= rules.longest:
        side = "ahead" if ahead > 0 else "ago"
        why = f"the reset time that was named is absurd ({in_words(abs(ahead))} {side}), so it waits {in_words(pause)}"
        return Wait(fallback, why, readings)
    return Wait(max(reset_wall, now.wall) + rules.margin, "until the reset time that was named", readings)
