"""The handoff of a seat: its steps, its deadlines, deaths and orders meanwhile, and what begins one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Alert, Deliver, InterruptTurn, Spawn, UpdatePapers, WritePackage
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import Desired, Running, Starting, Stopped, Stopping
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.declarations import declared
from phoenixd.core.events.evidence import ScreenSeen, UsageSeen
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, Rebooted
from phoenixd.core.events.handoffs import PackageFailed, PapersFailed, PapersUpdated
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
from phoenixd.core.events.runs import AgentStarted, Delivered, NotDelivered, ShimLost, StartFailed
from phoenixd.core.events.tasks import TaskRequested
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.fleet import Step as Found
from phoenixd.core.handoff import letters, machine, orders, verdict
from phoenixd.core.handoff.move import ESCAPING
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.meter.reading import WORDING
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding, succession
from phoenixd.core.spec import ContextRules, Kind
from tests.core.handing import FACTS, HASH, OPENING, WORD, HandoffStory, orchestrator
from tests.core.story import spec

STEPS_BEFORE_FENCE = ("freeze", "drain", "update", "snapshot", "spawn", "await_ack")


def at(step: str) -> HandoffStory:
    """A handoff that has come to this step."""
    story = HandoffStory()
    match step:
        case "freeze":
            story.works()
            story.hook("stop")
            story.begins()
        case "drain":
            story.works()
            story.begins()
            text = story.of(Deliver)[-1]
            story.tell(NotDelivered("o", 1, text.message_id, "the terminal is busy"))
        case "update" | "snapshot":
            story.works()
            story.hook("stop")
            story.files = "never"
            story.begins()
            story.told_to_finish()
            if step == "snapshot":
                story.tell(PapersUpdated("o", story.handoff.id))
        case "spawn":
            story.drained()
        case "await_ack":
            story.awaiting()
        case "shutdown":
            story.awaiting()
            assert story.ack() is None
        case _:
            raise ValueError(step)
    assert story.step.value == step, story.handoff
    return story


def run_of(story: HandoffStory, name: str = "o-g2") -> Run:
    run = story.fleet.agents[name].run
    assert run is not None
    return run


def test_e25_e89_e92_a_handoff_goes_through_its_steps_in_order_and_tells_how_long_each_took() -> None:
    story = HandoffStory().awaiting()
    assert story.seat.generation == 1
    story.pass_over(7)
    assert story.ack() is None
    assert story.seat.generation == 2
    assert story.seat.fenced == 1
    assert story.step is Step.SHUTDOWN
    story.exits("o", None, 15)
    assert story.step is Step.DONE
    assert list(story.fleet.agents) == ["o-g2"]
    steps = [one.step.value for one in story.handoff.times]
    assert steps == [*STEPS_BEFORE_FENCE, "fence", "shutdown"]
    assert {one.step.value: one.took for one in story.handoff.times}["await_ack"] == 7
    assert story.agent.desired is Desired.RUNNING


def test_e53_e43_x28_the_successor_is_fresh_and_is_told_where_its_package_lies() -> None:
    story = HandoffStory().drained()
    spawn = story.of(Spawn)[-1]
    assert (spawn.agent, spawn.mode.value, spawn.prompt.value) == ("o-g2", "fresh", "goal")
    assert story.fleet.agents["o-g2"].spec.opening == OPENING
    story.started_of("o-g2")
    story.ack()
    story.exits("o", None, 15)
    assert story.agent.spec.opening == ""
    assert story.agent.spec.prompt == "Build the shop."


def test_the_word_and_the_prompt_are_forgotten_once_the_handoff_is_over() -> None:
    story = HandoffStory().awaiting()
    story.ack()
    story.exits("o", None, 15)
    assert (story.handoff.word, story.handoff.facts, story.handoff.opening) == ("", (), "")


def test_x17_an_open_turn_is_waited_for_until_the_drain_is_over_and_then_cut() -> None:
    story = at("drain")
    story.wait(599)
    assert story.of(InterruptTurn) == []
    story.wait(2)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    assert isinstance(story.fleet.agents["o"].state, Running)
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)
    story.exits("o", None, 15)
    assert story.step is Step.SPAWN
    assert any("cut off" in one for one in story.handoff.degraded)
    assert isinstance(story.fleet.agents["o"].state, Stopped)


def test_x17_at_the_hard_limit_nothing_is_waited_for() -> None:
    story = at("drain")
    story.uses(194_000)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def broken_off() -> HandoffStory:
    """The drain is over, and Escape is pressed on the predecessor's turn."""
    story = at("drain")
    story.wait(600)
    assert story.of(InterruptTurn) == [InterruptTurn("o", 1)]
    return story


