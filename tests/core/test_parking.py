"""A rate limit is a pause, not an incident: parked by account, resumed in slots, told to go on (F-PROC-26, G60, P3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.core.actions import Alert, Deliver, LookAtScreen, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Running, Starting, Stopped
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Decision
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared, RestartRequested, SendRequested, StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, NotDelivered
from phoenixd.core.fleet import Step
from phoenixd.core.limits import accounts, parking, waits
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.projection import row
from phoenixd.core.rules import LimitRules, LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from phoenixd.documents.hooks import hook_of
from tests.core.story import EPOCH, Story, claude, spec
from tests.journaled import dump_agent, load_agent

HOUR = 3600.0
RESET = EPOCH + 2 * HOUR


class Account(Story):
    """Several agents of one account. `screen` is what each screen shows when it is looked at, None for no answer."""

    def __init__(self, *specs: AgentSpec, **limits: Any) -> None:
        super().__init__(*specs, limits=FleetLimits(max_starting=100, **limits))
        self.screen = "idle"

    def named(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def all_work(self) -> Account:
        for name in self.fleet.agents:
            self.tell(StartRequested(name))
            self.begin(name)
        self.decisions.clear()
        return self

    def begin(self, name: str) -> None:
        """Exec, session and turn of the run that was ordered."""
        run = self.named(name).run
        assert run is not None
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 100, 1000))
        self.say(name, "session-start", session_id=run.session_id)
        self.say(name, "prompt-submit", text="Build the shop.")

    def say(self, name: str, kind: str, **details: Any) -> None:
        self.tell(hook_of(name, self.named(name).incarnation, kind, **details))

    def meets_limit(self, name: str, reset: float | None = RESET) -> None:
        self.say(name, "stop-failure", error="rate_limit", reset_wall=reset)

    def dies(self, name: str, code: int | None = None, signal: int | None = 9) -> None:
        run = self.named(name).run
        assert run is not None
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, signal))

    def obeys(self, name: str) -> None:
        """The newest text that was to be typed into an agent arrives, and a turn begins."""
        order = [action for action in self.of(Deliver) if action.agent == name][-1]
        self.say(name, "prompt-submit", text=order.text)
        self.tell(Delivered(name, order.incarnation, order.message_id, "the agent took the prompt"))

    def states(self) -> set[str]:
        return {agent.state_name for agent in self.fleet.agents.values()}


def team(number: int, **changes: Any) -> list[AgentSpec]:
    return [claude(f"a{index}", account="team", **changes) for index in range(number)]


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


# Overload and outage.


def refused(story: Account) -> float:
    """A turn that the service refuses, of a CLI whose hook of a turn's end comes all the same; how long it waits."""
    story.say("a", "stop")
    story.say("a", "stop-failure", error="server_error")
    story.tell(ScreenSeen("a", 1, "idle"))
    held = story.agent.parking
    assert held is not None
    waited = held.until_wall - story.wall
    story.screen, told = "idle", len(story.of(Deliver))
    while len(story.of(Deliver)) == told:
        story.wait(1)
    story.screen = None
    story.obeys("a")
    return waited


def gemini_account() -> Account:
    story = Account(claude("a", harness="gemini")).all_work()
    story.screen = None
    return story


def test_f_proc_26_each_refusal_in_a_row_of_a_cli_whose_turns_end_either_way_is_waited_out_for_longer() -> None:
    """Its hook of a turn's end comes of a turn that was refused as well, and proves nothing (Gemini)."""
    story = gemini_account()
    waited = [refused(story) for _ in range(5)]
    assert waited == sorted(set(waited)), "each wait is longer than the one before"
    assert story.alerts() == ["outage"]


def test_f_proc_26_a_turn_that_a_look_shows_to_have_ended_well_ends_the_row_of_refusals() -> None:
    story = gemini_account()
    first, second = refused(story), refused(story)
    story.say("a", "stop")
    assert story.agent.limits.setbacks == 2, "nobody knows yet how it ended"
    story.tell(ScreenSeen("a", 1, "idle"))
    assert story.agent.limits.setbacks == 0
    story.say("a", "prompt-submit", text="Go on.")
    assert first < second
    assert refused(story) == first


