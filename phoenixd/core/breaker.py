"""The circuit breaker of a loop: it opens when iterations achieve nothing (seed G; X8, X8b, F-CB).

             progress                         progress
    +-------------------------------+-----------------------------+
    v        no progress, `warn`    |      no progress, `stop`    |
  CLOSED ----------------------> HALF_OPEN --------------------> OPEN
                                  ^   trial: one miss is enough   |
                                  +-------------------------------+
                                     an operator's start, or the cooldown

An iteration is judged once, by the state of the work before and after it. What cannot be told holds the counter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from phoenixd.core.moment import Instant, Moment
from phoenixd.core.spec import BreakerRules

REMEMBERED = 10
"""Fingerprints of the work that count as seen: going back to one of them is no progress (F-CB-3)."""

Word = Literal["CLOSED", "HALF_OPEN", "OPEN"]


@dataclass(frozen=True, slots=True)
class Tally:
    """What a breaker counts. Iterations are numbered from 1; `last_progress` is 0 as long as there was none."""

    iterations: int = 0
    no_progress: int = 0
    last_progress: int = 0
    seen: tuple[str, ...] = ()
    error: str = ""
    same_error: int = 0
    denied: int = 0
    """Iterations in a row in which a permission was denied."""
    tokens: int = 0
    """Tokens spent since the last progress, as far as they are known."""
    unknown: int = 0
    """Iterations in a row of which nobody could tell what they changed."""
    opens: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """All is well."""

    tally: Tally = field(default_factory=Tally)
    name: Literal["CLOSED"] = "CLOSED"


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """warning: the loop goes on, and somebody was told. trial: one more iteration without progress opens it again."""

    tally: Tally
    why: Literal["warning", "trial"]
    reason: str
    name: Literal["HALF_OPEN"] = "HALF_OPEN"


@dataclass(frozen=True, slots=True)
class Open:
    """The loop is stopped. How the work was then is the newest fingerprint that the tally has seen."""

    tally: Tally
    reason: str
    opened_at: Instant
    opened_wall: float
    name: Literal["OPEN"] = "OPEN"


Breaker = Closed | HalfOpen | Open


@dataclass(frozen=True, slots=True)
class Signals:
    """What happened during an iteration that its work does not show.

    excuse: why doing nothing is not held against it (a rate limit, a question to a person, an interruption).
    error: what it failed with, in a form that is the same for the same failure. achieved: a success reported otherwise.
    """

    excuse: str = ""
    error: str = ""
    denials: int = 0
    tokens: int = 0
    achieved: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The breaker after an iteration. held: the counter stands where it stood. changed: the state is another one."""

    breaker: Breaker
    progress: bool
    held: bool
    reason: str
    readings: tuple[tuple[str, int], ...]
    changed: bool


def judge(
    breaker: Breaker, before: str | None, after: str | None, signals: Signals, rules: BreakerRules, now: Moment
) -> Judgement:
    """Judge one iteration by the fingerprints of the work before and after it; None is unknown."""
    progress = _progress(breaker.tally, before, after, signals)
    excuse = signals.excuse or ("" if before and after else "nobody can tell what it changed")
    counted = _count(breaker.tally, before, after, signals, progress)
    if progress is None and not excuse:
        counted = replace(counted, no_progress=counted.no_progress + 1)
    held = f"no judgement: {excuse}" if excuse and progress is None else ""
    if isinstance(breaker, Open):
        # Somebody opened it by its file while the iteration ran, and nothing that a loop does closes an open one.
        still = replace(breaker, tally=counted)
        return _judged(breaker, still, progress is not None, bool(held), progress or held, rules)
    trip = "" if signals.excuse else _trip(counted, rules)
    if trip:
        return _judged(breaker, _opened(counted, trip, now), progress is not None, False, trip, rules)
    if progress is not None:
        return _judged(breaker, Closed(counted), True, False, progress, rules)
    if held:
        return _judged(breaker, _with(breaker, counted), False, True, held, rules)
    return _judged(breaker, _missed(breaker, counted, rules, now), False, False, "", rules)


def opened_on_trial(breaker: Breaker, reason: str) -> Breaker:
    """An open breaker lets one iteration pass; any other stays what it is."""
    match breaker:
        case Open(tally=tally):
            return HalfOpen(tally, "trial", reason)
        case Closed() | HalfOpen():
            return breaker
        case _:
            assert_never(breaker)


def retry_at(breaker: Breaker, rules: BreakerRules) -> Instant | None:
    """When an open breaker tries again by itself; None for never."""
    return breaker.opened_at + rules.cooldown if isinstance(breaker, Open) and rules.cooldown > 0 else None


def reset(breaker: Breaker) -> Breaker:
    """As new; only how often it opened is remembered, and how many iterations there were."""
    tally = breaker.tally
    return Closed(Tally(iterations=tally.iterations, last_progress=tally.last_progress, opens=tally.opens))