@pytest.mark.parametrize("evidence", ["its screen", "its hook"])
def test_x17_a_turn_that_escape_ends_leaves_the_predecessor_as_it_is_and_the_package_degraded(evidence: str) -> None:
    story = broken_off()
    # The call that Escape ends may tell so before the screen is read.
    story.hook("tool-failure", tool="Bash")
    if evidence == "its screen":
        story.tell(ScreenSeen("o", 1, "idle", "escape"))
    else:
        story.hook("stop")
    assert story.step is Step.SPAWN
    assert story.handoff.degraded == ("its turn was cut off after 10 min",)
    assert isinstance(story.fleet.agents["o"].state, Running)
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert [one.mode.value for one in story.of(Spawn) if one.agent == "o"] == ["fresh"], "it was never ended"


def test_x17_escape_is_pressed_once_whatever_the_screen_shows() -> None:
    story = broken_off()
    for shown in ("working", "unknown"):
        story.hook("tool-start", tool="Bash")
        story.tell(ScreenSeen("o", 1, shown, "escape"))
    story.wait(ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)
    assert len(story.of(InterruptTurn)) == 1


def test_x17_ended_by_force_a_rollback_resumes_it_by_its_id() -> None:
    story = broken_off()
    session = run_of(story, "o").session_id
    story.wait(ESCAPING)
    story.exits("o", None, 15)
    story.tell(RollbackRequested("o"))
    story.exits("o-g2", None, 15)
    story.wait(5)
    spawn = story.of(Spawn)[-1]
    assert (spawn.agent, spawn.mode.value, spawn.session_id) == ("o", "resume", session)


def test_x17_what_escape_opened_a_person_is_asked_about_and_nothing_is_ended_meanwhile() -> None:
    story = broken_off()
    story.screen = "dialog"
    story.tell(ScreenSeen("o", 1, "dialog", "escape"))
    assert "asks a person" in story.handoff.held
    story.wait(5000)
    assert isinstance(story.fleet.agents["o"].state, Running)


def test_x17_a_program_to_which_escape_means_nothing_is_ended_at_once() -> None:
    story = HandoffStory(spec("o", kind=Kind.ORCHESTRATOR, prompt="Build the shop."))
    story.works()
    story.begins()
    story.tell(NotDelivered("o", 1, story.of(Deliver)[-1].message_id, "the terminal is busy"))
    story.wait(600)
    assert story.of(InterruptTurn) == []
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def test_background_tasks_are_waited_for_within_the_drain_and_named_where_they_end_with_it() -> None:
    story = at("drain")
    story.hook("stop", jobs=("npm run build",))
    assert story.step is Step.DRAIN
    story.wait(601)
    assert story.step is Step.SPAWN
    assert any("npm run build" in one for one in story.handoff.degraded)


def test_deadlines_stand_still_while_a_person_is_asked() -> None:
    story = at("drain")
    story.hook("permission-request", tool="Bash", text="make deploy")
    assert "asks a person" in story.handoff.held
    story.wait(5000)
    assert story.step is Step.DRAIN
    story.hook("tool-end", tool="Bash")
    assert story.handoff.held == ""
    story.wait(599)
    assert story.step is Step.DRAIN
    story.wait(2 + ESCAPING)
    assert isinstance(story.fleet.agents["o"].state, Stopping)


def test_deadlines_stand_still_while_the_successor_asks_a_person() -> None:
    story = at("await_ack")
    story.hook_of("o-g2", "permission-request", tool="Bash", text="phoenixctl handoff ack")
    story.wait(5000)
    assert story.step is Step.AWAIT_ACK
    story.hook_of("o-g2", "tool-end", tool="Bash")
    assert story.ack() is None


def test_f_ho_9_a_successor_that_cannot_start_is_told_as_that_with_what_is_in_its_way() -> None:
    story = HandoffStory().drained()
    for _ in range(2):
        run = story.fleet.agents["o-g2"].run
        assert run is not None
        story.tell(StartFailed("o-g2", run.incarnation, 1, "/work/o is not there", obstacle="no directory"))

    assert story.step is Step.ROLLED_BACK
    assert story.handoff.why_back == "generation 2 did not start: /work/o is not there, and 2 tries are all"


