"""Tasks: queued, begun, judged by their workers' ends, given back, and told of (E53 to E59, E86, F-PH-5, F-PH-7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.api.history import Digest, Stretch
from phoenixd.api.pages.history import since
from phoenixd.api.pages.layout import Page
from phoenixd.core.actions import CollectTask, Deliver, Release, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Stopped
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import LimitsDeclared, Rebooted, Tick
from phoenixd.core.events.handoffs import PapersUpdated
from phoenixd.core.events.orders import AgentWithdrawn, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, NotDelivered
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.facts import RunEnded, TaskFailed
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import LimitRules, RestartPolicy
from phoenixd.core.spec import FleetLimits, Kind
from phoenixd.core.tasks import queue
from phoenixd.core.tasks.names import is_reserved, worker_name
from phoenixd.core.tasks.state import MOST_ENDED, MOST_OPEN, MOST_UNTOLD, JobRules, JudgedReport, Outcome, Task, Tasks
from phoenixd.core.tasks.worker import worker_of
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.hooks import hook_of
from phoenixd.documents.project.outcomes import of_workers
from phoenixd.ports.journal import Entry, StoredEntry
from tests.core.handing import HandoffStory, orchestrator
from tests.core.story import claude, spec
from tests.core.workers import DONE, Works, boss


def test_e53_e56_a_task_is_a_worker_of_its_own_that_begins_fresh_and_goes_when_it_is_done() -> None:
    works = Works()
    works.ask("Write the schema.", asked_by="shop", project="shop", plan="3")
    spawn = works.of(Spawn)[-1]
    worker = works.worker("t1")
    assert (worker.name, worker.spec.kind, worker.spec.prompt) == ("shop-t1", Kind.EPHEMERAL, "Write the schema.")
    assert (spawn.agent, spawn.mode, spawn.prompt) == ("shop-t1", Mode.FRESH, PromptKind.GOAL)
    assert (worker.spec.restart.policy, worker.spec.task, worker.spec.autostart) == (RestartPolicy.NEVER, "t1", False)
    assert works.states() == {"t1": "running"}

    works.ends("t1")
    assert works.states() == {"t1": "collecting"}
    assert "shop-t1" in works.fleet.agents, "its transcript is found by the agent"
    works.collected("t1")
    assert works.states() == {"t1": "done"}
    assert "shop-t1" not in works.fleet.agents
    assert Release("shop-t1") in works.actions


def test_e53_a_worker_takes_no_turns_whoever_asks_for_it() -> None:
    assert worker_of(boss("shop", turn_of="builder"), "shop-t1", "t1", "Write the schema.").turn_of is None


def test_e58_at_once_counts_the_fleet_and_the_next_one_begins_when_one_is_collected() -> None:
    works = Works(boss("shop"), boss("bank", cwd="/srv/bank"), boss("mill", cwd="/srv/mill"))
    for name in ("shop", "bank", "mill"):
        works.ask(spec=works.fleet.agents[name].spec, asked_by=name)
    assert works.states() == {"t1": "running", "t2": "running", "t3": "waiting"}
    assert "2 workers run: t1, t2 ([jobs] at_once = 2)" in works.task("t3").why
    works.ends("t1")
    assert works.states()["t3"] == "waiting", "what it left is still being read"
    works.collected("t1")
    assert works.states() == {"t1": "done", "t2": "running", "t3": "running"}


def test_a_changed_at_once_holds_at_once() -> None:
    works = Works()
    for place in "abc":
        works.ask(spec=replace(works.agent.spec, cwd=f"/srv/{place}"))
    works.tell(LimitsDeclared(FleetLimits(), JobRules(at_once=3)))
    assert list(works.states().values()) == ["running"] * 3


def test_one_writing_worker_in_a_workspace_and_readers_beside_it() -> None:
    works = Works()
    works.tell(LimitsDeclared(FleetLimits(), JobRules(at_once=8)))
    works.ask()
    works.ask()
    works.ask(writes=False)
    works.ask(spec=replace(works.agent.spec, cwd="/srv/other"))
    assert works.states() == {"t1": "running", "t2": "waiting", "t3": "running", "t4": "running"}
    assert works.task("t2").why == "t1 writes in /srv/shop: one writing worker at a time"
    works.finishes("t1")
    assert works.states()["t2"] == "running"


def test_one_workspace_under_two_names_is_one_workspace() -> None:
    works = Works()
    works.ask(place="/srv/shop")
    works.ask(spec=replace(works.agent.spec, cwd="/home/x/shop"), place="/srv/shop")
    assert works.states() == {"t1": "running", "t2": "waiting"}


def test_e86_dependencies_are_kept_and_what_cannot_follow_any_more_is_given_back() -> None:
    works = Works()
    works.ask()
    works.ask(after=("t1",), writes=False)
    works.ask(after=("t2",), writes=False)
    assert works.task("t2").why == "after t1, which is running"
    works.finishes("t1")
    assert works.states() == {"t1": "done", "t2": "running", "t3": "waiting"}
    works.cancel("t2")
    works.ends("t2", None, 15)
    works.collected("t2")
    assert works.states() == {"t1": "done", "t2": "canceled", "t3": "failed"}
    assert "t2, which it was to follow, is canceled" in works.task("t3").why


@pytest.mark.parametrize(
    ("after", "code", "words"),
    [(("t9",), "not_found", "there is no task t9"), (("t1",), "conflict", "t1 is failed, and nothing can follow it")],
)
def test_f_ph_5_what_cannot_come_about_is_refused(after: tuple[str, ...], code: str, words: str) -> None:
    """A task follows only what was asked for before it, so there is no circle."""
    works = Works()
    works.ask(tries=1)
    works.finishes("t1", 3)
    refusal = works.ask(after=after)
    assert refusal is not None
    assert (refusal.code, words in refusal.message, works.states()) == (code, True, {"t1": "failed"})


def test_a_task_of_the_plan_is_in_one_hand() -> None:
    works = Works()
    works.ask(project="shop", plan="4")
    refusal = works.ask(project="shop", plan="4")
    assert refusal is not None
    assert refusal.message == "task 4 of the plan of shop is in hand already: t1"
    assert works.ask(project="bank", plan="4") is None
    works.finishes("t1")
    assert works.ask(project="shop", plan="4") is None


@pytest.mark.parametrize(("phase", "refused"), [("phase-01-till-part2", True), ("phase-02-till", False)])
def test_a_task_of_a_plan_that_was_split_is_in_one_hand_too(phase: str, refused: bool) -> None:
    works = Works()
    works.ask(project="shop", plan="4", phase="phase-01-till")
    assert (works.ask(project="shop", plan="4", phase=phase) is not None) == refused


def test_the_same_request_with_its_key_is_one_task_also_after_it_has_ended() -> None:
    works = Works()
    works.ask(key="k", tries=1)
    works.ask(key="k")
    works.finishes("t1")
    works.ask(key="k")
    assert works.states() == {"t1": "done"}


def test_no_more_than_so_many_wait() -> None:
    works = Works()
    for _ in range(MOST_OPEN):
        assert works.ask() is None
    refusal = works.ask()
    assert refusal is not None
    assert refusal.code == "conflict"


def test_e59_a_workers_end_is_no_death_and_its_task_that_failed_for_good_is_a_fact() -> None:
    told = Works()
    told.ask()
    told.finishes("t1", 1)
    assert told.task("t1").state == "waiting"
    assert not [fact for one in told.decisions for fact in one.facts if isinstance(fact, TaskFailed)]
    told.wait(60)
    told.finishes("t1", 1)

    facts = [fact for one in told.decisions for fact in one.facts]
    ends = [fact.meaning for fact in facts if isinstance(fact, RunEnded)]
    assert ends[:2] == ["attempt", "attempt"]
    (failed,) = (fact for fact in facts if isinstance(fact, TaskFailed))
    assert (failed.task, failed.why) == ("t1", told.task("t1").why)
    found = Digest(0.0)
    rows = (
        Entry(0.0, 1.0, one.agent.name if one.agent else None, 1, "x", {}, facts=one.facts) for one in told.decisions
    )
    found.feed(StoredEntry(seq, row) for seq, row in enumerate(rows, 1))
    assert (found.deaths, found.failed_tasks) == (0, {"t1": failed.why})
    page = since(Stretch(found, 2.0), Page(2.0))
    assert "tasks" in page
    assert "failed: t1 (its worker ended with exit 1" in page


def test_e59_a_failed_worker_gives_the_task_back_with_its_reason_after_its_budget() -> None:
    works = Works()
    works.ask(asked_by="shop", tries=2)
    works.finishes("t1", 3, Outcome("open"))
    task = works.task("t1")
    assert (task.state, task.runs) == ("waiting", 1)
    assert "its worker ended with exit 3" in task.why
    assert isinstance(works.worker("t1").state, Stopped)
    works.wait(11)
    assert works.states() == {"t1": "running"}
    assert works.worker("t1").incarnation == 2
    again = works.of(Spawn)[-1]
    assert (again.mode, again.prompt) == (Mode.FRESH, PromptKind.GOAL)
    works.finishes("t1", 3, Outcome("open"))
    assert works.states() == {"t1": "failed"}
    assert "(run 2 of 2)" in works.task("t1").why


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome("failed", "overloaded"), "its last turn failed: overloaded"),
        (Outcome("interrupted"), "its last turn was broken off"),
        (Outcome("cut", "(output limit)"), "was cut before its answer was whole: (output limit)"),
        (Outcome("open"), "in the middle of a turn"),
        (Outcome("missing"), "left no transcript"),
    ],
)
def test_f_proc_27_exit_0_alone_is_no_result_the_transcript_says_how_its_turn_ended(
    outcome: Outcome, words: str
) -> None:
    works = Works()
    works.ask(tries=1)
    works.finishes("t1", 0, outcome)
    assert works.states() == {"t1": "failed"}
    assert words in works.task("t1").why


def test_f_proc_27_what_follows_an_error_at_exit_0_is_another_session() -> None:
    works = Works()
    works.ask(tries=2)
    works.finishes("t1", 0, Outcome("failed", "overloaded"))
    works.wait(60)
    first, second = works.of(Spawn)[-2:]

    assert (second.agent, second.mode, second.prompt) == (first.agent, Mode.FRESH, PromptKind.GOAL)
    assert second.session_id != first.session_id


def test_e57_two_tasks_in_a_row_share_no_session_no_name_and_so_no_directory() -> None:
    works = Works()
    workers = []
    for name in ("t1", "t2"):
        works.ask("Write the schema.", asked_by="shop", project="shop")
        workers.append(works.worker(name))
        works.finishes(name)
    first, second = works.of(Spawn)[-2:]

    assert first.session_id != second.session_id
    assert {one.mode for one in (first, second)} == {Mode.FRESH}
    assert [one.name for one in workers] == ["shop-t1", "shop-t2"], "agents/NAME is a worker's own"
    assert [(one.last_prompt, one.last_exit, one.disproved) for one in workers] == [(None, None, ())] * 2
    assert all(not one.spec.brief.daily and not one.spec.brief.on_change for one in workers)


@pytest.mark.parametrize(("harness", "reason"), [("codex", "other"), ("claude", "prompt_input_exit")])
@pytest.mark.parametrize("code", [0, 1])
def test_a_worker_whose_session_ends_was_left_by_nobody(harness: str, reason: str, code: int) -> None:
    """It has no input line. Codex tells the end of each session that no signal ends, and in a terminal a person did."""
    works = Works(boss(harness=harness))
    works.ask(tries=1)
    works.begins("t1")
    works.tell(hook_of("shop-t1", 1, "prompt-submit", prompt="Do it."))
    works.tell(hook_of("shop-t1", 1, "stop"))
    works.tell(hook_of("shop-t1", 1, "session-end", source=reason))
    works.ends("t1", code)

    end = works.worker("t1").last_exit
    assert end is not None
    assert not end.left
    told = [one for decision in works.decisions for one in decision.facts if isinstance(one, RunEnded)]
    assert [one.by_person for one in told] == [False]
    assert not any("a person" in one.reason for one in works.decisions)


def test_a_command_of_which_no_transcript_is_known_is_judged_by_its_exit() -> None:
    works = Works(spec("shop", kind=Kind.ORCHESTRATOR))
    works.ask()
    works.finishes("t1", 0, Outcome("none"))
    assert works.states() == {"t1": "done"}


def test_a_worker_whose_answer_is_whole_is_not_run_again_because_nobody_knows_how_its_process_ended() -> None:
    """A descendant that sticks in the kernel keeps the exit record back for longer than it is waited for."""
    works = Works()
    works.ask()
    works.finishes("t1", None, Outcome("done"), cause="shim_lost")
    assert works.states() == {"t1": "done"}
    works.ask()
    works.finishes("t2", None, Outcome("open"), cause="shim_lost")
    assert works.states()["t2"] == "waiting"


def test_an_end_by_nobodys_fault_counts_against_nobody_and_not_for_ever() -> None:
    works = Works()
    works.ask(tries=1)
    for number in range(5):
        works.finishes("t1", None, Outcome("open"), signal=9, cause="terminal_lost")
        assert (works.task("t1").state, works.task("t1").spared) == ("waiting", number + 1)
        works.wait(11)
    works.finishes("t1", None, Outcome("open"), signal=9, cause="terminal_lost")
    assert works.states() == {"t1": "failed"}


def test_c28_a_task_whose_worker_met_an_overload_is_tried_soon_and_then_less_and_less_often() -> None:
    """As an agent that stays: after half a minute first, and doubled up to an hour (`limits.overload_wait`)."""
    works = Works()
    works.ask(tries=1)
    pauses, began = [], works.at
    for _ in range(8):
        works.begins("t1")
        name, number = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, number, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 1, Outcome("failed", "the service is overloaded"))
        task = works.task("t1")
        assert (task.state, task.counted) == ("waiting", 0), task.why
        assert task.due is not None
        pauses.append(task.due - works.at)
        works.wait(pauses[-1] + 1)

    least = [30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0]
    assert all(low <= pause <= 1.5 * low for low, pause in zip(least, pauses, strict=True)), pauses
    assert works.at - began > 2 * 3600, "an outage of two hours fails no task"
    works.finishes("t1", 1, Outcome("failed", "the service is overloaded"))
    assert works.states() == {"t1": "failed"}


def test_c28_a_worker_that_ends_with_0_after_an_overloaded_turn_counts_no_more_than_one_that_ends_with_1() -> None:
    """Some CLIs end with 0 either way (F-PROC-27); that the service had failed says nothing of the task (G60)."""
    works = Works()
    works.ask(tries=1)
    for number in range(1, 4):
        works.begins("t1")
        name, incarnation = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, incarnation, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 0, Outcome("failed", "the service is overloaded"))
        task = works.task("t1")
        assert (task.state, task.spared) == ("waiting", number)
        assert "which does not count" in task.why
        assert task.due is not None
        works.wait(task.due - works.at + 1)


def test_a_task_whose_worker_did_much_before_each_overload_waits_longer_each_time_as_well() -> None:
    """Each run begins anew, so what was done in it is no reason to be quick."""
    works = Works(boss(limits=LimitRules(overload_wait=20.0, wait_max=70.0)))
    works.ask(tries=1)
    pauses = []
    for _ in range(3):
        works.begins("t1")
        name, number = works.worker("t1").name, works.worker("t1").incarnation
        works.tell(hook_of(name, number, "tool-start", tool="Bash", tool_use_id="x"))
        works.tell(hook_of(name, number, "tool-end", tool="Bash", tool_use_id="x"))
        works.tell(hook_of(name, number, "stop-failure", error="overloaded", text="529"))
        works.finishes("t1", 1, Outcome("failed"))
        task = works.task("t1")
        assert task.due is not None
        pauses.append(task.due - works.at)
        works.wait(pauses[-1] + 1)
    assert all(low <= pause <= 1.5 * low for low, pause in zip((20.0, 40.0, 70.0), pauses, strict=True)), pauses


def test_a_reboot_loses_no_task() -> None:
    works = Works()
    works.ask(tries=1)
    works.begins("t1")
    works.tell(Rebooted("other"))
    works.collected("t1", Outcome("open"))
    works.wait(11)
    assert (works.states(), works.task("t1").runs) == ({"t1": "running"}, 2)


def test_f_ph_7_a_worker_that_never_ends_is_ended_and_the_task_given_back() -> None:
    works = Works()
    works.ask(timeout=600.0)
    works.begins("t1")
    for _ in range(9):
        works.wait(60)
        works.tell(hook_of("shop-t1", 1, "tool-start", tool="Bash", tool_use_id="x"))
        works.tell(hook_of("shop-t1", 1, "tool-end", tool="Bash", tool_use_id="x"))
    assert works.states() == {"t1": "running"}
    works.wait(61)
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "failed"}
    assert works.task("t1").why == "it took longer than 10 min (--timeout)"


@pytest.mark.parametrize(
    ("reset", "least", "most"),
    [
        (60.0, 90.0, 90.0), (600.0, 630.0, 630.0), (7200.0, 7230.0, 7230.0),
        # It came before what the worker left was collected: a moment is left to it as to any other.
        (-25.0, 10.0, 30.0),
        # Where none is named, it is as its agent says it.
        (None, 120.0, 180.0),
    ],
)  # fmt: skip
def test_g60_a_task_whose_worker_met_a_limit_goes_on_when_that_is_over_and_no_later(
    reset: float | None, least: float, most: float
) -> None:
    works = Works(boss(limits=LimitRules(wait=120.0)))
    works.ask(tries=1)
    works.begins("t1")
    until = works.wall + reset if reset is not None else None
    works.tell(hook_of("shop-t1", 1, "stop-failure", error="rate_limit", reset_wall=until))
    met = works.at
    works.finishes("t1", 1, Outcome("failed", "a limit"))

    task = works.task("t1")
    assert (task.state, task.spared) == ("waiting", 1)
    assert task.due is not None
    assert least <= task.due - met <= most


def test_the_time_of_a_task_stands_still_while_its_worker_waits_for_a_limit_or_for_its_start() -> None:
    works = Works()
    works.tell(LimitsDeclared(FleetLimits(max_starting=0)))
    works.ask(timeout=600.0)
    for _ in range(30):
        works.wait(60)
    assert (works.states(), works.worker("t1").state_name) == ({"t1": "running"}, "backing_off")
    works.tell(LimitsDeclared(FleetLimits()))
    works.wait(1)
    works.begins("t1")
    assert works.task("t1").due == works.now.at + 600.0
    works.wait(100)
    works.tell(hook_of("shop-t1", 1, "stop-failure", error="rate_limit"))
    assert works.worker("t1").parking is not None
    for _ in range(13):
        works.wait(60)
    assert (works.task("t1").state, works.task("t1").left) == ("running", 500.0)
    works.tell(hook_of("shop-t1", 1, "prompt-submit", prompt="Go on."))
    works.tell(hook_of("shop-t1", 1, "tool-start", tool="Bash", tool_use_id="x"))
    works.tell(hook_of("shop-t1", 1, "tool-end", tool="Bash", tool_use_id="x"))
    assert works.worker("t1").state_name == "running", works.worker("t1").reason
    assert works.task("t1").due == works.now.at + 500.0
    works.wait(501)
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.task("t1").why == "it took longer than 10 min (--timeout)"


def test_cancel_ends_what_runs_and_what_waits_and_says_what_is_over() -> None:
    works = Works()
    works.ask()
    works.ask()
    assert works.cancel("t2") is None
    assert works.states() == {"t1": "running", "t2": "canceled"}
    works.begins("t1")
    assert works.cancel("t1") is None
    refused = works.cancel("t1")
    assert refused is not None
    assert refused.message == "t1 is being ended already"
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "canceled", "t2": "canceled"}
    again, missing = works.cancel("t1"), works.cancel("t9")
    assert again is not None
    assert missing is not None
    assert (again.code, missing.code) == ("conflict", "not_found")


def test_a_worker_runs_when_its_task_says_so_and_an_operators_stop_cancels_the_task() -> None:
    works = Works()
    works.ask()
    works.begins("t1")
    for order in (StartRequested("shop-t1"), RestartRequested("shop-t1")):
        refusal = works.tell(order)
        assert refusal is not None
        assert refusal.message == "shop-t1 is the worker of task t1"
    works.tell(StopRequested("shop-t1"))
    works.ends("t1", None, 15)
    works.collected("t1", Outcome("open"))
    assert works.states() == {"t1": "canceled"}


def test_a_collection_that_is_not_answered_is_ordered_again_and_then_the_task_is_judged_without() -> None:
    works = Works()
    works.ask(tries=1)
    works.ends("t1")
    works.wait(1000)
    assert len(works.of(CollectTask)) == 3
    assert works.states() == {"t1": "failed"}


def test_an_answer_about_an_earlier_run_is_none_about_this_one() -> None:
    works = Works()
    works.ask()
    works.finishes("t1", 1)
    works.wait(11)
    works.ends("t1", 1)
    works.tell(TaskCollected("t1", 1, DONE))
    assert works.states() == {"t1": "collecting"}


def idle(works: Works) -> Works:
    works.works()
    works.hook("stop")
    return works


def test_e58_the_one_who_asked_is_told_in_one_line_at_its_next_idle_moment() -> None:
    works = Works()
    works.works()
    works.ask(asked_by="shop", project="shop", plan="3")
    works.finishes("t1")
    assert works.typed() == []
    works.hook("stop")
    assert works.typed() == ["phoenixd: task t1 (plan 3) is done; report: /tasks/report.md"]
    works.tell(Delivered("shop", 1, works.of(Deliver)[-1].message_id, "prompt-submit"))
    assert works.task("t1").told == "told"
    assert works.fleet.tasks.open == ()
    works.hook("stop")
    works.wait(3600)
    assert len(works.typed()) == 1


def test_several_ends_are_one_message() -> None:
    works = Works()
    works.works()
    works.ask(asked_by="shop", tries=1)
    works.ask(asked_by="shop", writes=False)
    works.finishes("t1", 4)
    works.finishes("t2")
    works.hook("stop")
    assert len(works.of(Deliver)) == 1
    assert [line.split()[2:5] for line in works.typed()] == [["t1", "is", "failed,"], ["t2", "is", "done;"]]


def test_what_could_not_be_typed_is_typed_later_and_what_an_agent_took_is_not_typed_again() -> None:
    works = idle(Works())
    works.ask(asked_by="shop")
    works.finishes("t1")
    first = works.of(Deliver)[-1]
    works.tell(NotDelivered("shop", 1, first.message_id, "a dialog opened"))
    works.wait(29)
    assert len(works.of(Deliver)) == 1
    works.wait(2)
    assert len(works.of(Deliver)) == 2
    works.hook("prompt-submit", text=first.text)
    assert works.task("t1").told == "told"
    assert works.agent.last_prompt is None, "it is no task that a person gave"


def test_an_end_waits_for_an_agent_that_is_down_and_for_none_that_is_gone() -> None:
    works = idle(Works())
    works.ask(asked_by="shop")
    works.stop()
    works.exited(signal=15)
    works.finishes("t1")
    works.wait(3600)
    assert works.typed() == []
    idle(works)
    assert len(works.typed()) == 1


def test_the_end_of_a_task_whose_asker_was_removed_meanwhile_is_told_to_nobody() -> None:
    works = Works(boss(), claude("b"))
    works.ask(asked_by="b")
    works.finishes("t1")
    works.tell(AgentWithdrawn("b"))

    assert "b" not in works.fleet.agents
    assert (works.typed(), works.task("t1").told, works.fleet.tasks.open) == ([], "nobody", ())


def test_an_operators_task_is_told_to_nobody() -> None:
    works = idle(Works())
    works.ask()
    works.finishes("t1")
    assert (works.typed(), works.task("t1").told, works.fleet.tasks.open) == ([], "nobody", ())


def test_the_fleet_of_a_daemon_that_comes_back_goes_on_from_what_was_saved() -> None:
    works = Works()
    works.ask(asked_by="shop")
    works.ask(asked_by="shop")
    works.ends("t1")
    saved = decode(Tasks, encode(works.fleet.tasks))
    assert saved == replace(works.fleet.tasks, open=tuple(replace(one) for one in works.fleet.tasks.open))
    assert decode(Tasks, {}) == Tasks(), "an older journal knows of none"
    works.fleet = replace(works.fleet, tasks=saved)
    works.wait(121)
    works.collected("t1")
    assert works.states() == {"t1": "done", "t2": "running"}


def test_the_tasks_are_counted_once_for_all_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    works = Works()
    for number in range(98):
        works.ask(writes=False, after=(f"t{number}",) if number > 90 else ())
    made: list[queue.Others] = []
    count = queue.others
    monkeypatch.setattr(queue, "others", lambda *given: made.append(count(*given)) or made[-1])
    works.tell(Tick())
    assert len(made) == 1
    works.cancel("t98")
    assert works.states()["t97"] == "waiting"


def test_the_ends_that_nobody_could_be_told_of_are_bounded_and_the_oldest_go_first() -> None:
    tasks = Tasks()
    for number in range(1, MOST_ENDED + 4):
        task = Task(f"t{number}", f"shop-t{number}", asked_by="shop")
        tasks = tasks.with_new(task).taking(replace(task, state="done"))
    assert (len(tasks.open), tasks.open[0].id) == (MOST_ENDED, "t4")
    assert [(one.id, one.told) for one in tasks.ended] == [("t1", "nobody"), ("t2", "nobody"), ("t3", "nobody")]


def ended_tasks(count: int, **changes: Any) -> Tasks:
    """`count` tasks of a plan have ended, one after the other; nobody is told of them."""
    tasks = Tasks()
    for number in range(1, count + 1):
        outcome = Outcome("done", words="w" * 999, judged=JudgedReport("report.md", contradicted=number % 2))
        task = Task(
            f"t{number}", f"shop-t{number}", key=f"k{number}", project="shop", workspace="/srv/shop", plan=f"{number}",
            phase="phase-01", state="done", told="nobody", since_wall=float(number), why="w" * 999, outcome=outcome,
        )  # fmt: skip
        tasks = tasks.with_new(task).taking(replace(task, **changes))
    return tasks


def test_e67_tasks_of_a_plan_stay_known_until_the_plan_was_told_of_them_however_many_end() -> None:
    tasks = ended_tasks(MOST_ENDED + 50)
    assert [one.id for one in tasks.untold] == [f"t{number}" for number in range(1, 51)]
    assert decode(Tasks, encode(tasks)) == tasks
    told = of_workers(tasks, "shop", "/srv/shop")
    assert [one.outcome.task for one in told] == [f"{number}" for number in range(1, MOST_ENDED + 51)]
    assert [one.outcome.status for one in told[:2]] == ["blocked", "completed"]
    assert len(ended_tasks(MOST_ENDED + MOST_UNTOLD + 9).untold) == MOST_UNTOLD
    assert tasks.find("t1") is None, "it is shown no longer"


@pytest.mark.parametrize("changes", [{"state": "canceled"}, {"plan": ""}, {"phase": ""}, {"project": ""}])
def test_e67_what_says_nothing_of_a_plan_is_forgotten(changes: dict[str, Any]) -> None:
    assert ended_tasks(MOST_ENDED + 5, **changes).untold == ()


def test_e67_of_each_task_of_a_plan_the_newest_end_stays_known() -> None:
    (one,) = ended_tasks(MOST_ENDED + 50, plan="7").untold
    assert one.id == "t50"
    assert [len(one.why), one.outcome and one.outcome.words, one.key] == [300, "", ""]


def test_e67_a_plan_that_was_told_of_them_needs_them_no_longer() -> None:
    story = HandoffStory(orchestrator(cwd="/srv/shop", project="shop"))
    known = ended_tasks(MOST_ENDED + 50)
    other = replace(known.untold[0], project="other")
    story.files = "never"
    story.works()
    story.hook("stop")
    story.begins()
    story.told_to_finish()
    assert story.step is Step.UPDATE
    late = replace(known.untold[0], id="t999", plan="999", since_wall=story.wall + 10)
    story.fleet = replace(story.fleet, tasks=replace(known, untold=(*known.untold, other, late)))
    story.wait(20)
    story.tell(PapersUpdated("o", "another handoff"))
    assert len(story.fleet.tasks.untold) == 52
    story.tell(PapersUpdated("o", story.handoff.id))
    assert story.fleet.tasks.untold == (other, late)
    assert story.step is not Step.UPDATE
    story.tell(PapersUpdated("o", story.handoff.id))
    assert late in story.fleet.tasks.untold, "said once more, later: the plan was not told of what ended meanwhile"


def test_a_fleet_without_tasks_needs_no_tick_for_them() -> None:
    assert next_deadline(Fleet(), Works().now) is None
    works = Works()
    works.ask(timeout=60.0)
    works.finishes("t1")
    assert next_deadline(works.fleet, works.now) is None


def test_names_of_workers_are_reserved_and_fit() -> None:
    longest = "o" * 32
    assert [worker_name("shop", 7), len(worker_name(longest, 123456))] == ["shop-t7", 32]
    assert all(map(is_reserved, ("shop-t7", worker_name(longest, 1))))
    assert not any(map(is_reserved, ("shop", "t7", "shop-t", "shop-t7-x")))


def test_an_agent_that_has_a_workers_name_since_before_is_left_alone() -> None:
    works = Works(boss(), spec("shop-t1"))
    works.ask()
    assert works.states() == {"t1": "failed"}
    assert "shop-t1" in works.fleet.agents


def test_an_exit_of_an_older_run_changes_nothing() -> None:
    works = Works()
    works.ask()
    works.tell(AgentExited("shop-t1", 7, "other", 0, None))
    assert works.states() == {"t1": "running"}


def test_whoever_holds_the_seat_is_told_also_of_what_an_earlier_generation_asked_for() -> None:
    works = Works()
    works.ask(asked_by="shop")
    works.finishes("t1")
    seat = works.fleet.seats["shop"]
    heir = replace(works.agent.spec, name="shop-g2", generation=2)
    agents = {**works.fleet.agents, "shop-g2": replace(works.agent, spec=heir)}
    works.fleet = replace(works.fleet, agents=agents, seats={"shop": replace(seat, generation=2, fenced=1)})
    works.tell(StartRequested("shop"))
    agent = works.fleet.agents["shop-g2"]
    assert agent.run is not None
    works.tell(AgentStarted("shop-g2", agent.run.incarnation, agent.run.run_id, 7, 70))
    begun = {"session_id": agent.run.session_id, "source": "startup"}
    works.tell(hook_of("shop-g2", agent.run.incarnation, "session-start", **begun))
    works.tell(hook_of("shop-g2", agent.run.incarnation, "stop"))
    assert [one.agent for one in works.of(Deliver)] == ["shop-g2"]