def is_new(breaker: Breaker) -> bool:
    """Whether a reset would change nothing."""
    return breaker == reset(breaker)


def set_by_hand(breaker: Breaker, state: Word, no_progress: int, now: Moment) -> Breaker:
    """What an operator wrote into the breaker's file; everything else stays as it is counted."""
    tally = replace(breaker.tally, no_progress=no_progress)
    if state == breaker.name:
        return _with(breaker, tally)
    match state:
        case "CLOSED":
            return Closed(tally)
        case "HALF_OPEN":
            return HalfOpen(tally, "warning", "set by hand")
        case "OPEN":
            return Open(replace(tally, opens=tally.opens + 1), "set by hand", now.at, now.wall)
        case _:
            assert_never(state)


def mistrusted(breaker: Breaker, reason: str) -> Breaker:
    """After its file was found corrupt: one iteration on trial, for nobody knows what was meant (F-CB-8)."""
    return HalfOpen(breaker.tally, "trial", reason)


def reason_of(breaker: Breaker) -> str:
    """Why a breaker is not closed; empty while it is."""
    return "" if isinstance(breaker, Closed) else breaker.reason


def _progress(tally: Tally, before: str | None, after: str | None, signals: Signals) -> str | None:
    """What the iteration achieved, None where it achieved nothing that is known."""
    if before is not None and after is not None and after != before and after not in tally.seen:
        return "the work changed"
    return signals.achieved or None


def _count(tally: Tally, before: str | None, after: str | None, signals: Signals, progress: str | None) -> Tally:
    number = tally.iterations + 1
    seen = tally.seen
    for fingerprint in (before, after):
        seen = _remember(seen, fingerprint) if fingerprint is not None else seen
    noted = replace(
        tally,
        iterations=number,
        no_progress=0 if progress is not None else tally.no_progress,
        last_progress=number if progress is not None else tally.last_progress,
        seen=seen,
        unknown=0 if before and after else tally.unknown + 1,
    )
    if signals.excuse:
        # What a rate limit or a person cut short repeats no error and spends nothing in vain.
        return replace(noted, tokens=0) if progress is not None else noted
    same = bool(signals.error) and signals.error == tally.error
    return replace(
        noted,
        error=signals.error,
        same_error=tally.same_error + 1 if same else int(bool(signals.error)),
        denied=tally.denied + 1 if signals.denials else 0,
        tokens=0 if progress is not None else tally.tokens + signals.tokens,
    )


def _trip(tally: Tally, rules: BreakerRules) -> str:
    """The optional rule that opens the breaker whatever the work looks like; empty for none."""
    if 0 < rules.permission_denials <= tally.denied:
        return f"permissions were denied in {tally.denied} iterations in a row"
    if 0 < rules.same_error <= tally.same_error:
        return f"{tally.same_error} iterations in a row ended with the same error: {tally.error}"
    if 0 < rules.token_ceiling <= tally.tokens:
        return f"{tally.tokens} tokens were spent without progress, the ceiling is {rules.token_ceiling}"
    return ""


def _missed(breaker: Closed | HalfOpen, tally: Tally, rules: BreakerRules, now: Moment) -> Breaker:
    count = tally.no_progress
    words = f"{count} iteration{'s' if count != 1 else ''} without progress"
    if isinstance(breaker, HalfOpen) and breaker.why == "trial":
        return _opened(tally, f"the trial brought no progress either; {words}", now)
    if count >= rules.stop:
        return _opened(tally, f"{words}, the limit is {rules.stop}", now)
    return HalfOpen(tally, "warning", words) if count >= rules.warn else Closed(tally)


def _opened(tally: Tally, reason: str, now: Moment) -> Open:
    return Open(replace(tally, opens=tally.opens + 1), reason, now.at, now.wall)


def _judged(was: Breaker, breaker: Breaker, progress: bool, held: bool, found: str, rules: BreakerRules) -> Judgement:
    tally = breaker.tally
    said = found or f"no progress, {tally.no_progress} in a row"
    changed = was.name != breaker.name
    now_is = f"breaker {breaker.name}" + (f" (was {was.name})" if changed else "")
    readings = (
        ("iteration", tally.iterations),
        ("no_progress", tally.no_progress),
        ("last_progress_iteration", tally.last_progress),
        ("breaker.warn", rules.warn),
        ("breaker.stop", rules.stop),
    )
    reason = f"iteration {tally.iterations}: {said}; {now_is}"
    return Judgement(breaker, progress, held, reason, readings, changed)


def _with(breaker: Breaker, tally: Tally) -> Breaker:
    match breaker:
        case Closed():
            return replace(breaker, tally=tally)
        case HalfOpen():
            return replace(breaker, tally=tally)
        case Open():
            return replace(breaker, tally=tally)
        case _:
            assert_never(breaker)


def _remember(seen: tuple[str, ...], fingerprint: str) -> tuple[str, ...]:
    return (*(one for one in seen if one != fingerprint), fingerprint)[-REMEMBERED:]