@pytest.mark.parametrize(
    "shows",
    [
        lambda story: story.tell(ScreenSeen("a", 1, "limit-dialog")),
        lambda story: story.tell(ScreenSeen("a", 1, "working")),
        lambda story: (story.say("a", "prompt-submit", text="x"), story.tell(ScreenSeen("a", 1, "idle"))),
        lambda story: (
            story.say("a", "prompt-submit", text="x"),
            story.say("a", "notification", notification="idle_prompt"),
            story.tell(ScreenSeen("a", 1, "idle")),
        ),
        lambda story: (
            story.say("a", "stop-failure", error="max_output_tokens"),
            story.tell(ScreenSeen("a", 1, "idle")),
        ),
        lambda story: (story.dies("a"), story.runs(), story.tell(ScreenSeen("a", 2, "idle"))),
    ],
    ids=[
        "a dialog",
        "a screen that works",
        "another turn",
        "another turn that was broken off",
        "a turn that failed otherwise",
        "a run after it",
    ],
)
def test_f_proc_26_what_does_not_show_that_the_turn_ended_well_ends_no_row_of_refusals(
    shows: Callable[[Account], object],
) -> None:
    story = gemini_account()
    refused(story)
    story.say("a", "stop")
    shows(story)
    assert story.agent.limits.setbacks == 1


def test_f_proc_26_a_call_that_ended_ends_the_row_of_refusals_of_any_cli() -> None:
    story = gemini_account()
    refused(story)
    story.say("a", "tool-start", tool="Bash", tool_use_id="t")
    story.say("a", "tool-end", tool="Bash", tool_use_id="t")
    assert story.agent.limits.setbacks == 0


@pytest.mark.parametrize("error", ["server_error", "overloaded", "unknown"])
def test_f_proc_26_an_overload_is_tried_again_less_and_less_often_by_this_agent_alone(error: str) -> None:
    story = Account(*team(2)).all_work()
    story.say("a1", "stop")
    story.chance = 0.0
    began = []
    for _ in range(6):
        story.say("a0", "stop-failure", error=error)
        assert story.named("a1").state_name == "running"
        began.append(story.at)
        before = len(story.of(Deliver))
        while len(story.of(Deliver)) == before:
            story.wait(1)
        story.obeys("a0")
    assert [round(later - earlier) for earlier, later in pairwise(began)] == [30, 60, 120, 240, 480]
    assert story.alerts() == ["outage"], "told once, and only when it lasts"
    assert story.named("a0").crashes == ()
    assert [one.kind for one in story.named("a0").alerts] == ["outage"]
    story.say("a0", "stop")
    assert story.named("a0").alerts == ()


@pytest.mark.parametrize("is_down", [False, True])
def test_who_waits_for_a_service_that_failed_as_its_account_meets_a_limit_is_told_as_one_that_waits_for_that(
    is_down: bool,
) -> None:
    story = Account(*team(2)).all_work()
    story.say("a0", "stop-failure", error="overloaded")
    if is_down:
        story.dies("a0")
    parked = story.named("a0").parking
    assert parked is not None
    assert parked.kind is ParkingKind.OVERLOAD

    story.meets_limit("a1")
    if not is_down:
        story.dies("a0")

    agent = story.named("a0")
    assert agent.parking is not None
    assert (agent.parking.kind, agent.parking.until_wall) == (ParkingKind.LIMIT, RESET + 30)
    assert isinstance(agent.state, Parked)
    assert "parked, limit: a1 met the limit of its account" in agent.reason
    story.dies("a1")
    story.tell(AgentDeclared(claude("a2", account="team"), start=True))
    assert isinstance(story.named("a2").state, Parked)


# Going on.


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (claude(), True),
        (claude(limits=LimitRules(reprompt=False)), False),
        (spec(prompt_via="paste"), True),
        (spec(prompt_via="argv", argv=("agent", "{prompt}")), False),
        (spec(), False),
        (spec(limits=LimitRules(reprompt=True)), True),
    ],
)
def test_it_is_told_to_go_on_where_the_cli_stops_its_turn_and_not_where_it_goes_on_by_itself(
    agent: AgentSpec, told: bool
) -> None:
    story = Account(agent).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    assert bool(story.of(Deliver)) is told
    if told:
        story.obeys("a")
    assert story.agent.state_name == "running"
    assert story.agent.last_prompt is None or not story.agent.last_prompt.startswith("The rate limit")


@pytest.mark.parametrize("kind", ["prompt-submit", "tool-start"])
def test_what_goes_on_by_itself_is_not_told_a_second_time(kind: str) -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(HOUR)
    story.say("a", kind, text="Go on.")
    assert story.agent.state_name == "running"
    story.say("a", "stop")
    story.wait(24 * HOUR)
    assert story.of(Deliver) == []


def test_a_screen_that_works_is_not_told_to_go_on() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.screen = "working"
    story.wait(2 * HOUR + 31)
    assert (story.of(Deliver), story.agent.state_name) == ([], "running")
    assert "went on by itself" in story.agent.reason


