"""The handoff of a seat where an operator stops, removes, restarts or rolls back meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Deliver, Spawn
from phoenixd.core.agent.state import Outage, Running, Stopped
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    OperatorEvent,
    RestartRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import Delivered
from phoenixd.core.handoff.state import Step
from phoenixd.core.seat import finding
from phoenixd.core.spec import AgentSpec, Kind
from tests.core.handing import STEPS_BEFORE_FENCE, HandoffStory, armable, at, denied, orchestrator


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_promise_3_a_stop_ends_both_generations_at_every_step_and_nothing_restarts(step: str) -> None:
    story = at(step)
    spawned = len(story.of(Spawn))
    assert story.tell(StopRequested("o")) is None
    for name in tuple(story.fleet.agents):
        if story.fleet.agents[name].run is not None:
            story.exits(name, None, 15)
    story.wait(4000)
    assert story.handoff.is_over
    assert len(story.of(Spawn)) == spawned
    assert all(isinstance(agent.state, Stopped) for agent in story.fleet.agents.values())
    assert len(story.fleet.agents) == 1


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_promise_3_a_removal_removes_both_generations_and_the_seat(step: str) -> None:
    story = at(step)
    assert story.tell(AgentWithdrawn("o")) is None
    for name in tuple(story.fleet.agents):
        if story.fleet.agents[name].run is not None:
            story.exits(name, None, 15)
    assert not story.fleet.agents
    assert not story.fleet.seats


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
@pytest.mark.parametrize(
    "order",
    [
        StartRequested("o"),
        RestartRequested("o"),
        SendRequested("o", "m1", "mind the tests"),
        AgentDeclared(orchestrator("o", prompt="Mind the tests.")),
        AgentDeclared(orchestrator("o")),
    ],
    ids=["start", "restart", "send", "changed", "declared"],
)
def test_promise_3_a_seat_that_is_being_removed_takes_no_order_that_would_be_lost_with_it(
    step: str, order: OperatorEvent
) -> None:
    story = at(step)
    assert story.tell(AgentWithdrawn("o")) is None
    assert story.agent.removing
    seats, agents = story.fleet.seats, dict(story.fleet.agents)
    refusal = story.tell(order)
    assert refusal is not None
    assert refusal.code == "conflict"
    assert (story.fleet.seats, dict(story.fleet.agents)) == (seats, agents)


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_what_is_sent_meanwhile_waits_for_the_holder_of_afterwards(step: str) -> None:
    story = at(step)
    assert story.tell(SendRequested("o", "m1", "mind the tests")) is None
    assert not [one for one in story.of(Deliver) if one.message_id == "m1"]
    assert [one.message_id for one in story.handoff.letters] == ["m1"]


def test_what_was_sent_meanwhile_reaches_the_successor() -> None:
    story = at("await_ack")
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.ack()
    story.exits("o", None, 15)
    assert [one.agent for one in story.of(Deliver) if one.message_id == "m1"] == ["o-g2"]
    assert story.handoff.letters == ()


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_a_restart_waits_for_the_end(step: str) -> None:
    story = at(step)
    run = story.agent.run
    assert story.tell(RestartRequested("o")) is None
    assert story.agent.run is not None
    assert run is not None
    assert story.agent.run.run_id == run.run_id
    assert story.seat.restart is not None


def test_a_start_does_not_bring_the_predecessor_back() -> None:
    story = at("await_ack")
    story.exits("o", None, 9)
    assert story.tell(StartRequested("o")) is None
    story.wait(5)
    assert isinstance(story.fleet.agents["o"].state, Stopped)


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_e80_an_operators_rollback_leaves_the_predecessor_as_it_was(step: str) -> None:
    story = at(step)
    assert story.tell(RollbackRequested("o")) is None
    if (new := story.find("o-g2")) is not None and new.run is not None:
        story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert list(story.fleet.agents) == ["o"]
    assert isinstance(story.fleet.agents["o"].state, Running)


def test_after_the_fence_no_way_leads_back() -> None:
    refusal = at("shutdown").tell(RollbackRequested("o"))
    assert refusal is not None
    assert refusal.code == "conflict"


def removed_in_shutdown() -> HandoffStory:
    """The holder of a removed seat is gone before its predecessor, whose end takes longer."""
    story = at("shutdown")
    assert story.tell(AgentWithdrawn("o")) is None
    story.exits("o-g2", None, 15)
    assert list(story.fleet.agents) == ["o"]
    assert not story.fleet.seats
    return story


def test_a_generation_whose_seat_was_removed_stays_fenced_until_it_has_ended() -> None:
    story = removed_in_shutdown()
    assert "was removed" in finding.why_fenced(story.fleet, story.fleet.agents["o"])


def test_a_daemon_that_starts_gives_no_seat_to_a_generation_that_is_being_removed() -> None:
    story = removed_in_shutdown()
    story.fleet = finding.seated(story.fleet)
    assert not story.fleet.seats
    assert finding.why_fenced(story.fleet, story.fleet.agents["o"])


def resident() -> AgentSpec:
    """The seat's agent, declared as one that has none."""
    return replace(orchestrator("o"), kind=Kind.RESIDENT)