def test_f_ho_9_a_successor_that_never_confirms_is_ended_one_more_is_tried_then_it_is_rolled_back() -> None:
    story = at("await_ack")
    story.wait(301)
    assert isinstance(story.fleet.agents["o-g2"].state, Stopping)
    assert story.step is Step.SPAWN
    first = story.fleet.agents["o-g2"].incarnation
    story.exits("o-g2", None, 15)
    assert story.handoff.tries == 2
    again = story.fleet.agents["o-g2"]
    assert isinstance(again.state, Starting)
    assert again.incarnation > first
    story.started_of("o-g2")
    story.wait(301)
    assert story.step is Step.ROLLBACK
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    assert list(story.fleet.agents) == ["o"]
    assert story.seat.generation == 1
    assert "handoff" in story.alerts()
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "the predecessor is told to go on"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"package": "00" * 32}, "package hash"),
        ({"package": ""}, "package hash"),
        ({"word": "stork"}, "word"),
        ({"word": ""}, "word"),
        ({"facts": ()}, "does not say phase"),
        ({"facts": FACTS[:1]}, "does not say step"),
        ({"facts": (("phase", "phase-01-plan"), ("step", "3"))}, "phase is not what stands there"),
    ],
)
def test_f_ho_10_e46_e48_e74_an_ack_that_proves_nothing_is_refused_with_the_reason(
    changes: dict[str, Any], why: str
) -> None:
    story = at("await_ack")
    refusal = story.ack(**changes)
    assert refusal is not None
    assert refusal.code == "conflict"
    assert why in refusal.message
    assert story.step is Step.AWAIT_ACK
    assert story.seat.generation == 1


@pytest.mark.parametrize("step", [*STEPS_BEFORE_FENCE, "shutdown"])
def test_x13_an_ack_of_the_generation_that_holds_the_seat_is_refused(step: str) -> None:
    story = at(step)
    generation = story.seat.generation
    refusal = story.ack(story.seat.holder)
    assert refusal is not None
    assert story.seat.generation == generation


def test_e47_an_ack_at_the_end_of_an_answer_counts_as_well() -> None:
    story = at("await_ack")
    told = f'{{"package": "{HASH}", "word": "{WORD}", "phase": "phase-02-api", "step": 3}}'
    story.hook_of("o-g2", "stop", text=f"I have read all of it.\nHANDOFF-ACK {told}")
    assert story.seat.generation == 2


def test_an_answer_that_quotes_an_ack_in_its_middle_is_none() -> None:
    assert verdict.in_last_words('HANDOFF-ACK {"package": "x"}\nthat is what I would say') is None
    assert verdict.in_last_words("HANDOFF-ACK {broken") is None
    assert verdict.in_last_words('```\nHANDOFF-ACK {"package": "x", "word": "y"}\n```') == ("x", "y", ())


def test_of_an_ack_names_of_up_to_100_characters_are_read() -> None:
    said: dict[str, object] = {"n" * 100: "read", "n" * 101: "too long", "word": "y"}
    assert verdict.read(said) == ("", "y", (("n" * 100, "read"),))


def test_f_ho_8_a_package_that_was_changed_is_written_again_before_an_ack_counts() -> None:
    story = at("await_ack")
    story.files = "never"
    refusal = story.ack(changed=True, package="00" * 32)
    assert refusal is not None
    assert "written again" in refusal.message
    assert len(story.of(WritePackage)) == 2


def test_a_successor_whose_turn_ends_without_an_ack_is_asked_once_more() -> None:
    """It may have asked while no daemon lived."""
    story = at("await_ack")
    for _ in range(2):
        story.hook_of("o-g2", "stop", text="I have read it.")
    (asked,) = [one for one in story.of(Deliver) if "-ack-" in one.message_id]
    assert (asked.agent, asked.until) == ("o-g2", story.at + 60), "there is time to type it"
    assert story.ack() is None


def test_f_ho_6_a_word_to_finish_that_died_with_the_daemon_is_not_waited_for() -> None:
    story = at("freeze")
    story.tell(EpochBegun(5))
    assert story.step is Step.SPAWN