@pytest.mark.parametrize("problem", ["permission", "unsent"])
def test_one_that_cannot_be_told_is_tried_again_and_shown_to_people(problem: str) -> None:
    """A dialog on its screen, or a draft of somebody's: nothing is typed over either."""
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.screen = "permission" if problem == "permission" else "idle"
    seen = 0
    for _ in range(200):
        story.wait(60)
        orders = story.of(Deliver)
        if len(orders) > seen:
            seen = len(orders)
            order = orders[-1]
            story.tell(NotDelivered("a", order.incarnation, order.message_id, "something unsent stands there"))
    assert story.alerts() == (["dialog"] if problem == "permission" else ["cannot go on"])
    assert story.agent.item is not None
    assert story.agent.state_name == "parked"
    assert bool(story.of(Deliver)) is (problem != "permission")
    story.screen = "idle"
    story.wait(HOUR)
    story.obeys("a")
    assert (story.agent.item, story.agent.state_name) == (None, "running")


def test_one_that_asks_a_person_at_its_fifth_miss_is_shown_after_a_later_one() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    seen, missed = 0, {0}
    for _ in range(600):
        assert story.agent.parking is not None
        missed.add(story.agent.parking.misses)
        story.screen = "permission" if story.agent.parking.misses in (3, 4) else "idle"
        story.wait(60)
        orders = story.of(Deliver)
        if len(orders) > seen:
            seen = len(orders)
            story.tell(
                NotDelivered("a", orders[-1].incarnation, orders[-1].message_id, "something unsent stands there")
            )
    assert missed >= {4, 5, 6, 7}
    assert story.alerts() == ["dialog", "cannot go on"]


def test_an_order_to_go_on_that_was_lost_is_given_again() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    assert len(story.of(Deliver)) == 1
    story.wait(10 * 60)
    assert len(story.of(Deliver)) > 1
    assert len({order.message_id for order in story.of(Deliver)}) == len(story.of(Deliver))


def test_a_text_that_arrived_ends_the_parking_though_no_hook_tells_of_its_turn() -> None:
    """The receipt is proof enough: hooks may be lost, and some CLIs have none."""
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    order = story.of(Deliver)[-1]

    story.tell(Delivered("a", order.incarnation, order.message_id, "the text stands in the transcript"))

    assert story.agent.state_name == "running"
    assert "told to go on" in story.agent.reason
    assert isinstance(story.agent.state, Running)
    assert story.agent.state.activity.turn_open
    assert story.agent.item is None


def test_one_refusal_of_its_terminal_is_heard_at_once_and_keeps_it_parked() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    order = story.of(Deliver)[-1]

    story.tell(NotDelivered("a", order.incarnation, order.message_id, "something unsent stands there"))

    assert story.agent.state_name == "parked"
    assert "it could not be told to go on (something unsent stands there)" in story.decisions[-1].reason


def test_an_answer_about_another_text_does_not_end_the_parking() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.wait(2 * HOUR + 31)
    story.tell(NotDelivered("a", 1, "another", "no"))
    story.tell(Delivered("a", 1, "another", "yes"))
    assert story.agent.state_name == "parked"


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


# Death while parked, and starts while the account is at its limit.


@pytest.mark.parametrize("agent", [claude(account="team"), claude(account="team", kind=Kind.LOOP)])
def test_a_death_while_parked_counts_nothing_and_waits_for_the_reset(agent: AgentSpec) -> None:
    story = Account(agent).all_work()
    for _ in range(8):
        story.meets_limit("a")
        story.dies("a")
        assert isinstance(story.state, Parked)
        assert (story.agent.crashes, story.agent.short_runs) == ((), 0)
        assert story.agent.last_exit is not None
        assert story.agent.last_exit.limited
        assert row(story.agent, story.now).parked_until == RESET + 30
        story.wall = RESET - 1
        assert len(story.of(Spawn)) == 0
        story.wait(32)
        fresh_loop = agent.kind is Kind.LOOP
        assert story.spawn.mode is (Mode.FRESH if fresh_loop else Mode.RESUME)
        assert story.spawn.prompt is (PromptKind.GOAL if fresh_loop else PromptKind.CONTINUE)
        story.begin("a")
        story.decisions.clear()
        story.wall = EPOCH


def test_who_would_be_started_by_itself_waits_with_its_account() -> None:
    story = Account(*team(3)).all_work()
    story.dies("a1")
    story.meets_limit("a0")
    story.dies("a2")
    assert isinstance(story.named("a2").state, Parked)
    story.tell(AgentDeclared(claude("a3", account="team"), start=True))
    assert isinstance(story.named("a3").state, Parked)
    # An operator knows better.
    story.tell(StartRequested("a3"))
    assert isinstance(story.named("a3").state, Starting | BackingOff)