def called_off(story: HandoffStory) -> HandoffStory:
    """An operator calls the handoff off, and nothing of a successor is left."""
    assert story.tell(RollbackRequested("o")) is None
    if (new := story.find("o-g2")) is not None and new.run is not None:
        story.exits("o-g2", None, 15)
    return story


def all_arrives(story: HandoffStory) -> HandoffStory:
    """Each text that is typed into the holder arrives."""
    for _ in range(10):
        if (letter := story.handoff.posted) is None:
            return story
        story.hook_of("o", "prompt-submit", text=letter.text)
        story.tell(Delivered("o", story.handoff.posted_run, letter.message_id, "prompt"))
        if "o" in story.fleet.seats:
            story.hook_of("o", "stop")
        else:
            return story
    raise AssertionError(f"{story.handoff.letters} wait still")


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_a_declaration_that_waited_for_a_handoff_gives_the_seat_the_project_that_it_names(step: str) -> None:
    story = at(step)
    story.tell(AgentDeclared(orchestrator("o", project="shop")))
    assert story.seat.project == "o", "the handoff that goes on is of the project that it began with"

    called_off(story)

    assert (story.agent.spec.project, story.seat.project) == ("shop", "shop")


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_a_project_that_a_seat_is_to_lead_after_its_handoff_is_given_to_no_other_seat_meanwhile(step: str) -> None:
    story = at(step)
    assert story.tell(AgentDeclared(orchestrator("o", project="api"))) is None

    refusal = story.tell(AgentDeclared(orchestrator("x", project="api")))

    assert refusal is not None
    assert refusal.message.startswith("o is to lead the project api in /srv/shop after its handoff, ")
    called_off(story)
    assert {name: seat.project for name, seat in story.fleet.seats.items()} == {"o": "api"}


def test_a_declaration_that_waited_for_a_handoff_ends_the_wait_for_an_outage_that_is_none_of_its_own_then() -> None:
    team = orchestrator("o", account="team")
    story = HandoffStory(team).awaiting()
    hit = replace(story.fleet.agents["o"], outage=Outage("account team", story.wall))
    story.fleet = replace(story.fleet, agents=story.fleet.roster.taking(hit))
    story.tell(AgentDeclared(replace(team, account="own")))

    called_off(story)

    assert (story.agent.spec.account, story.agent.outage) == ("own", None)


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_what_is_declared_as_another_kind_gives_its_seat_up_when_its_handoff_is_over_and_every_text_arrived(
    step: str,
) -> None:
    story = at(step)
    story.tell(SendRequested("o", "m1", "mind the tests"))
    assert story.tell(AgentDeclared(resident())) is None
    assert (story.agent.spec.kind, story.step.value) == (Kind.ORCHESTRATOR, step)
    assert finding.declared(story.fleet)["o"].kind is Kind.RESIDENT

    called_off(story)
    if not story.of(Deliver) or story.handoff.posted is None:
        story.hook_of("o", "stop")
    all_arrives(story)

    assert [one.agent for one in story.of(Deliver) if one.message_id == "m1"] == ["o"]
    assert (story.fleet.agents["o"].spec.kind, story.fleet.agents["o"].spec.seat) == (Kind.RESIDENT, "")
    assert not story.fleet.seats


def test_the_project_of_what_is_no_orchestrator_any_more_can_be_led_by_another_while_a_text_waits_for_it() -> None:
    story = at("await_ack")
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.tell(AgentDeclared(resident()))
    called_off(story)
    story.stop()
    story.exits("o", None, 15)
    assert story.handoff.letters, "the text waits until it runs again"

    assert story.tell(AgentDeclared(orchestrator("x", project="o"))) is None

    assert story.fleet.seats["x"].project == "o"


def test_what_is_declared_as_another_kind_while_it_is_denied_its_tools_gets_them_back() -> None:
    story = armable()
    story.begins()
    assert denied(story) == ["begin", "finish"]
    story.tell(AgentDeclared(resident()))

    called_off(story)

    assert denied(story) == []
