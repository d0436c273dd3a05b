"""How it is known that a run is dead, and what a daemon that begins and a reboot make of each."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Fence, Kill, Spawn, Terminate
from phoenixd.core.agent.state import Desired, Running, Stopped, Stopping
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import StartRequested, StopRequested
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    RunAdopted,
    RunMissing,
    ShimLost,
)
from tests.core.states import SITUATIONS
from tests.core.story import Story, claude, spec

# Dead, and how that is known.


def test_f_proc_7_an_exit_record_within_the_grace_is_the_truth() -> None:
    story = Story().runs()
    story.pass_over(60)
    story.tell(AgentVanished("a", 1))
    story.wait(4.9)
    story.exited(0)
    assert isinstance(story.state, Stopped)


def test_f_proc_7_a_late_word_of_the_start_does_not_call_back_the_dead() -> None:
    story = Story().runs()
    story.tell(AgentVanished("a", 1))
    story.started()
    story.wait(5)
    assert story.of(Fence)


def test_the_word_of_the_start_said_twice_is_no_evidence() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.started()
    story.wait(300)
    assert isinstance(story.state, Stopping)


def test_f_proc_6_a_lost_shim_means_fence_then_restart() -> None:
    story = Story().runs()
    story.tell(ShimLost("a", 1))
    assert story.of(Fence) == [Fence("a", 1, story.run.run_id, 100, 1000)]
    assert not story.of(Kill)
    story.tree_gone()
    story.respawned()


def test_a_shim_lost_during_a_stop_is_fenced_at_once() -> None:
    story = Story().runs()
    story.stop()
    story.tell(ShimLost("a", 1))
    assert len(story.of(Fence)) == 1
    story.tree_gone()
    assert isinstance(story.state, Stopped)


# Recovery at daemon start.


def test_f_sy_1_a_living_run_is_adopted_and_nothing_is_started() -> None:
    story = Story(claude()).works()
    story.pass_over(890)
    story.tell(RunAdopted("a", 1, 100, 1000))
    # Evidence of the time before may be lost: one free interval.
    story.wait(899)
    assert isinstance(story.state, Running)
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("unwatched", [45.0, 0.0])
def test_p53_exit_zero_is_an_end_on_purpose_where_the_run_lived_on_while_no_daemon_did(unwatched: float) -> None:
    """Supervised time stands still meanwhile: by it the run would be one that failed at its start."""
    story = Story().runs()
    story.pass_over(3)
    story.wall += unwatched
    story.tell(RunAdopted("a", 1, 100, 1000))
    story.pass_over(5)
    story.exited(0)
    assert isinstance(story.state, Stopped) == (unwatched > 0), story.agent.reason


@pytest.mark.parametrize("lived", [4.0, 45.0])
@pytest.mark.parametrize("ends", ["after its adoption", "while no daemon did"])
@pytest.mark.parametrize("clock", [3600.0, -3600.0])
def test_p53_how_long_a_run_lived_while_no_daemon_did_does_not_hang_on_a_clock_that_was_set_meanwhile(
    lived: float, ends: str, clock: float
) -> None:
    story = Story().runs()
    story.pass_over(3)
    story.wall += lived - 3 + clock
    if ends == "after its adoption":
        story.tell(RunAdopted("a", 1, 100, 1000))
    story.exited(0, lived=lived, at_wall=None if ends == "after its adoption" else story.wall)
    assert isinstance(story.state, Stopped) == (lived == 45), story.agent.reason
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.lived == lived


@pytest.mark.parametrize("moment", ["in flight", "before its first hook"])
def test_f_sy_1_a_starting_run_is_adopted(moment: str) -> None:
    story = Story(claude())
    story.start()
    if moment != "in flight":
        story.started()
        story.pass_over(29)
    story.tell(RunAdopted("a", 1, 100, 1000))
    story.wait(29)
    assert not any("no sign of life" in reason for reason in story.reasons)
    story.hook("session-start")
    assert isinstance(story.state, Running)


@pytest.mark.parametrize(("waited", "order"), [(0, Terminate), (5, Kill), (10, Kill)])
def test_f_sy_7_a_run_adopted_while_it_is_being_stopped_is_told_again(waited: float, order: type) -> None:
    story = Story().runs()
    story.stop()
    story.wait(waited)
    story.decisions.clear()
    story.tell(RunAdopted("a", 1, 100, 1000))
    assert [type(action) for action in story.actions] == [order]
    story.wait(20)
    assert story.of(Fence)


def test_f_sy_1_a_missing_run_is_fenced_before_anything_else() -> None:
    story = Story().runs()
    story.tell(RunMissing("a", 1))
    assert [type(action) for action in story.actions] == [Spawn, Fence]


def test_f_sy_5_after_a_reboot_the_desired_come_back_resume_first_and_the_stopped_do_not() -> None:
    story = Story(claude("a"), spec("b"), spec("c"))
    story.works()
    story.tell(StartRequested("b"))
    story.tell(AgentStarted("b", 1, "", 5, 50))
    story.tell(StopRequested("b"))
    story.decisions.clear()
    story.tell(Rebooted("another boot"))
    assert [(spawn.agent, spawn.mode.value, spawn.prompt.value) for spawn in story.of(Spawn)] == [
        ("a", "resume", "continue")
    ]
    assert story.agent.crashes == ()
    assert story.fleet.agents["b"].state == Stopped()
    assert story.fleet.agents["c"].desired is Desired.STOPPED


@pytest.mark.parametrize(
    ("code", "cause", "run_id", "after"),
    [
        (0, "exit", None, "stopped"),
        (1, "exit", None, "starting"),
        (0, "terminal_lost", None, "starting"),
        (0, "exit", "another", "starting"),
    ],
)
def test_p53_a_clean_end_that_only_its_record_tells_of_after_a_reboot_stays_down(
    code: int, cause: str, run_id: str | None, after: str
) -> None:
    story = Story(claude()).works()
    story.pass_over(60)
    run = story.agent.run
    assert run is not None
    end = AgentExited("a", run.incarnation, run_id or run.run_id, code, None, cause)
    story.tell(Rebooted("another boot", (end,)))
    assert story.agent.state.name == after
    assert story.agent.crashes == ()


def test_f_sy_5_a_reboot_is_no_fence_and_blames_nobody() -> None:
    story = Story(claude()).works()
    for boot in range(20):
        story.pass_over(1)
        story.tell(Rebooted(f"boot {boot}"))
        assert story.spawn.mode.value == "resume"
        story.works()
    assert not story.of(Fence)


@pytest.mark.parametrize("situation", ["backing_off", "stopped", "quarantined"])
def test_a_reboot_leaves_what_did_not_run_as_it_was(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    before = story.fleet
    story.tell(Rebooted("other"))
    assert story.fleet == before
