"""When an agent's brief is written anew, and by whom: once a day, on a significant change, at an end, or asked for.

All times here are wall seconds, because a day is a matter of the calendar. Deadlines follow from the ledger, which is
kept on disk: a daemon that was down over any number of days owes one run, not one for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Starting, Stopping
from phoenixd.core.limits.waits import account_of
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import Kind

DAY = 86400.0

LAG = 2.0
"""Seconds in which a CLI has written down what it said last: its hook comes sooner than its transcript is written."""

ANSWER_TOKENS = 4000
"""What an answer takes at most, about, and the words around the material."""


class Cause(StrEnum):
    """Why a brief is written."""

    SCHEDULE = "schedule"
    CHANGE = "change"
    TURN = "turn"
    LEFT = "left"
    DEATH = "death"
    END = "end"
    HANDOFF = "handoff"
    OPERATOR = "operator"
    LATER = "later"
    """The agent's own CLI was not to be asked when the brief was due."""


PLAIN = frozenset({Cause.TURN, Cause.LEFT, Cause.DEATH, Cause.HANDOFF})
"""Runs of facts alone: they bring loops and numbers up to date, and leave what a better writer said."""


@dataclass(frozen=True, slots=True)
class BriefLedger:
    """What is remembered of an agent's brief runs; all zero before the first look at it."""

    since: float = 0.0
    """When the agent was first seen: days before that are not made up for."""
    last_run: float = 0.0
    marks: str = ""
    """What counts as significant, as it stood at the last run; compared and never read."""
    ended: int = 0
    """The newest incarnation whose clean end has its brief."""
    of: str = ""
    """The agent that counts these incarnations, for each generation of a seat counts its own. Empty: not known."""
    day: int = 0
    """The day of the two counts, in UTC since the epoch."""
    runs: int = 0
    tokens: int = 0
    """Runs by a command or a model on that day, and their tokens as far as known."""
    failures: int = 0
    """Such runs in a row that failed."""
    failing_since: float = 0.0
    """When the first of them did (wall); 0 where it is not known."""
    owed: bool = False
    """The agent's own CLI was not to be asked at the last run that was its; it is asked later."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The daily hour, in seconds after local midnight; offset: of the local time from UTC, in seconds."""

    hour: float = 4 * 3600.0
    stagger: float = 1800.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """An agent as the schedule sees it. turned: when the newest turn ended that no run has read, 0 for none. held: why
    its own CLI may not be asked now, empty where it may. over: when it was noticed that a question in an open loop is
    closed, 0 for none.
    """

    name: str
    kind: Kind
    marks: str
    ended: int = 0
    turned: float = 0.0
    held: str = ""
    over: float = 0.0


@dataclass(frozen=True, slots=True)
class Due:
    """The next run: when, why, and the reason in words."""

    at: float
    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Who writes; reason: why it is not the configured writer, else empty.

    later: that one is to be asked when it may be. room: the tokens that it may still use today, None for any number.
    """

    writer: WriterKind
    reason: str = ""
    later: bool = False
    room: int | None = None


def first_look(ledger: BriefLedger, seen: Seen, now: float) -> BriefLedger:
    """The ledger of an agent that was never seen before: what it did until now is no change."""
    if ledger.since > 0:
        return ledger
    return replace(ledger, since=now, marks=seen.marks, ended=seen.ended, of=seen.name)


def next_run(ledger: BriefLedger, rules: BriefRules, calendar: Calendar, seen: Seen, now: float) -> Due | None:
    """The earliest run that is owed, past or to come; None where nothing is ever due."""
    # A clock that was set back must not put off a run until it has caught up.
    last = min(ledger.last_run, now)
    spaced = max(now, last + rules.spacing)
    owed: list[Due] = []
    if seen.ended > _ended(ledger, seen):
        # A loop ends with every iteration.
        at = spaced if seen.kind is Kind.LOOP else now
        owed.append(Due(at, Cause.END, f"incarnation {seen.ended} ended on purpose"))
    if rules.on_change and seen.marks != ledger.marks:
        owed.append(Due(spaced, Cause.CHANGE, "the task or the open loops changed"))
    if rules.daily:
        owed.append(_scheduled(ledger, calendar, seen.name, now))
    if rules.on_change and seen.turned > 0:
        # A clock that was set back must not put it off either.
        written = seen.turned + LAG if seen.turned <= now else now
        owed.append(Due(max(spaced, written), Cause.TURN, "a turn ended"))
    if rules.on_change and seen.over > 0:
        # Whatever the spacing: each such loop costs one plain run.
        owed.append(Due(max(now, min(seen.over, now) + LAG), Cause.TURN, "what it asked was answered or withdrawn"))
    if ledger.owed and rules.writer is WriterKind.AUTO and not seen.held:
        owed.append(Due(spaced, Cause.LATER, "its own CLI was not to be asked before"))
    return min(owed, key=lambda due: due.at, default=None)


def choose_writer(
    ledger: BriefLedger, rules: BriefRules, cause: Cause, now: float, *, able: bool = True, held: str = ""
) -> Choice:
    """Who writes this run, within the day's budget.

    able: whether the agent's own CLI can write. held: why it may not be asked now.
    """
    if rules.writer is WriterKind.DETERMINISTIC or cause in PLAIN:
        # What is written of a death is plain at once: the next run waits for it, and its own CLI is asked afterwards.
        # So it is of a handoff, whose successor waits.
        later = rules.writer is WriterKind.AUTO and able and cause in (Cause.DEATH, Cause.HANDOFF)
        return Choice(WriterKind.DETERMINISTIC, later=later)
    used = of_the_day(ledger, now)
    if rules.writer is WriterKind.AUTO:
        if not able:
            return Choice(WriterKind.DETERMINISTIC, "its program cannot write briefs")
        if held:
            return Choice(WriterKind.DETERMINISTIC, held, later=True)
    if used.runs >= rules.runs_per_day:
        by = writer_name(rules.writer)
        return Choice(WriterKind.DETERMINISTIC, f"the day's budget of {rules.runs_per_day} runs by {by} is used up")
    if 0 < rules.tokens_per_day <= used.tokens:
        return Choice(
            WriterKind.DETERMINISTIC, f"the day's budget of {rules.tokens_per_day} tokens is used up ({used.tokens})"
        )
    room = rules.tokens_per_day - used.tokens if rules.tokens_per_day > 0 else None
    if rules.writer is WriterKind.AUTO and room is not None and room < tokens_of_a_run(rules):
        return Choice(
            WriterKind.DETERMINISTIC,
            f"{room} of the day's {rules.tokens_per_day} tokens are left, and a run may take {tokens_of_a_run(rules)}: "
            "raise brief.tokens_per_day, or lower brief.transcript_chars",
        )
    return Choice(rules.writer, room=room)


def tokens_of_a_run(rules: BriefRules) -> int:
    """What one call may take: scripts differ, from four characters for a token to one."""
    return rules.transcript_chars // 2 + ANSWER_TOKENS


def writer_name(writer: WriterKind) -> str:
    """A writer as people are told of it: "auto" chooses, and what it chooses is the agent's own CLI."""
    return "cli" if writer is WriterKind.AUTO else writer.value