def test_f_ho_16_e29_a_second_request_joins_the_first() -> None:
    story = at("drain")
    refusal = story.begins()
    assert refusal is not None
    assert (refusal.code, story.handoff.id in refusal.message) == ("conflict", True)


def test_a_seat_that_is_down_is_not_handed_over() -> None:
    story = HandoffStory()
    refusal = story.begins()
    assert refusal is not None
    assert refusal.code == "conflict"


def test_an_agent_that_an_older_phoenixd_let_be_called_like_the_next_generation_is_none_and_is_kept() -> None:
    story = HandoffStory()
    story.works()
    story.hook("stop")
    stranger = declared(spec("o-g2"), story.now)
    story.fleet = replace(story.fleet, agents=story.fleet.roster.taking(stranger))
    refusal = story.begins()
    assert refusal is not None
    assert (refusal.code, refusal.remedy) == ("conflict", "phoenixctl remove o-g2")
    story.uses(180_000)
    for _ in range(3):
        story.hook("notification")
    story.wait(60)

    assert story.seat.handoff is None
    assert story.find("o-g2") is stranger
    assert len([one for one in story.of(Alert) if one.kind == "handoff"]) == 1, (
        "it is told once, and goes round nowhere"
    )
    with pytest.raises(ValueError, match="o-g2"):
        succession.declare_successor(story.fleet, "o", story.now)


def test_an_agent_that_is_called_like_the_next_generation_is_not_taken_for_the_successor() -> None:
    story = at("drain")
    found = Found(replace(story.fleet, agents=story.fleet.roster.taking(declared(spec("o-g2"), story.now))))

    assert orders.new_of(found, story.handoff) is None
    assert orders.old_of(found, story.handoff) is found.fleet.agents["o"]


# Deaths.


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


def test_a_reboot_after_the_fence_leaves_the_successor_alone() -> None:
    story = at("shutdown")
    story.tell(Rebooted("another"))
    story.wait(10)
    assert list(story.fleet.agents) == ["o-g2"]
    assert story.step is Step.DONE
    assert story.of(Spawn)[-1].agent == "o-g2"


# Orders.


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


# Work on files.


def test_e73_an_update_that_fails_twice_rolls_back_where_there_is_time() -> None:
    story = at("update")
    story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.UPDATE
    assert len(story.of(UpdatePapers)) == 2
    story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.ROLLED_BACK


def test_x30_at_the_hard_limit_it_goes_on_degraded() -> None:
    story = at("update")
    story.uses(194_001)
    for _ in range(2):
        story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe"))
    assert story.step is Step.SNAPSHOT
    assert "plan.md is a pipe" in story.handoff.degraded


def test_f_ho_13_the_alert_of_a_project_that_is_gone_says_what_the_next_handoff_needs() -> None:
    """To begin it again alone must fail alike."""
    story, anew = at("update"), "phoenixctl phase init --standard --project o --workspace /srv/shop"
    story.tell(PapersFailed("o", story.handoff.id, "it is gone", final=True, remedy=anew))
    assert story.step is Step.ROLLED_BACK
    (alert,) = [one for one in story.agent.alerts if one.kind == "handoff"]
    told = f"bring that back, or begin it anew: {anew} && phoenixctl handoff start o"
    assert alert.text.endswith(f"was rolled back: it is gone. Look: phoenixctl handoff status o; {told}")

    assert story.begins() is None
    assert story.handoff.remedy == "", "another handoff knows of nothing that it needs"


def test_f_ho_20_a_project_that_is_gone_rolls_back_at_once() -> None:
    story = at("update")
    story.tell(PapersFailed("o", story.handoff.id, "there is no project shop", final=True))
    assert story.step is Step.ROLLED_BACK
    assert "handoff" in story.alerts()


def test_a_package_that_cannot_be_written_rolls_back() -> None:
    story = at("snapshot")
    for _ in range(2):
        story.tell(PackageFailed("o", story.handoff.id, "the disk is full"))
    assert story.step is Step.ROLLED_BACK


@pytest.mark.parametrize("step", ["update", "snapshot"])
def test_f_ho_6_work_that_died_with_the_daemon_is_ordered_again(step: str) -> None:
    story = at(step)
    kind = UpdatePapers if step == "update" else WritePackage
    before = len(story.of(kind))
    story.tell(EpochBegun(5))
    assert len(story.of(kind)) == before + 1


