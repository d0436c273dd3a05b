"""The circuit breaker of a loop: it opens when iterations achieve nothing (seed G; X8, X8b, F-CB).

             progress                         progress
    +-------------------------------+-----------------------------+
    v        no progress, `warn`    |      no progress, `stop`    |
  CLOSED ----------------------> HALF_OPEN --------------------> OPEN
                                  ^   trial: one miss is enough   |
                                  +-------------------------------+
                                     an operator's start, or the cooldown

An iteration is judged once, by the state of the work before and after it, and by what was committed, stashed or pushed
in between. It is of one of three classes, or unknown:

    work      closes the breaker, and both counts begin anew
    notes     nothing but paths of `breaker.notes`: counts towards `notes_stop`, and neither resets nor advances the
              count of iterations without progress, so that an idle loop that takes notes now and then opens too
    nothing   counts towards `warn` and `stop`, and leaves the count of notes as it is
    unknown   holds both
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from phoenixd.core.moment import Instant, Moment
from phoenixd.core.rules import BreakerRules
from phoenixd.core.work import NOTHING_FOUND, Deed, Findings

REMEMBERED = 10
"""Fingerprints of the work that count as seen: going back to one of them is no progress (F-CB-3)."""

KEPT = 32
"""Keys of what was made that count as seen: the same commit or stash once more is no progress either."""

Word = Literal["CLOSED", "HALF_OPEN", "OPEN"]
Class = Literal["work", "notes", "nothing", "unknown"]


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
    """Iterations in a row whose changes nobody could tell."""
    opens: int = 0
    notes: int = 0
    """Iterations since the last progress that left nothing but notes."""
    made: tuple[str, ...] = ()
    """Keys of the newest commits, stashes, pushes and states of the notes."""
    newest: Class | None = None
    """The class of the newest iteration; None before the first, and where an older version judged it."""
    verdict: str = ""
    """The same and why, in words for people."""
    shared: tuple[str, ...] = ()
    """Other agents that were at work in the same worktree during it."""


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
    readings: tuple[tuple[str, str | int], ...]
    changed: bool


def judge(
    breaker: Breaker,
    before: str | None,
    after: str | None,
    signals: Signals,
    rules: BreakerRules,
    now: Moment,
    found: Findings = NOTHING_FOUND,
    unit: str = "iteration",
) -> Judgement:
    """Judge one iteration by the fingerprints of the work before and after it (None is unknown), and what was found.

    unit: what it is in words.
    """
    new = tuple(deed for deed in found.deeds if deed.key not in breaker.tally.made)
    progress = _progress(breaker.tally, before, after, signals, new)
    notes = _notes(breaker.tally, found, new) if progress is None else ""
    blind = "" if before and after else "nobody can tell what it changed"
    excuse = signals.excuse or blind or ("" if progress or notes else found.lost)
    held = f"no judgement: {excuse}" if excuse and progress is None else ""
    counted = _count(breaker.tally, before, after, signals, progress, found)
    if progress is None and not excuse:
        counted = replace(counted, no_progress=counted.no_progress + (not notes), notes=counted.notes + bool(notes))
    said: tuple[Class, str] = ("work", progress) if progress is not None else ("nothing", "")
    if progress is None and (held or notes):
        said = ("unknown", excuse) if held else ("notes", notes)
    counted = replace(counted, newest=said[0], verdict=": ".join(filter(None, said)))
    if isinstance(breaker, Open):
        # Somebody opened it by its file while the iteration ran, and nothing that a loop does closes an open one.
        still = replace(breaker, tally=counted)
        return _judged(breaker, still, progress is not None, bool(held), progress or held, rules, unit)
    trip = "" if signals.excuse else _trip(counted, rules)
    if trip:
        return _judged(breaker, _opened(counted, trip, now), progress is not None, False, trip, rules, unit)
    if progress is not None:
        return _judged(breaker, Closed(counted), True, False, progress, rules, unit)
    if held:
        return _judged(breaker, _with(breaker, counted), False, True, held, rules, unit)
    if notes:
        return _judged(breaker, _noted(breaker, counted, rules, now, unit), False, False, notes, rules, unit)
    return _judged(breaker, _missed(breaker, counted, rules, now, unit), False, False, "", rules, unit)


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
    tally = replace(breaker.tally, no_progress=no_progress, notes=0 if state == "CLOSED" else breaker.tally.notes)
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


def _progress(
    tally: Tally, before: str | None, after: str | None, signals: Signals, new: tuple[Deed, ...]
) -> str | None:
    """What the iteration achieved, None where it achieved nothing that is known."""
    made = _counted([deed for deed in new if not deed.notes])
    if before is not None and after is not None and after != before and after not in tally.seen:
        return "the work changed" + (f", with {made}" if made else "")
    return made or signals.achieved or None


def _notes(tally: Tally, found: Findings, new: tuple[Deed, ...]) -> str:
    """What notes it left, where it left nothing else; empty for none."""
    before, after = found.notes
    if any(deed.notes for deed in new) or (after != before and _key_of_notes(after) not in tally.made):
        return "notes alone changed"
    return ""


def _counted(deeds: list[Deed]) -> str:
    """Deeds in words: `2 commits, 1 push`."""
    kinds = {"commit": "commits", "stash": "stashes", "push": "pushes"}
    counts = [(sum(deed.kind == kind for deed in deeds), kind, many) for kind, many in kinds.items()]
    return ", ".join(f"{count} {many if count > 1 else kind}" for count, kind, many in counts if count)


def _key_of_notes(fingerprint: str) -> str:
    return f"notes:{fingerprint}"


def _count(
    tally: Tally, before: str | None, after: str | None, signals: Signals, progress: str | None, found: Findings
) -> Tally:
    number = tally.iterations + 1
    seen, made = tally.seen, tally.made
    for fingerprint in (before, after):
        seen = _remember(seen, fingerprint) if fingerprint is not None else seen
    for key in (*map(_key_of_notes, filter(None, found.notes)), *(deed.key for deed in found.deeds)):
        made = _remember(made, key, KEPT)
    noted = replace(
        tally,
        iterations=number,
        no_progress=0 if progress is not None else tally.no_progress,
        last_progress=number if progress is not None else tally.last_progress,
        seen=seen,
        made=made,
        notes=0 if progress is not None else tally.notes,
        shared=found.shared,
        unknown=0 if before and after and not found.lost else tally.unknown + 1,
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


def _noted(breaker: Closed | HalfOpen, tally: Tally, rules: BreakerRules, now: Moment, unit: str) -> Breaker:
    """After an iteration of notes alone: a state of its own it has only when there were too many of them."""
    if not 0 < rules.notes_stop <= tally.notes:
        return _with(breaker, tally)
    words = f"{tally.notes} {unit}s left nothing but notes, the limit is {rules.notes_stop}"
    return _opened(tally, words, now)


def _missed(breaker: Closed | HalfOpen, tally: Tally, rules: BreakerRules, now: Moment, unit: str) -> Breaker:
    count = tally.no_progress
    words = f"{count} {unit}{'s' if count != 1 else ''} without progress"
    if isinstance(breaker, HalfOpen) and breaker.why == "trial":
        return _opened(tally, f"the trial brought no progress either; {words}", now)
    if count >= rules.stop:
        return _opened(tally, f"{words}, the limit is {rules.stop}", now)
    return HalfOpen(tally, "warning", words) if count >= rules.warn else Closed(tally)


def _opened(tally: Tally, reason: str, now: Moment) -> Open:
    return Open(replace(tally, opens=tally.opens + 1), reason, now.at, now.wall)


def _judged(
    was: Breaker, breaker: Breaker, progress: bool, held: bool, found: str, rules: BreakerRules, unit: str
) -> Judgement:
    tally = breaker.tally
    said = found or f"no progress, {tally.no_progress} in a row"
    if tally.newest == "notes":
        said += f", {tally.notes} of them since the last progress" if tally.notes > 1 else ""
    if tally.shared:
        said += f" (it cannot be told apart from the work of {', '.join(tally.shared)}, in the same worktree)"
    changed = was.name != breaker.name
    now_is = f"breaker {breaker.name}" + (f" (was {was.name})" if changed else "")
    readings = (
        ("iteration", tally.iterations),
        ("no_progress", tally.no_progress),
        ("class", tally.newest or "unknown"),
        ("notes", tally.notes),
        ("last_progress_iteration", tally.last_progress),
        ("breaker.warn", rules.warn),
        ("breaker.stop", rules.stop),
        ("breaker.notes_stop", rules.notes_stop),
    )
    reason = f"{unit} {tally.iterations}: {said}; {now_is}"
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


def _remember(seen: tuple[str, ...], fingerprint: str, most: int = REMEMBERED) -> tuple[str, ...]:
    return (*(one for one in seen if one != fingerprint), fingerprint)[-most:]
