"""A rate limit is a pause, not an incident: parked by account, resumed in slots, told to go on (F-PROC-26, G60, P3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.core.actions import Alert, Deliver, LookAtScreen, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.state import Quarantined, Stopped
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.orders import SendRequested, StartRequested
from phoenixd.core.limits import waits
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.projection import row
from phoenixd.core.rules import LimitRules
from tests.core.accounts import HOUR, RESET, Account, team
from tests.core.story import EPOCH, claude
from tests.journaled import dump_agent, load_agent

# Ten agents on one account.


@settings(max_examples=25)
@given(st.lists(st.floats(0, 600), min_size=10, max_size=10), st.integers(0, 10))
def test_f_proc_26_ten_agents_of_one_account_are_parked_and_resumed_in_slots(delays: list[float], met: int) -> None:
    """Some meet the limit themselves, at any distance; the rest are idle, and wait with them."""
    story = Account(*team(10)).all_work()
    names = list(story.fleet.agents)
    for name in names[met:]:
        story.say(name, "stop")
    for name, delay in zip(names[: max(1, met)], delays, strict=False):
        story.meets_limit(name)
        story.pass_over(delay)
    assert story.states() == {"parked"}
    assert all(row(agent, story.now).parked_until == RESET + 30 for agent in story.fleet.agents.values())
    assert story.of(Alert) == []

    while story.wall < RESET:
        assert story.of(Deliver) == story.of(Spawn) == story.of(LookAtScreen) == []
        story.wait(min(60, RESET - story.wall))
    told: list[float] = []
    while story.states() != {"running"}:
        story.chance = (story.chance + 0.377) % 1
        before = len(story.of(Deliver))
        due = next_deadline(story.fleet, story.now)
        assert due is not None
        story.wait(max(0.001, due - story.at))
        for order in story.of(Deliver)[before:]:
            told.append(story.at)
            story.obeys(order.agent)
    # Each that was stopped in its turn is told once; the idle ones are only freed.
    assert sorted(order.agent for order in story.of(Deliver)) == names[: max(1, met)]
    gaps = [later - earlier for earlier, later in pairwise(told)]
    assert all(5 <= gap <= 15.01 for gap in gaps), gaps
    for agent in story.fleet.agents.values():
        assert (agent.crashes, agent.short_runs, agent.restarts) == ((), 0, 0)


def test_who_was_due_while_no_daemon_lived_still_goes_on_in_slots() -> None:
    story = Account(*team(4)).all_work()
    for name in story.fleet.agents:
        story.meets_limit(name)
    story.wall += 5 * HOUR
    story.wait(1)
    assert len(story.of(Deliver)) == 1


def test_agents_of_other_accounts_do_not_wait_with_them() -> None:
    story = Account(*team(2), claude("b", account="another"), claude("c"), claude("d")).all_work()
    for name in ("b", "c", "d"):
        story.say(name, "stop")
    story.meets_limit("a0")
    assert [story.named(name).state_name for name in "bcd"] == ["running"] * 3
    story.meets_limit("c")
    assert story.named("d").state_name == "running"


def test_one_that_works_on_is_not_parked_for_its_neighbour() -> None:
    story = Account(*team(2)).all_work()
    story.meets_limit("a0")
    assert story.named("a1").state_name == "running"
    story.meets_limit("a1", RESET + HOUR)
    # What the later one was told is what holds for the account.
    assert {row(agent, story.now).parked_until for agent in story.fleet.agents.values()} == {RESET + HOUR + 30}


# The reset time.


@pytest.mark.parametrize(
    ("reset", "waits", "says"),
    [
        (None, 900, "no reset time was named"),
        (EPOCH - 301, 900, "absurd (5 min 1 s ago)"),
        (EPOCH + 33 * 24 * HOUR, 900, "absurd (792 h ahead)"),
        (0.0, 900, "absurd"),
        (EPOCH - 299, 30, "until the reset time that was named"),
        (EPOCH + 1, 31, "until the reset time that was named"),
        (EPOCH + 7 * 24 * HOUR, 7 * 24 * HOUR + 30, "until the reset time that was named"),
    ],
)
def test_a_reset_time_that_is_missing_or_absurd_falls_back_and_says_so(
    reset: float | None, waits: float, says: str
) -> None:
    story = Account(claude()).all_work()
    story.chance = 0.0
    story.meets_limit("a", reset)
    assert row(story.agent, story.now).parked_until == EPOCH + waits
    assert says in story.agent.reason
    assert ("reset", reset) in story.decisions[-1].readings


@given(
    st.sampled_from(ParkingKind),
    st.none() | st.floats(),
    st.integers(0, 10**6),
    st.floats(0, 1, exclude_max=True),
)
def test_a_wait_is_never_in_the_past_and_never_beyond_its_bounds(
    kind: ParkingKind, reset: float | None, setbacks: int, chance: float
) -> None:
    rules = LimitRules()
    wait = waits.wait(rules, kind, reset, setbacks, Moment(5.0, EPOCH, chance))
    assert EPOCH + min(rules.margin, rules.overload_wait) <= wait.until_wall <= EPOCH + rules.longest + rules.margin


def test_waits_without_a_named_time_grow_until_a_turn_goes_well() -> None:
    story = Account(claude()).all_work()
    story.chance = 0.0
    waits = []
    for _ in range(4):
        story.meets_limit("a", None)
        until = row(story.agent, story.now).parked_until
        assert until is not None
        waits.append(until - story.wall)
        story.wait(waits[-1])
        story.obeys("a")
    assert waits == [900, 1800, 3600, 3600]
    story.say("a", "stop")
    story.meets_limit("a", None)
    assert row(story.agent, story.now).parked_until == story.wall + 900


# Operators.


def test_an_operators_start_does_not_wait_for_the_limit() -> None:
    story = Account(*team(2)).all_work()
    for name in ("a0", "a1"):
        story.meets_limit(name)
    assert story.tell(StartRequested("a0")) is None
    assert [order.agent for order in story.of(Deliver)] == ["a0"]
    story.obeys("a0")
    assert story.tell(StartRequested("a0")) is None
    assert len(story.of(Deliver)) == 1
    assert (story.named("a0").state_name, story.named("a1").state_name) == ("running", "parked")


def test_a_parked_agent_is_not_typed_into_and_says_so() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    refusal = story.tell(SendRequested("a", "m1", "And the tests?"))
    assert refusal is not None
    assert "parked" in refusal.message
    assert refusal.remedy == "phoenixctl start a"


def test_a_parked_agent_can_be_stopped_and_stays_stopped() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.stop()
    story.dies("a", 143, None)
    assert isinstance(story.state, Stopped)
    story.wait(24 * HOUR)
    assert isinstance(story.state, Stopped)


# Login and billing: people, and no retry.


@pytest.mark.parametrize("error", ["authentication_failed", "billing_error"])
def test_f_proc_26_what_only_a_person_can_mend_is_not_tried_again(error: str) -> None:
    story = Account(claude()).all_work()
    story.say("a", "stop-failure", error=error, text="Please run /login")
    assert story.agent.state_name == "running"
    story.wait(HOUR)
    assert story.of(Deliver) == []
    story.dies("a", 1, None)
    assert isinstance(story.state, Quarantined)
    assert story.agent.crashes == ()
    assert "Please run /login" in story.agent.reason
    story.start()
    assert story.spawn.prompt is PromptKind.CONTINUE


# What survives.


@given(st.booleans(), st.booleans())
def test_a_parked_agent_survives_the_daemon(dead: bool, told: bool) -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    if told:
        story.wait(2 * HOUR + 31)
    if dead:
        story.dies("a")
    assert load_agent(dump_agent(story.agent)) == story.agent


def test_a_parked_run_is_never_hung_and_rests() -> None:
    story = Account(claude()).all_work()
    story.say("a", "tool-start", tool_use_id="t1", lease=10)
    story.meets_limit("a", EPOCH + 30 * 24 * HOUR)
    story.wait(29 * 24 * HOUR)
    shown = row(story.agent, story.now)
    assert (shown.state, shown.group, shown.activity, shown.restarts) == ("parked", "resting", None, 0)
    assert story.alerts() == []


def test_a_screen_that_nobody_asked_for_changes_nothing() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.tell(ScreenSeen("a", 1, "working"))
    assert story.agent.state_name == "parked"


# A wall clock that is set back.


def waits_by_itself(story: Account) -> None:
    story.say("a", "stop-failure", error="server_error")


def waits_for_its_limit(story: Account) -> None:
    story.meets_limit("a", None)


def waits_for_the_time_that_was_named(story: Account) -> None:
    story.meets_limit("a")


def waits_for_two_limits(story: Account) -> None:
    """The second one is met after the clock was set back."""
    story.meets_limit("a", None)
    story.wall -= HOUR
    story.meets_limit("a", None)


def waits_with_its_account(story: Account) -> None:
    story.say("a", "stop")
    story.meets_limit("b", None)


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize(
    "waits",
    [
        waits_by_itself,
        waits_for_its_limit,
        waits_for_the_time_that_was_named,
        waits_for_two_limits,
        waits_with_its_account,
    ],
)
def test_f_hb_4_a_clock_that_is_set_back_puts_off_no_end_of_a_wait(
    waits: Callable[[Account], None], dead: bool
) -> None:
    story = Account(claude("a", account="team"), claude("b", account="team")).all_work()
    waits(story)
    held = story.named("a").parking
    assert held is not None
    assert held.over_by is not None
    planned = held.over_by - story.at
    story.wall -= 300 * 24 * HOUR
    shown = row(story.named("a"), story.now).due
    assert shown is not None
    assert shown <= planned, "status says when it goes on, and not when the clock has caught up"
    if dead:
        story.dies("a")
    assert planned < 2.1 * HOUR
    story.wait(planned + 60)

    went_on = {order.agent for order in (*story.of(Deliver), *story.of(Spawn))}
    assert "a" in went_on or story.named("a").parking is None, story.named("a").parking


def test_a_wait_that_an_older_journal_knows_is_not_cut_short_by_a_nearer_one() -> None:
    story = Account(claude("a")).all_work()
    story.meets_limit("a")
    agent = story.named("a")
    assert agent.parking is not None
    until = agent.parking.until_wall
    older = replace(agent, limits=replace(agent.limits, parking=replace(agent.parking, over_by=None)))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, "a": older})
    story.say("a", "stop-failure", error="server_error")
    held = story.named("a").parking
    assert held is not None
    assert held.until_wall == until

    story.wait(10 * 60.0)

    assert story.named("a").parking == held


def test_f_hb_4_a_clock_that_is_set_back_while_others_go_on_first_makes_nobody_wait_again() -> None:
    names = "abcdefghijkl"
    story = Account(*(claude(name, account="team") for name in names)).all_work()
    for name in names:
        story.meets_limit(name, None)
    first = story.named("a").parking
    assert first is not None
    story.wait(first.until_wall - story.wall + 20.0)
    before = {order.agent for order in story.of(LookAtScreen)}
    assert 0 < len(before) < len(names)
    story.wall -= 5 * HOUR

    story.wait(HOUR / 6)

    assert {order.agent for order in story.of(LookAtScreen)} == set(names)