@pytest.mark.parametrize("step", ["update", "snapshot"])
def test_work_that_is_never_answered_is_given_up(step: str) -> None:
    story = at(step)
    story.wait(241)
    assert story.step is Step.ROLLED_BACK


# Triggers.


def no_guess(**changes: Any) -> HandoffStory:
    story = HandoffStory(replace(orchestrator(), context=ContextRules(predict=False), **changes))
    story.works()
    return story


def test_e4_e19_at_179_999_nothing_at_180_000_the_handoff_begins() -> None:
    story = no_guess()
    story.uses(179_999)
    assert story.seat.handoff is None
    story.uses(180_000)
    assert story.handoff.trigger == "meter"


def test_f_ho_17_ten_minutes_lie_between_two_that_begin_by_themselves_except_at_the_hard_limit() -> None:
    story = no_guess()
    story.uses(180_000)
    story.comes_to_nothing()
    assert story.step is Step.ROLLED_BACK
    first = story.handoff.id
    story.uses(181_000)
    story.wait(598)
    assert story.handoff.id == first
    story.wait(3)
    assert story.handoff.id != first
    second = story.handoff.id
    story.comes_to_nothing()
    assert (story.handoff.id, story.handoff.rollbacks) == (second, 2)
    story.uses(195_000)
    assert story.handoff.id == second, "after two in a row a person has to ask"
    assert story.begins() is None


def test_f_ho_17_the_hard_limit_waits_for_no_spacing_but_for_that_after_a_rollback() -> None:
    story = no_guess()
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    story.ack()
    story.exits("o", None, 15)
    first = story.handoff.id
    story.uses(181_000)
    assert story.handoff.id == first
    story.uses(194_000)
    second = story.handoff.id
    assert second != first
    story.tell(RollbackRequested("o"))
    story.uses(195_000)
    assert story.handoff.id == second


def test_f_ho_17_a_successor_that_was_full_at_its_ack_is_not_handed_over_again_at_once() -> None:
    """Where the window is read too small, or the papers fill it, one handoff would follow the other for ever."""
    story = no_guess()
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    story.ack()
    story.exits("o", None, 15)
    first = story.handoff.id
    story.uses(198_000)
    assert (story.handoff.id, story.handoff.share) == (first, 0.99)
    story.wait(598)
    assert story.handoff.id == first
    story.wait(3)
    assert story.handoff.id != first


def test_f_ho_17_e76_a_successor_that_is_half_full_at_its_ack_is_an_alert() -> None:
    story = at("await_ack")
    story.tell(UsageSeen("o-g2", run_of(story).incarnation, 101_000, 200_000, "transcript", story.wall))
    story.ack()
    story.exits("o", None, 15)
    assert "handoff" in story.alerts()
    assert story.handoff.share == 0.505


def test_f_ho_17_a_reading_that_comes_after_the_ack_tells_how_full_it_was() -> None:
    """A CLI writes its transcript after the call by which its model acknowledges."""
    story = at("await_ack")
    story.ack()
    story.exits("o", None, 15)
    assert (story.step, story.handoff.share) == (Step.DONE, None)
    story.uses(101_000)
    assert (story.handoff.share, "handoff" in story.alerts()) == (0.505, True)
    story.uses(150_000)
    assert story.handoff.share == 0.505, "what it does afterwards is no matter of the handoff"


def test_f_ho_17_a_first_reading_long_after_the_ack_tells_nothing_of_it() -> None:
    story = at("await_ack")
    story.ack()
    story.exits("o", None, 15)
    story.wait(61)
    story.uses(101_000)
    assert (story.handoff.share, "handoff" in story.alerts()) == (None, False)


def test_f_ho_19_a_chain_of_five_keeps_its_names() -> None:
    story = HandoffStory()
    story.works()
    for number in range(2, 7):
        story.hook("stop")
        assert story.begins() is None
        story.told_to_finish()
        name = f"o-g{number}"
        story.started_of(name)
        assert story.ack(name) is None
        story.exits("o" if number == 2 else f"o-g{number - 1}", None, 15)
        assert list(story.fleet.agents) == [name]
        assert story.step is Step.DONE


