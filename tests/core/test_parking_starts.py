"""Deaths of parked agents, and starts while their account is at its limit (F-PROC-26)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Parked, Quarantined, Running, Starting, Stopped
from phoenixd.core.events.orders import AgentDeclared, RestartRequested, StartRequested
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.projection import row
from phoenixd.core.rules import LimitRules, LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from tests.core.accounts import HOUR, RESET, Account, team
from tests.core.story import EPOCH, claude, spec


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
