"""The handoff of a seat where a generation, the host or the journal dies meanwhile."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Alert, Spawn
from phoenixd.core.agent.state import Desired, Running, Starting, Stopped
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, Rebooted, TerminalSeen
from phoenixd.core.events.orders import AgentWithdrawn, RollbackRequested, StopRequested
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.handoff.state import Step
from tests.core.handing import STEPS_BEFORE_FENCE, HandoffStory, at, orchestrator, run_of


@pytest.mark.parametrize("step", STEPS_BEFORE_FENCE)
def test_the_predecessors_death_before_the_fence_leads_on_from_files_and_it_is_not_restarted(step: str) -> None:
    story = at(step)
    story.exits("o", None, 9)
    story.wait(5)
    assert isinstance(story.fleet.agents["o"].state, Stopped)
    assert any("ended before the fence" in one for one in story.handoff.degraded)
    assert [one.agent for one in story.of(Spawn)].count("o") == 1
    if step in ("update", "snapshot"):
        return
    if step != "await_ack":
        story.started_of("o-g2")
    assert story.ack() is None
    assert story.step is Step.DONE
    assert list(story.fleet.agents) == ["o-g2"]


@pytest.mark.parametrize("step", ["drain", "spawn", "await_ack"])
def test_f_ho_18_a_predecessor_that_ends_with_0_leaves_its_successor_one_that_is_to_run(step: str) -> None:
    """Of an agent without a handoff that end means that it stays down."""
    story = at(step)
    story.pass_over(60)
    story.exits("o", 0)
    assert isinstance(story.fleet.agents["o"].state, Stopped)
    if step != "await_ack":
        story.started_of("o-g2")
    assert story.ack() is None
    assert (story.step, story.agent.name) == (Step.DONE, "o-g2")
    assert story.agent.desired is Desired.RUNNING
    story.exits("o-g2", None, 9)
    story.respawned()
    assert story.of(Spawn)[-1].agent == "o-g2"


def test_a_predecessor_that_ended_with_0_goes_on_where_its_handoff_comes_to_nothing() -> None:
    story = at("await_ack")
    story.pass_over(60)
    story.exits("o", 0)
    for _ in range(2):
        story.exits("o-g2", 1)
    assert story.step is Step.ROLLED_BACK
    assert isinstance(story.fleet.agents["o"].state, Starting)


def test_promise_3_a_predecessor_that_was_to_stop_after_its_run_is_wanted_no_more() -> None:
    story = HandoffStory()
    story.works()
    story.tell(StopRequested("o", after_iteration=True))
    story.begins()
    story.pass_over(60)
    story.exits("o", 0)
    assert story.agent.desired is Desired.STOPPED


@pytest.mark.parametrize("wish", [Wish("stopped", 21), None], ids=["stopped", "not known"])
@pytest.mark.parametrize("step", ["freeze", "drain", "update", "snapshot"])
def test_promise_9_an_old_journals_handoff_starts_nothing_of_a_seat_that_is_not_to_run(
    step: str, wish: Wish | None
) -> None:
    """The journal was saved in the handoff. Since then the seat was stopped, or nobody knows whether it is to run."""
    story = at(step)
    run = run_of(story, "o")
    last = SeenRun(run.incarnation + 3, "another", boot_id="boot")
    trace = Trace("o", wish, "idle", None, last, last.incarnation)
    story.decisions.clear()
    story.tell(JournalBehind("it was put back", World("boot", 10, 25, (trace,)), (orchestrator(),)))
    story.tell(EpochBegun(26))
    story.files = "well"
    story.wait(3600)

    assert story.step is Step.ROLLED_BACK
    assert (list(story.fleet.agents), story.agent.desired) == (["o"], Desired.STOPPED)
    assert isinstance(story.agent.state, Stopped)
    assert story.of(Spawn) == []
    assert "handoff" not in story.alerts(), "nothing of it failed"


@pytest.mark.parametrize("step", ["spawn", "await_ack"])
def test_the_successors_death_before_its_ack_uses_one_try(step: str) -> None:
    story = at(step)
    if step == "spawn":
        story.tell(AgentStarted("o-g2", run_of(story).incarnation, run_of(story).run_id, 200, 2000))
    story.exits("o-g2", 1)
    assert story.handoff.tries == 2
    assert isinstance(story.fleet.agents["o-g2"].state, Starting)
    story.exits("o-g2", 1)
    assert story.step is Step.ROLLED_BACK
    assert isinstance(story.fleet.agents["o"].state, Running)


def test_f_ho_18_after_its_ack_the_successor_dies_as_any_agent_does() -> None:
    story = at("shutdown")
    story.exits("o", None, 15)
    story.exits("o-g2", None, 9)
    story.respawned()
    assert story.of(Spawn)[-1].agent == "o-g2"
    assert story.seat.generation == 2


@pytest.mark.parametrize("step", ["spawn", "await_ack"])
def test_a_reboot_before_the_fence_rolls_back_resumes_the_predecessor_and_tries_once_more(step: str) -> None:
    story = at(step)
    story.tell(Rebooted("another"))
    assert story.seat.generation == 1
    assert "o-g2" not in story.fleet.agents
    assert story.step is Step.ROLLBACK
    story.wait(5)
    assert story.of(Spawn)[-1].agent == "o"
    story.started_of("o")
    assert (story.step, story.handoff.rounds) in ((Step.FREEZE, 2), (Step.DRAIN, 2))


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("step", ["spawn", "await_ack"])
@pytest.mark.parametrize("order", [StopRequested("o"), AgentWithdrawn("o")])
def test_promise_3_a_stop_after_a_reboot_before_the_fence_is_what_ended_the_handoff_and_leaves_nothing_open(
    order: StopRequested | AgentWithdrawn, step: str, is_held: bool
) -> None:
    """It would begin once more. Nobody is told of a failure, and no Case is opened."""
    story = at(step)
    if is_held:
        story.tell(TerminalSeen(False))
    story.tell(Rebooted("another"))
    assert story.step is Step.ROLLBACK
    story.decisions.clear()
    assert story.tell(order) is None
    for agent in tuple(story.fleet.agents):
        if story.fleet.agents[agent].run is not None:
            story.exits(agent, 143)
    if isinstance(order, StopRequested):
        assert (story.step, story.handoff.is_back_by_order) == (Step.ROLLED_BACK, True)
        assert story.handoff.why_back == "both generations ended; then stopped by operator"
    story.wait(7200)
    assert [one for one in story.of(Alert) if one.kind == "handoff"] == []
    assert story.fleet.cases.cases == ()
    assert all(not agent.alerts and agent.desired is Desired.STOPPED for agent in story.fleet.agents.values())


@pytest.mark.parametrize("first", ["o", "o-g2"])
def test_promise_3_a_stop_while_a_failed_handoff_is_rolled_back_leaves_no_case_open(first: str) -> None:
    """The successor may end after the agent that was stopped: nothing of that one would ever close it."""
    story = at("await_ack")
    while story.step is not Step.ROLLBACK:
        story.wait(60)
    assert story.fleet.agents["o-g2"].run is not None
    assert story.tell(StopRequested("o")) is None
    for name in (first, *({"o", "o-g2"} - {first})):
        story.exits(name, 143)
    assert (story.step, story.agent.state_name) == (Step.ROLLED_BACK, "stopped")
    story.wait(7200)
    assert [case for case in story.fleet.cases.cases if case.closed is None] == []
    assert story.fleet.cases.patients == ()
    assert story.agent.alerts == ()


def test_a_handoff_that_would_begin_once_more_after_a_reboot_can_be_called_off() -> None:
    story = at("await_ack")
    story.tell(Rebooted("another"))
    assert story.tell(RollbackRequested("o")) is None
    story.started_of("o")
    story.hook("stop")
    assert (story.step, story.handoff.is_back_by_order) == (Step.ROLLED_BACK, True)
    assert story.agent.alerts == ()
    assert story.tell(RollbackRequested("o")) is not None


def test_a_reboot_after_the_fence_leaves_the_successor_alone() -> None:
    story = at("shutdown")
    story.tell(Rebooted("another"))
    story.wait(10)
    assert list(story.fleet.agents) == ["o-g2"]
    assert story.step is Step.DONE
    assert story.of(Spawn)[-1].agent == "o-g2"
