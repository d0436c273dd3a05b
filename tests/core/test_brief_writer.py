"""When an agent's own CLI may write its brief, what it may cost, and when it is asked after all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Parked, State, Stopped
from phoenixd.core.briefing import (
    ANSWER_TOKENS,
    DAY,
    BriefLedger,
    Calendar,
    Cause,
    Seen,
    _scheduled,
    begin,
    choose_writer,
    finish,
    held_back,
    next_run,
    slot_before,
    tokens_of_a_run,
    writer_name,
)
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import AgentSpec, Kind

NOW = 20_000 * DAY
AUTO = BriefRules(writer=WriterKind.AUTO, daily=False)
SEEN = Seen("a", Kind.RESIDENT, "m")


def an_agent(name: str, state: State, account: str | None = None, *, parked: bool = False) -> Agent:
    made = Agent(AgentSpec(name, ("x",), "/", account=account), Desired.RUNNING, state, 0.0, "")
    held = Parking(ParkingKind.LIMIT, NOW + 60, 0.0, "a limit")
    return replace(made, limits=Limits(parking=held)) if parked else made


def test_the_cli_writes_what_is_not_urgent_and_a_turns_end_costs_nothing() -> None:
    ledger = BriefLedger(since=NOW)

    for cause in Cause:
        chosen = choose_writer(ledger, AUTO, cause, NOW)
        plain = cause in (Cause.TURN, Cause.LEFT, Cause.DEATH, Cause.HANDOFF)
        assert chosen.writer is (WriterKind.DETERMINISTIC if plain else WriterKind.AUTO), cause
        assert chosen.later is (cause in (Cause.HANDOFF, Cause.DEATH))
    assert (writer_name(WriterKind.AUTO), writer_name(WriterKind.MODEL)) == ("cli", "model")


def test_without_a_yes_no_model_is_asked() -> None:
    assert choose_writer(BriefLedger(), BriefRules(), Cause.OPERATOR, NOW).writer is WriterKind.DETERMINISTIC


def test_a_program_that_cannot_write_is_told_so_and_owes_nothing() -> None:
    chosen = choose_writer(BriefLedger(), AUTO, Cause.OPERATOR, NOW, able=False)

    assert (chosen.writer, chosen.later) == (WriterKind.DETERMINISTIC, False)
    assert "cannot write" in chosen.reason


def test_while_it_is_held_back_the_brief_is_plain_at_once_and_the_cli_is_asked_later() -> None:
    ledger = BriefLedger(since=NOW, marks="m")
    chosen = choose_writer(ledger, AUTO, Cause.CHANGE, NOW, held="it is parked")
    ledger = finish(begin(ledger, chosen, NOW), SEEN, NOW, owed=chosen.later)

    assert (chosen.writer, chosen.reason, ledger.runs) == (WriterKind.DETERMINISTIC, "it is parked", 0)
    assert next_run(ledger, AUTO, Calendar(), replace(SEEN, held="it is parked"), NOW) is None
    due = next_run(ledger, AUTO, Calendar(), SEEN, NOW)
    assert due is not None
    assert (due.cause, due.at) == (Cause.LATER, NOW + AUTO.spacing)

    asked = choose_writer(ledger, AUTO, due.cause, due.at)
    assert asked.writer is WriterKind.AUTO
    done = finish(begin(ledger, asked, due.at), SEEN, due.at, tokens=900, failed=False, owed=asked.later)
    assert (done.owed, done.runs, done.tokens) == (False, 1, 900)
    assert next_run(done, AUTO, Calendar(), SEEN, due.at) is None


def test_a_turns_end_forgets_nothing_that_is_owed() -> None:
    ledger = finish(BriefLedger(owed=True), SEEN, NOW, owed=None)

    assert ledger.owed


@pytest.mark.parametrize(("left", "is_asked"), [(0, True), (1, False), (tokens_of_a_run(AUTO) - 1, False)])
def test_a_call_is_not_begun_where_the_days_rest_may_not_do(left: int, is_asked: bool) -> None:
    rules = replace(AUTO, tokens_per_day=100_000 if left else 0)
    used = BriefLedger(day=int(NOW // DAY), tokens=100_000 - left if left else 10**9)

    chosen = choose_writer(used, rules, Cause.OPERATOR, NOW)

    assert (chosen.writer is WriterKind.AUTO) is is_asked
    assert is_asked or "raise brief.tokens_per_day" in chosen.reason
    tomorrow = choose_writer(used, rules, Cause.OPERATOR, NOW + DAY)
    assert (tomorrow.writer, tomorrow.room) == (WriterKind.AUTO, 100_000 if left else None)


def test_an_agent_of_which_nothing_was_ever_written_has_the_whole_days_budget() -> None:
    """Also on a host whose clock was never set, where it is the first day still."""
    rules = BriefRules(writer=WriterKind.MODEL, runs_per_day=1, tokens_per_day=1000)
    for now in (0.0, NOW):
        chosen = choose_writer(BriefLedger(), rules, Cause.OPERATOR, now)
        assert (chosen.writer, chosen.room) == (WriterKind.MODEL, 1000)


def test_a_call_is_counted_for_the_worst_script() -> None:
    assert tokens_of_a_run(replace(AUTO, transcript_chars=60_000)) == 30_000 + ANSWER_TOKENS


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Stopped(), ""),
        (Parked(), "it is parked"),
        (BackingOff(0.0, Mode.FRESH, PromptKind.NONE), "it is backing off"),
    ],
)
def test_it_is_held_back_while_it_is_parked_or_started_again(state: State, said: str) -> None:
    agent = an_agent("a", state, parked=isinstance(state, Parked))

    assert held_back(agent, [agent]) == said


def test_a_limit_of_the_account_holds_everybody_back_that_shares_it() -> None:
    parked = an_agent("met-it", Parked(), "team", parked=True)
    mine, others = an_agent("a", Stopped(), "team"), an_agent("b", Stopped(), "home")

    assert held_back(mine, [mine, others, parked]) == "met-it, which shares its account, is parked"
    assert held_back(others, [mine, others, parked]) == ""


def test_the_hour_of_briefs_is_the_newest_that_has_come_and_each_agent_has_its_own() -> None:
    """At that very instant it has come; a zone's offset moves it, and the stagger spreads it over names."""
    calendar = Calendar(hour=4 * 3600.0, stagger=0.0, offset=3600.0)
    due = NOW + 3 * 3600.0
    assert slot_before(calendar, "a", due) == due
    assert slot_before(calendar, "a", due - 1) == due - DAY
    assert slot_before(calendar, "a", due + DAY - 1) == due
    spread = replace(calendar, stagger=1800.0)
    found = [slot_before(spread, f"a{number}", due + 1800.0) - due for number in range(50)]
    assert all(0 <= later <= 1800.0 for later in found)
    assert max(found) - min(found) > 900.0


@pytest.mark.parametrize(
    ("last_run", "since", "at", "due", "reason"),
    [
        (-1.0, -1.0, 0.0, 0.0, "the daily run"), (-1.0, -1.0, 3599.0, 3599.0, "the daily run"),
        (-1.0, -1.0, 3600.0, 3600.0, "the daily run, 1 h late"),
        (0.0, -1.0, 1800.0, DAY, "the daily run"), (-1.0, 0.0, 1800.0, DAY, "the daily run"),
        (5 * DAY, -1.0, 1800.0, DAY, "the daily run"),
    ],
)  # fmt: skip
def test_the_daily_run_is_due_once_and_as_late_as_it_is(
    last_run: float, since: float, at: float, due: float, reason: str
) -> None:
    """Times from the slot on. What began at the slot has nothing of the day before; a clock that was set back tells."""
    ledger = BriefLedger(since=NOW + since, last_run=NOW + last_run)
    found = _scheduled(ledger, Calendar(hour=0.0, stagger=0.0, offset=0.0), "a", NOW + at)
    assert (found.at - NOW, found.reason, found.cause) == (due, reason, Cause.SCHEDULE)
