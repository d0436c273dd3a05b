"""Failures of the catalogue in which a handoff meets what it did not expect (F-HO); others stand beside their rules.

F-HO-1: test_degraded_handoff. F-HO-2: test_handoff_backstop. F-HO-3, 4: test_meter. F-HO-7, 8, 20: the documents.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import CollectTask, Deliver, InterruptTurn, Kill, RecordSessions, Spawn, UpdatePapers
from phoenixd.core.agent.state import Running, Stopped, Stopping
from phoenixd.core.armed import LINK
from phoenixd.core.events.fleet import EpochBegun, Rebooted
from phoenixd.core.events.handoffs import PapersFailed
from phoenixd.core.events.orders import SendRequested, StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, RunAdopted
from phoenixd.core.events.tasks import TaskCollected, TaskRequested
from phoenixd.core.fleet import Step as Found
from phoenixd.core.handoff import checks
from phoenixd.core.handoff.checks import Check
from phoenixd.core.handoff.move import ENDING, ESCAPING, WORK_LIMIT, Order
from phoenixd.core.handoff.orders import carry_out
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import ContextRules
from phoenixd.core.seat import finding
from phoenixd.core.tasks.state import Outcome
from tests.core.handing import HandoffStory, orchestrator

MILLION = 1_000_000


def in_shutdown() -> HandoffStory:
    """The successor has acknowledged, and the predecessor is being ended."""
    story = HandoffStory().awaiting()
    assert story.ack() is None
    assert story.step is Step.SHUTDOWN
    return story


def in_update(tokens: int) -> HandoffStory:
    """The project's files are being brought up to date, and nobody answers."""
    story = HandoffStory(orchestrator(context=ContextRules(predict=False)))
    story.files = "never"
    story.works()
    story.uses(tokens)
    story.hook("stop")
    if story.seat.handoff is None:
        story.begins()
    if story.step is not Step.UPDATE:
        story.told_to_finish()
    assert story.step is Step.UPDATE, story.handoff
    return story


@pytest.mark.parametrize("how", ["hangs", "fails"])
@pytest.mark.parametrize(
    ("tokens", "ends_in"), [(100_000, Step.ROLLED_BACK), (193_999, Step.ROLLED_BACK), (194_000, Step.SNAPSHOT)]
)
def test_f_ho_5_e73_x30_an_update_is_tried_once_more_and_then_97_percent_decides(
    how: str, tokens: int, ends_in: Step
) -> None:
    story = in_update(tokens)
    for tries in (1, 2):
        assert len(story.of(UpdatePapers)) == tries
        if how == "hangs":
            story.wait(WORK_LIMIT)
        else:
            story.tell(PapersFailed("o", story.handoff.id, "the planner failed"))
    assert story.step is ends_in
    assert len(story.of(UpdatePapers)) == 2
    assert bool(story.handoff.degraded) == (ends_in is Step.SNAPSHOT)
    assert bool(story.handoff.stale) == (ends_in is Step.SNAPSHOT)


def test_f_ho_11_of_two_that_live_one_counts_and_the_fenced_one_is_ended() -> None:
    story = in_shutdown()
    old, new = story.fleet.agents["o"], story.fleet.agents["o-g2"]
    assert (old.run is not None, new.run is not None) == (True, True), "both live"
    assert "fenced" in finding.why_fenced(story.fleet, old)
    assert finding.why_fenced(story.fleet, new) == ""
    assert isinstance(old.state, Stopping)
    refusal = story.ack("o")
    assert (refusal is not None, story.seat.generation) == (True, 2)
    story.tell(SendRequested("o", "m1", "mind the tests"))
    story.exits("o", None, 15)
    assert [one.agent for one in story.of(Deliver) if one.message_id == "m1"] == ["o-g2"]


def test_f_ho_12_one_that_works_on_after_the_freeze_begins_nothing_and_is_ended_before_an_ack_counts() -> None:
    story = HandoffStory()
    story.works()
    story.tell(RunAdopted("o", 1, 100, 1000, link=LINK, armed=()))
    story.begins()
    denied = [one.answer.tools for one in armed.standing(story.agent, story.at) if one.answer.on == "tool"]
    assert denied == [("Task", "Agent")]
    refusal = story.tell(TaskRequested(story.agent.spec, "Do it.", asked_by="o"))
    assert refusal is not None
    for _ in range(10):
        story.pass_over(60)
        story.hook("tool-start", tool="Bash")
        story.hook("tool-end", tool="Bash")
    assert story.of(InterruptTurn)
    story.wait(ESCAPING)
    assert isinstance(story.agent.state, Stopping)
    assert story.find("o-g2") is None, "nobody is there whose ack could count"
    story.exits("o", None, 15)
    story.started_of("o-g2")
    assert isinstance(story.fleet.agents["o"].state, Stopped)
    assert story.ack() is None