@pytest.mark.parametrize(("ended", "known"), [(Step.DONE, "the second"), (Step.ROLLED_BACK, "the first")])
def test_who_leads_a_project_is_known_to_its_files_by_one_session(ended: Step, known: str) -> None:
    """Of a generation that was handed over to, the id of the handoff to it; after a rollback still the one before."""
    last = Handoff(
        "h1", "o", "shop", 1, "operator", "", 0.0, ended, 0.0, 0.0, previous_session="the first", session="the second"
    )

    begun = [machine.begin("o", "shop", 1, one, "operator", "", "you", Moment(60.0, 60.0)) for one in (None, last)]

    assert [one.previous_session for one in begun] == ["", known]


@pytest.mark.parametrize("code", [100, 101])
def test_e88_an_orchestrator_that_asks_to_be_recycled_is_handed_over(code: int) -> None:
    story = HandoffStory(orchestrator(project="shop"))
    story.works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(700)
    story.exits("o", code)
    assert (story.handoff.trigger, story.handoff.degraded) == ("recycle", ())
    story.started_of("o-g2")
    assert story.ack() is None
    assert list(story.fleet.agents) == ["o-g2"]


def test_f_ho_21_recycles_one_after_the_other_are_no_handoffs() -> None:
    story = HandoffStory(orchestrator(project="shop"))
    story.works()
    story.pass_over(700)
    story.exits("o", 100)
    story.started_of("o-g2")
    story.ack()
    story.pass_over(30)
    story.exits("o-g2", 100)
    assert story.step is Step.DONE
    story.respawned()
    assert story.of(Spawn)[-1].agent == "o-g2"


def test_e20_no_task_begins_once_a_handoff_was_triggered() -> None:
    story = at("drain")
    refusal = story.tell(TaskRequested(spec("worker"), "Do it.", asked_by="o"))
    assert refusal is not None
    assert (refusal.code, "begins nothing new" in refusal.message) == ("conflict", True)
    assert not story.fleet.tasks.open


# What a predecessor may do meanwhile.


def denied(story: HandoffStory) -> list[str]:
    """What stands armed for the predecessor: begin, finish, rest."""
    return [one.answer.id.rsplit("-", 1)[1] for one in armed.standing(story.fleet.agents["o"], story.at)]


def armed_at_ack() -> HandoffStory:
    """A predecessor whose shim takes armed answers has handed its work over, and is denied every tool."""
    story = HandoffStory()
    story.start()
    story.tell(AgentStarted("o", 1, story.run.run_id, 100, 1000, link=2))
    story.hook("session-start", session_id=story.run.session_id, source="startup")
    story.hook("prompt-submit", text="Build the shop.")
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    assert denied(story) == ["begin", "rest"]
    return story


def test_a_stop_after_the_run_gives_the_handoff_up_and_leaves_the_predecessor_its_tools() -> None:
    story = armed_at_ack()
    assert story.tell(StopRequested("o", after_iteration=True)) is None
    assert denied(story) == []
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "it is told to go on"
    story.exits("o-g2", None, 15)
    assert story.step.value == "rolled_back"
    assert isinstance(story.fleet.agents["o"].state, Running)
    assert len([one for one in story.of(Deliver) if one.message_id.endswith("-off")]) == 1
    story.uses(194_000)
    story.wait(5000)
    assert story.step.value == "rolled_back", "a seat that is to stop is not handed over by itself"


def test_a_stop_at_once_leaves_the_predecessor_denied_until_it_has_ended() -> None:
    story = armed_at_ack()
    assert story.tell(StopRequested("o")) is None
    assert denied(story) == ["begin", "rest"]


def test_a_rollback_gives_the_predecessor_its_tools_back_although_the_successor_cannot_be_ended() -> None:
    story = armed_at_ack()
    assert story.tell(RollbackRequested("o")) is None
    assert denied(story) == []
    assert story.of(Deliver)[-1].message_id.endswith("-off")
    assert story.step.value == "rollback"
    story.wait(299)
    assert "handoff" not in story.alerts()
    story.wait(2)
    assert [one.agent for one in story.of(Alert) if one.kind == "handoff"] == ["o"]
    story.exits("o-g2", None, 15)
    assert story.step.value == "rolled_back"
    assert len([one for one in story.of(Deliver) if one.message_id.endswith("-off")]) == 1


def test_a_successor_of_the_last_try_that_cannot_be_ended_rolls_back() -> None:
    story = armed_at_ack()
    story.wait(301)
    assert story.step.value == "spawn"
    story.wait(301)
    assert story.step.value == "rollback"
    assert denied(story) == []
    story.wait(301)
    assert "handoff" in story.alerts()