def held_back(agent: Agent, fleet: Iterable[Agent]) -> str:
    """Why the agent's own CLI may not be asked now; empty where it may.

    Its requests would count against a limit that the account has met, or would delay a restart.
    """
    account = account_of(agent.spec)
    for one in fleet:
        if account_of(one.spec) == account and one.parking is not None:
            whose = "it" if one.name == agent.name else f"{one.name}, which shares its account,"
            return f"{whose} is parked"
    if isinstance(agent.state, Starting | Stopping | BackingOff):
        return f"it is {agent.state.name.replace('_', ' ')}"
    return ""


def of_the_day(ledger: BriefLedger, now: float) -> BriefLedger:
    """The ledger with counts of today. A day before the counted one is a clock set back: no new budget for that."""
    day = int(now // DAY)
    return ledger if day <= ledger.day else replace(ledger, day=day, runs=0, tokens=0)


def begin(ledger: BriefLedger, choice: Choice, now: float) -> BriefLedger:
    """Count a run before it begins, so that a crash in it is paid for."""
    match choice.writer:
        case WriterKind.DETERMINISTIC:
            return of_the_day(ledger, now)
        case WriterKind.AUTO | WriterKind.COMMAND | WriterKind.MODEL:
            used = of_the_day(ledger, now)
            return replace(used, runs=used.runs + 1)
        case _:
            assert_never(choice.writer)


def finish(
    ledger: BriefLedger,
    seen: Seen,
    now: float,
    *,
    tokens: int = 0,
    failed: bool | None = None,
    owed: bool | None = None,
) -> BriefLedger:
    """Enter what came of a run.

    failed: None where no command or model was asked. owed: whether one is to be asked later; None leaves that as it is.
    """
    failures = ledger.failures if failed is None else ledger.failures + 1 if failed else 0
    since = now if failed and ledger.failures == 0 else ledger.failing_since
    return replace(
        ledger,
        last_run=now,
        marks=seen.marks,
        ended=max(seen.ended, _ended(ledger, seen)),
        of=seen.name,
        tokens=ledger.tokens + max(0, tokens),
        failures=failures,
        failing_since=since if failures else 0.0,
        owed=ledger.owed if owed is None else owed,
    )


def fails_for_days(ledger: BriefLedger, now: float) -> bool:
    """Whether the writer has failed today and on a day before, and no run between went well (F-BR-1)."""
    return ledger.failures > 1 and now // DAY > ledger.failing_since // DAY


def slot_before(calendar: Calendar, name: str, now: float) -> float:
    """The newest instant not after `now` at which the daily run of this agent is due."""
    start = calendar.hour + _share(name) * calendar.stagger
    local = now + calendar.offset
    slot = local // DAY * DAY + start
    return (slot if slot <= local else slot - DAY) - calendar.offset


def _ended(ledger: BriefLedger, seen: Seen) -> int:
    """The newest incarnation of this agent whose clean end has its brief."""
    return ledger.ended if ledger.of in ("", seen.name) else 0


def _scheduled(ledger: BriefLedger, calendar: Calendar, name: str, now: float) -> Due:
    slot = slot_before(calendar, name, now)
    if min(ledger.last_run, now) < slot and ledger.since < slot:
        late = now - slot
        reason = "the daily run" if late < DAY / 24 else f"the daily run, {late / 3600:.0f} h late"
        return Due(now, Cause.SCHEDULE, reason)
    return Due(slot + DAY, Cause.SCHEDULE, "the daily run")


def _share(name: str) -> float:
    """A number from 0 up to 1 that is always the same for a name, and evenly spread over names (FNV-1a)."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    # The low bits of short names differ more than the high ones.
    return (value ^ value >> 16) % 9973 / 9973