def test_f_ho_13_one_that_ignores_its_end_is_killed_and_that_is_recorded() -> None:
    story = in_shutdown()
    assert not [one for one in story.of(Kill) if one.agent == "o"]
    story.wait(story.fleet.agents["o"].spec.stop.grace)
    assert [one.agent for one in story.of(Kill)] == ["o"]
    assert any("still alive" in one and "killing its tree" in one for one in story.reasons)
    story.exits("o", None, 9)
    assert (story.step, list(story.fleet.agents)) == (Step.DONE, ["o-g2"])


@pytest.mark.parametrize("known", [True, False])
def test_f_ho_13_one_that_cannot_be_ended_is_an_alert_with_a_remedy_until_it_is_gone(known: bool) -> None:
    story = in_shutdown()
    if not known:
        # A journal of before that deadline.
        seat = replace(story.seat, handoff=replace(story.handoff, deadline=None))
        story.fleet = replace(story.fleet, seats={"o": seat})
        story.pass_over(1)
        story.hook_of("o-g2", "tool-start", tool="Bash")
    story.wait(ENDING - 1)
    assert "handoff" not in story.alerts()
    story.wait(1)
    assert "handoff" in story.alerts()
    (alert,) = [one for one in story.agent.alerts if one.kind == "handoff"]
    assert "generation 1 cannot be ended" in alert.text
    assert "phoenixctl explain o" in alert.text
    assert story.step is Step.SHUTDOWN
    story.exits("o", None, 9)
    assert (story.step, list(story.fleet.agents)) == (Step.DONE, ["o-g2"])
    assert [one for one in story.agent.alerts if one.kind == "handoff"] == []


@pytest.mark.parametrize("what", ["time", "start", "daemon", "reboot"])
def test_f_ho_14_e51_nothing_starts_the_one_that_was_shut_down(what: str) -> None:
    story = in_shutdown()
    before = [one for one in story.of(Spawn) if one.agent == "o"]
    if what == "reboot":
        story.tell(Rebooted("another"))
    else:
        story.exits("o", None, 9)
    match what:
        case "start":
            assert story.tell(StartRequested("o")) is None
        case "daemon":
            story.tell(EpochBegun(5))
    story.wait(5000)
    assert [one for one in story.of(Spawn) if one.agent == "o"] == before
    assert list(story.fleet.agents) == ["o-g2"]
    assert finding.why_fenced(story.fleet, story.agent) == ""


def test_e50_a_daemon_that_begins_has_the_records_written_of_a_handoff_that_was_over_before() -> None:
    story = HandoffStory().awaiting()
    written = replace(story.handoff, previous_session="orchestrator-1", session="orchestrator-2")
    story.fleet = replace(story.fleet, seats={"o": replace(story.seat, handoff=written)})
    story.tell(EpochBegun(4))
    assert story.of(RecordSessions) == []
    assert story.ack() is None
    story.exits("o", None, 15)
    (once,) = story.of(RecordSessions)
    story.tell(EpochBegun(5))
    assert story.of(RecordSessions) == [once, once]


def test_f_ho_15_a_task_in_flight_is_neither_lost_nor_run_twice() -> None:
    story = HandoffStory()
    story.works()
    assert story.tell(TaskRequested(story.agent.spec, "Lay the ground.", asked_by="o")) is None
    (task,) = story.fleet.tasks.open
    worker = story.fleet.agents[task.agent]
    run = worker.run
    assert run is not None
    story.tell(AgentStarted(worker.name, run.incarnation, run.run_id, 500, 5000))
    story.hook("stop")
    assert story.begins() is None
    story.told_to_finish()
    story.started_of("o-g2")
    assert story.ack() is None
    story.exits("o", None, 15)
    assert story.step is Step.DONE

    assert [(one.id, one.runs) for one in story.fleet.tasks.open] == [(task.id, 1)]
    assert len([one for one in story.of(Spawn) if one.agent == task.agent]) == 1
    story.hook_of("o-g2", "stop")
    story.tell(AgentExited(worker.name, run.incarnation, run.run_id, 0, None))
    story.tell(TaskCollected(task.id, story.of(CollectTask)[-1].run, Outcome("done", report="/tasks/report.md")))
    told = story.of(Deliver)[-1]
    assert (told.agent, task.id in told.text) == ("o-g2", True), "the holder of then is told"
    story.tell(Delivered("o-g2", told.incarnation, told.message_id, "prompt"))
    assert ([one.state for one in story.fleet.tasks.ended], story.fleet.tasks.open) == (["done"], ())