@pytest.mark.parametrize("step", ["spawn", "await_ack"])
def test_f_ho_9_a_successor_that_is_being_ended_and_cannot_be_is_waited_for_no_longer_than_one_that_is_silent(
    step: str,
) -> None:
    """Its shim is lost, and what is left of its run is never known gone."""
    story = at(step)
    story.tell(ShimLost("o-g2", run_of(story).incarnation))
    assert isinstance(story.fleet.agents["o-g2"].state, Stopping)
    assert story.step.value == step
    story.wait(301)
    assert (story.step.value, story.handoff.made) == ("spawn", False)
    story.wait(301)
    assert story.step.value == "rollback"
    assert story.of(Deliver)[-1].message_id.endswith("-off"), "the predecessor goes on meanwhile"
    story.wait(301)
    assert "handoff" in story.alerts()


def test_the_predecessor_is_denied_its_tools_for_as_long_as_the_handoff_goes_on() -> None:
    story = armed_at_ack()
    story.hook_of("o-g2", "permission-request", tool="Bash", text="phoenixctl handoff ack")
    for _ in range(3):
        story.wait(20 * 3600)
        assert story.step.value == "await_ack"
        assert denied(story) == ["begin", "rest"]
    story.tell(RollbackRequested("o"))
    assert denied(story) == []


def test_a_package_that_is_changed_again_and_again_does_not_put_the_deadline_off_for_ever() -> None:
    story = at("await_ack")
    for _ in range(30):
        story.pass_over(100)
        refusal = story.ack(changed=True, package="00" * 32)
        assert refusal is not None
        story.wait(0)
    assert story.step.value != "await_ack"
    assert len(story.of(WritePackage)) == 1 + 2, "it is written again twice in a try"


def test_a_changed_package_that_cannot_be_written_again_is_told() -> None:
    story = at("await_ack")
    story.files = "never"
    story.ack(changed=True, package="00" * 32)
    story.tell(PackageFailed("o", story.handoff.id, "the disk is full"))
    assert story.step.value == "await_ack"
    assert any("the disk is full" in one for one in story.reasons)
    story.tell(PackageFailed("o", story.handoff.id, "there is no project shop", final=True))
    assert story.step.value == "rollback"


# A seat that is removed.


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


# Texts that were sent meanwhile.


def typed(story: HandoffStory) -> list[str]:
    return [one.message_id for one in story.of(Deliver) if one.message_id.startswith("m")]


def letters_under_way() -> HandoffStory:
    story = at("await_ack")
    for name in ("m1", "m2"):
        story.tell(SendRequested("o", name, f"text {name}"))
    story.ack()
    story.exits("o", None, 15)
    return story


def test_a_text_that_is_sent_again_with_its_key_waits_once() -> None:
    story = at("await_ack")
    for _ in range(2):
        assert story.tell(SendRequested("o", "m1", "mind the tests")) is None
    assert [one.message_id for one in story.handoff.letters] == ["m1"]


def test_texts_are_typed_one_after_the_other_as_each_arrives() -> None:
    story = letters_under_way()
    assert typed(story) == ["m1"]
    story.tell(Delivered("o-g2", run_of(story).incarnation, "m1", "prompt"))
    assert typed(story) == ["m1", "m2"]
    story.tell(Delivered("o-g2", run_of(story).incarnation, "m2", "prompt"))
    assert (story.handoff.letters, story.handoff.posted) == ((), None)


def test_a_text_that_did_not_arrive_is_tried_again_when_the_holder_rests_and_is_told_when_it_is_given_up() -> None:
    story = letters_under_way()
    for tries in (1, 2, 3):
        assert typed(story) == ["m1"] * tries
        story.tell(NotDelivered("o-g2", run_of(story).incarnation, "m1", "the terminal is busy"))
        if tries < 3:
            assert typed(story) == ["m1"] * tries
            story.hook_of("o-g2", "stop")
    assert typed(story) == ["m1", "m1", "m1", "m2"]
    assert any("did not arrive" in one.text for one in story.of(Alert))


