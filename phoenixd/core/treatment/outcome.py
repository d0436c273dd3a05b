"""What came of a treatment: held, failed or moot, and open until that is known. Never counted before it is known.

It held when the run that followed was productive (core.productive), and the cause did not return within five further
turns or an hour of open turns. It failed when the cause came back. It is moot when something else came between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from phoenixd.core.change import replace
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.treatment.case import WHY_LIMIT, Treated
from phoenixd.core.treatment.words import Outcome

TURNS = 5
"""Further turns that the cause stays away."""
OPEN_TIME = 3600.0
"""Or seconds of open turns."""
Z = 1.959964
"""Of the interval that holds the truth in 95 of 100 cases."""


def productive(one: Treated, now: Moment) -> Treated:
    """The run that followed was productive; from here on it is seen whether the cause returns."""
    if not one.is_open or one.productive is not None:
        return one
    return replace(one, productive=now.wall, since=now.at, ended=None)


def turn_ends(one: Treated, began: Instant | None, now: Moment) -> Treated:
    """A further turn ended well. began: when it did, put off by the time for which it waited; None: not known."""
    if not _is_further(one, began):
        return one
    return _with_turn(one, _seconds(one, began, now.at), now)


def turn_is_over(one: Treated, began: Instant | None, now: Moment) -> Treated:
    """A further turn is over, and whether it ended well is still to be seen."""
    return replace(one, ended=_seconds(one, began, now.at)) if _is_further(one, began) else one


def turn_is_shown(one: Treated, well: bool, now: Moment) -> Treated:
    """What is known by now of the turn that was over: whether it ended well. Of one that did not, nothing counts."""
    if one.ended is None:
        return one
    known = replace(one, ended=None)
    return _with_turn(known, one.ended, now) if well and one.is_open and one.productive is not None else known


def time_passes(one: Treated, began: Instant | None, seen: Instant, now: Moment) -> Treated:
    """A further turn goes on, which may take hours. seen: the newest sign of life in it; silence counts for nothing."""
    if not one.is_open or one.productive is None or began is None:
        return one
    worked = one.worked + _seconds(one, began, seen)
    return _held_by_time(replace(one, worked=worked), now) if worked >= OPEN_TIME else one


def life_passes(one: Treated, began: Instant, seen: Instant, now: Moment) -> Treated:
    """A run lives on that shows no turns: its life stands for work, as it does for having been productive.

    began: of the run. seen: its newest sign of life, where it gives any, else now.
    """
    if not one.is_open or one.productive is None or one.worked + _seconds(one, began, seen) < OPEN_TIME:
        return one
    lived = replace(one, worked=one.worked + _seconds(one, began, seen))
    return decided(lived, "held", "productive, and an hour of life without it since; it shows no turns", now)


def life_due(one: Treated, began: Instant) -> Instant | None:
    """When such a run, which gives no signs of life, will have lived long enough."""
    if not one.is_open or one.productive is None:
        return None
    return max(began, one.since or began) + OPEN_TIME - one.worked


def _is_further(one: Treated, began: Instant | None) -> bool:
    """Whether a turn came after the run was productive; the one that made it so is none of them."""
    if not one.is_open or one.productive is None:
        return False
    return began is None or one.since is None or began >= one.since


def _seconds(one: Treated, began: Instant | None, until: Instant) -> float:
    return max(0.0, until - max(began, one.since or began)) if began is not None else 0.0


def _with_turn(one: Treated, seconds: float, now: Moment) -> Treated:
    after = replace(one, turns=one.turns + 1, worked=one.worked + seconds)
    if after.turns >= TURNS:
        return decided(after, "held", f"productive, and {after.turns} turns without it since", now)
    return _held_by_time(after, now) if after.worked >= OPEN_TIME else after


def _held_by_time(one: Treated, now: Moment) -> Treated:
    return decided(one, "held", "productive, and an hour of open turns without it since", now)


def decided(one: Treated, outcome: Outcome, why: str, now: Moment) -> Treated:
    """The outcome is known; what is known stays as it is."""
    if not one.is_open:
        return one
    return replace(one, outcome=outcome, why=why[:WHY_LIMIT], decided=now.wall, ended=None)


@dataclass(frozen=True, slots=True)
class Trial:
    """One treatment as it is counted. healed: the run that followed was productive; seconds: from the failure on."""

    group: tuple[str, ...]
    outcome: Outcome
    seconds: float | None
    healed: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """How often a group's treatments healed and held. tried: those whose outcome is known to be held or failed.

    healed: those after which the run was productive, as `since` counts deaths; whether they held is known later.

    low, high: the interval in which the true share lies with 95 %; None where nothing was tried.
    """

    group: tuple[str, ...]
    tried: int
    held: int
    open: int
    moot: int
    low: float | None
    high: float | None
    seconds: float | None
    healed: int = 0


def figures(trials: Iterable[Trial]) -> tuple[Figure, ...]:
    """A figure for each group, in the order of their names."""
    by_group: dict[tuple[str, ...], list[Trial]] = {}
    for one in trials:
        by_group.setdefault(one.group, []).append(one)
    return tuple(_figure(group, found) for group, found in sorted(by_group.items()))


def _figure(group: tuple[str, ...], found: list[Trial]) -> Figure:
    held = sum(one.outcome == "held" for one in found)
    tried = held + sum(one.outcome == "failed" for one in found)
    low, high = interval(held, tried)
    took = [one.seconds for one in found if one.seconds is not None]
    return Figure(
        group, tried, held, sum(one.outcome == "open" for one in found), sum(one.outcome == "moot" for one in found),
        low, high, _median(took), sum(one.healed for one in found),
    )  # fmt: skip


def _median(found: list[float]) -> float | None:
    ordered = sorted(found)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(held: int, tried: int) -> tuple[float | None, float | None]:
    """Wilson's interval at 95 % for a share that was seen: it is honest about few trials."""
    if tried <= 0:
        return None, None
    share, square = held / tried, Z * Z
    middle = (share + square / (2 * tried)) / (1 + square / tried)
    half = Z * math.sqrt(share * (1 - share) / tried + square / (4 * tried * tried)) / (1 + square / tried)
    return max(0.0, middle - half), min(1.0, middle + half)