# A window of a million.


def of_a_million(tokens: int) -> HandoffStory:
    story = HandoffStory(orchestrator(project="shop", context=ContextRules(predict=False)))
    story.works()
    story.uses(tokens, MILLION)
    return story


def test_e4_of_a_million_899_999_are_room_and_900_000_are_a_handoff() -> None:
    story = of_a_million(899_999)
    assert story.seat.handoff is None
    story.uses(900_000, MILLION)
    assert story.handoff.trigger == "meter"
    assert "90.00%" in story.handoff.why


@pytest.mark.parametrize(("tokens", "is_alert"), [(500_000, False), (500_001, True)])
def test_f_ho_17_half_of_a_million_at_the_ack_is_no_alert_and_one_token_more_is(tokens: int, is_alert: bool) -> None:
    story = of_a_million(100_000)
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    story.started_of("o-g2")
    run = story.fleet.agents["o-g2"].run
    assert run is not None
    story.ack()
    story.exits("o", None, 15)
    story.uses(tokens, MILLION)
    assert ("handoff" in story.alerts()) == is_alert


def test_x17_of_a_million_970_000_leave_no_time() -> None:
    story = of_a_million(900_000)
    text = story.of(Deliver)[-1]
    story.hook("prompt-submit", text=text.text)
    assert isinstance(story.agent.state, Running)
    story.uses(969_999, MILLION)
    assert story.of(InterruptTurn) == []
    story.wait(60)
    story.uses(970_000, MILLION)
    assert len(story.of(InterruptTurn)) == 1


@pytest.mark.parametrize(("tokens", "is_dead_end"), [(849_999, False), (850_000, True)])
def test_f_ho_1_a_refusal_means_a_full_context_by_the_share_of_a_million(tokens: int, is_dead_end: bool) -> None:
    story = of_a_million(tokens)
    story.hook("stop-failure", error="invalid_request", text="the request was refused")
    assert isinstance(story.agent.state, Stopping) == is_dead_end


# What `handoff status` makes of it.


def updates(story: HandoffStory) -> Check:
    return next(one for one in checks.checks(story.fleet, story.seat) if one.name == "updates finished")


def test_e75_updates_that_were_made_are_finished_whatever_else_was_degraded() -> None:
    story = HandoffStory()
    story.works()
    story.hook("stop", jobs=("make watch",))
    story.begins()
    text = story.of(Deliver)[-1]
    story.hook("prompt-submit", text=text.text)
    story.tell(Delivered(text.agent, text.incarnation, text.message_id, "prompt"))
    story.hook("stop", jobs=("make watch",))
    story.wait(story.agent.spec.handoff.drain)
    assert any("background tasks end with it" in one for one in story.handoff.degraded)
    assert updates(story).well is True


def test_e75_updates_that_failed_are_not_finished() -> None:
    story = in_update(194_000)
    for _ in range(2):
        story.tell(PapersFailed("o", story.handoff.id, "the predecessor's plan has two tasks 3"))
    assert (updates(story).well, updates(story).what) == (False, "the predecessor's plan has two tasks 3")


def test_e75_of_a_handoff_that_was_taken_back_no_package_is_loaded_or_written_any_more() -> None:
    story = in_update(100_000)

    def wells() -> list[bool | None]:
        found = {one.name: one.well for one in checks.checks(story.fleet, story.seat)}
        return [found["package written"], found["package loaded"]]

    assert wells() == [None, None], "that may still come"
    for _ in range(2):
        story.tell(PapersFailed("o", story.handoff.id, "the planner failed"))
    assert story.step is Step.ROLLED_BACK
    assert wells() == [False, False]


OF_THE_OLD: tuple[Order, ...] = (
    "freeze", "silence", "renew", "unfreeze", "leave", "escape", "cut", "update", "write", "resume",
)  # fmt: skip


@pytest.mark.parametrize("order", [*OF_THE_OLD, "remind"])
def test_what_a_handoff_orders_of_a_generation_that_is_gone_changes_nothing(order: Order) -> None:
    """Somebody removed it meanwhile, or an agent of an older version has its name and is none of the seat."""
    story = HandoffStory().drained()
    handoff = replace(story.handoff, said="armed")
    name = "o-g2" if order == "remind" else "o"
    stranger = replace(story.fleet.agents[name], spec=replace(story.fleet.agents[name].spec, seat=""))

    for agents in (story.fleet.roster.without(name), story.fleet.roster.taking(stranger)):
        found = Found(replace(story.fleet, agents=agents))
        assert carry_out(found, handoff, order, story.now) == found