def test_what_an_operator_restarts_is_tried_though_its_account_is_limited() -> None:
    story = Account(*team(3)).all_work()
    story.meets_limit("a0")
    story.tell(RestartRequested("a1"))
    story.dies("a1", 143, None)
    story.dies("a2", 143, None)
    assert [type(story.named(name).state) for name in ("a1", "a2")] == [Starting, Parked]


def test_a_fresh_start_that_was_put_off_is_still_a_fresh_one() -> None:
    story = Account(*team(2), resume_every=0.001).all_work()
    story.fleet = type(story.fleet)(story.fleet.agents, FleetLimits(max_starting=1))
    story.tell(StartRequested("a1"))
    story.stop()
    story.dies("a0", 143, None)
    story.tell(StartRequested("a0", fresh=True))
    assert isinstance(story.named("a0").state, Starting)
    story.tell(AgentExited("a0", 2, story.spawn.run_id, None, None, "terminal_lost"))
    assert isinstance(story.named("a0").state, BackingOff)


@pytest.mark.parametrize(("code", "kept"), [(75, True), (1, False)])
def test_an_exit_code_can_tell_of_a_limit(code: int, kept: bool) -> None:
    story = Account(spec(limits=LimitRules(exit_codes=(75,)), prompt="Go."))
    story.chance = 0.0
    story.start()
    for _ in range(6):
        while isinstance(story.state, BackingOff | Parked):
            story.wait(1)
        if isinstance(story.state, Quarantined):
            break
        story.started()
        story.exited(code)
    assert isinstance(story.state, Parked if kept else Quarantined)
    assert (story.agent.crashes == ()) is kept


def test_a_limit_does_not_revive_what_its_policy_keeps_down() -> None:
    story = Account(claude(restart=RestartRules(RestartPolicy.NEVER))).all_work()
    story.meets_limit("a")
    story.dies("a")
    assert isinstance(story.state, Stopped)


def test_a_person_who_ends_a_parked_session_ends_it() -> None:
    story = Account(claude()).all_work()
    story.meets_limit("a")
    story.say("a", "session-end", source="prompt_input_exit")
    story.dies("a", 0, None)
    assert isinstance(story.state, Stopped)


def test_the_time_that_a_loop_was_parked_is_no_run_time() -> None:
    story = Account(claude(kind=Kind.LOOP, loop=LoopRules(max_runtime=3000))).all_work()
    story.wait(600)
    story.meets_limit("a")
    story.wait(RESET + 31 - story.wall)
    story.obeys("a")
    for _ in range(4):
        story.wait(500)
        story.say("a", "tool-end")
    assert isinstance(story.state, Running)
    story.wait(500)
    assert not isinstance(story.state, Running)


@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("changes", [{"account": "other"}, {"account": "other", "env": (("KEY", "value"),)}])
def test_f_proc_26_who_is_given_another_account_does_not_wait_for_the_limit_of_the_one_before(
    changes: dict[str, Any], is_down: bool
) -> None:
    story = Account(*team(2)).all_work()
    story.meets_limit("a0")
    story.meets_limit("a1")
    if is_down:
        story.dies("a0")
    story.tell(AgentDeclared(claude("a0", **changes)))
    if "env" in changes and not is_down:
        story.dies("a0", 143, None)
    if is_down or "env" in changes:
        assert isinstance(story.named("a0").state, Starting)
    else:
        story.obeys("a0")
        assert story.named("a0").state_name == "running"
    assert story.named("a1").state_name == "parked"


def test_who_is_given_an_account_that_is_at_its_limit_waits_for_that() -> None:
    story = Account(claude("a", account="one"), claude("b", account="two")).all_work()
    story.meets_limit("a", EPOCH + HOUR)
    story.meets_limit("b", EPOCH + 3 * HOUR)
    story.dies("a")
    story.tell(AgentDeclared(claude("a", account="two")))
    story.wait(2 * HOUR)
    assert story.agent.state_name == "parked"
    story.wait(HOUR + 35)
    assert isinstance(story.state, Starting)


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


def test_one_that_was_told_to_go_on_is_asked_about_once_its_answer_is_late_and_not_before() -> None:
    waits = Parking(ParkingKind.LIMIT, EPOCH, 0.0, "a limit", owes=True, asked=100.0, message_id="m")
    works = Story(claude()).works()
    fleet = replace(works.fleet, agents=works.fleet.roster.taking(replace(works.agent, limits=Limits(waits))))

    def released(at: float) -> list[Decision]:
        return list(accounts.release(fleet, Step(fleet), Tick(), Moment(at, EPOCH + at)).decisions)

    assert released(100.0 + parking.ANSWER_TIME - 0.5) == []
    (late,) = released(100.0 + parking.ANSWER_TIME)
    assert "nothing came of telling it" in late.reason