def test_a_text_that_did_not_arrive_at_one_who_tells_of_no_turns_is_tried_again_in_time_and_then_told() -> None:
    story = HandoffStory(spec("o", kind=Kind.ORCHESTRATOR))
    story.runs()
    story.begins()
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.tell(RollbackRequested("o", "operator"))
    story.exits("o-g2", None, 15)
    assert story.step is Step.ROLLED_BACK
    for tries in (1, 2, 3):
        assert typed(story) == ["m1"] * tries
        story.tell(NotDelivered("o", 1, "m1", "the terminal is busy"))
        story.wait(letters.AGAIN)
    story.wait(3600)
    assert typed(story) == ["m1"] * 3
    assert "did not arrive in 3 tries" in story.of(Alert)[-1].text


def test_a_text_that_is_given_up_is_told_beside_the_rollback_and_each_text_by_itself() -> None:
    story = at("await_ack")
    for name in ("m1", "m2"):
        story.tell(SendRequested("o", name, f"text {name}"))
    for _ in range(3):
        if story.find("o-g2") is not None and story.fleet.agents["o-g2"].run is not None:
            story.exits("o-g2", 1)
        story.wait(600)
    assert story.step is Step.ROLLED_BACK
    assert ["was rolled back" in one.text for one in story.agent.alerts] == [True]
    story.tell(Delivered("o", 1, story.of(Deliver)[-1].message_id, "prompt"))
    for order in ("m1", "m1", "m1", "m2", "m2", "m2"):
        assert typed(story)[-1] == order
        story.tell(NotDelivered("o", run_of(story, "o").incarnation, order, "the terminal is busy"))
        story.wait(letters.AGAIN)
    assert [one.kind for one in story.of(Alert) if "did not arrive" in one.text] == ["handoff"] * 2
    assert [one.kind for one in story.agent.alerts] == ["handoff"] * 3
    story.begins()
    assert story.agent.alerts == ()


def test_a_text_whose_daemon_was_killed_while_it_was_typed_is_not_lost() -> None:
    story = letters_under_way()
    story.tell(EpochBegun(5))
    assert typed(story) == ["m1", "m1"]


def test_a_text_whose_run_ended_while_it_was_typed_goes_to_the_next_one() -> None:
    story = letters_under_way()
    story.exits("o-g2", None, 9)
    story.respawned()
    story.started_of("o-g2")
    assert typed(story) == ["m1", "m1"]


def test_e89_what_became_of_a_handoff_is_said_once_it_is_over_without_what_only_agents_may_know() -> None:
    story = HandoffStory().awaiting()
    story.tell(SendRequested("o", "m-1", "Mind the till."))
    assert told_over(story) == []
    story.ack()
    story.exits("o", None, 15)
    (over,) = told_over(story)
    assert (over.step, over.id, over.times) == (Step.DONE, story.handoff.id, story.handoff.times)
    assert (over.word, over.facts, over.opening, over.letters, over.posted) == ("", (), "", (), None)

    again = at("spawn")
    again.tell(RollbackRequested("o", "operator"))
    again.exits("o-g2", None, 15)
    (back,) = told_over(again)
    assert (back.step, back.why_back) == (Step.ROLLED_BACK, "asked by operator")


def told_over(story: HandoffStory) -> list[Handoff]:
    facts = [fact for decision in story.decisions for fact in decision.facts]
    return [fact.handoff for fact in facts if isinstance(fact, HandoffEnded)]


@pytest.mark.parametrize("step", ["update", "spawn"])
def test_what_a_model_took_to_word_the_papers_is_counted_whatever_became_of_it(step: str) -> None:
    story = at(step)
    before = story.step
    story.tell(PapersFailed("o", story.handoff.id, "the disk is full", tokens=700))
    story.tell(PapersUpdated("o", "of another", tokens=9))
    story.tell(PapersUpdated("o", story.handoff.id, tokens=500))
    assert story.handoff.tokens == 1200
    spent = [one.sample for one in story.decisions if one.sample is not None and one.sample.source == WORDING]
    assert [(one.agent, one.session_id, one.tokens, one.limit) for one in spent] == [
        ("o", story.handoff.id, 700, None), ("o", story.handoff.id, 500, None),
    ]  # fmt: skip
    assert before is Step.UPDATE or story.step is before


def test_what_went_otherwise_with_the_papers_stands_in_the_reason() -> None:
    story = at("update")
    story.tell(PapersUpdated("o", story.handoff.id, note="handoff.command was not heeded"))
    assert any("(handoff.command was not heeded)" in one.reason for one in story.decisions)
    assert story.step is Step.SNAPSHOT
