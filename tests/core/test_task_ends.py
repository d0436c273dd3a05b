"""How the end of a worker is judged, and what its task comes to (E57, E59, F-PROC-27)."""

from __future__ import annotations

import pytest

from phoenixd.api.history import Digest, Stretch
from phoenixd.api.pages.history import since
from phoenixd.api.pages.layout import Page
from phoenixd.core.actions import CollectTask, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.facts import RunEnded, TaskFailed
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import Outcome
from phoenixd.documents.hooks import hook_of
from phoenixd.ports.journal import Entry, StoredEntry
from tests.core.story import spec
from tests.core.workers import DONE, Works, boss


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
    ("code", "outcome", "occasion", "detail"),
    [
        (3, Outcome("open"), "crash", "crash"),
        (126, Outcome("none"), "crash", "configuration"),
        (0, Outcome("failed", "overloaded"), "failed_turn", "failed_turn"),
        (0, Outcome("interrupted"), "failed_turn", "failed_turn"),
        (0, Outcome("cut", "(output limit)"), "cut_answer", "crash"),
        (0, Outcome("done", seal="cut"), "cut_answer", "crash"),
        (0, Outcome("open"), "end", "crash"),
        (0, Outcome("missing"), "end", "crash"),
    ],
)
def test_e59_a_worker_that_failed_has_a_diagnosis_of_the_clinic_also_where_only_its_answer_tells_it(
    code: int, outcome: Outcome, occasion: str, detail: str
) -> None:
    works = Works()
    works.ask(tries=1)
    works.finishes("t1", code, outcome)

    assert works.states() == {"t1": "failed"}
    (told,) = [one for kept in works.kept for one in kept.noticed]
    assert (told.agent, told.occasion, told.diagnosis.detail) == ("shop-t1", occasion, detail)
    assert outcome.words in told.evidence.said or occasion == "crash"
    (known,) = works.fleet.cases.cases
    assert (known.agents, known.closed is not None, known.outcome) == (("shop-t1",), True, "moot")
    assert works.fleet.cases.patients == ()


def test_e59_a_task_that_takes_too_long_has_a_diagnosis_and_one_that_is_canceled_has_none() -> None:
    late, canceled = Works(), Works()
    for works in (late, canceled):
        works.ask(timeout=60.0)
        works.begins("t1")
    late.wait(61)
    canceled.cancel("t1")
    for works in (late, canceled):
        works.ends("t1", None, 15)
        works.collected("t1", Outcome("open"))

    (known,) = late.fleet.cases.cases
    assert (known.detail, known.agents, late.states()) == ("overtime", ("shop-t1",), {"t1": "failed"})
    assert (canceled.fleet.cases.cases, canceled.states()) == ((), {"t1": "canceled"})


def test_e59_the_next_try_is_what_was_done_about_a_failure_and_shows_what_came_of_it() -> None:
    works = Works()
    works.ask(tries=3)
    for _ in range(2):
        works.finishes("t1", 0, Outcome("failed", "overloaded"))
        works.wait(60)

    (known,) = works.fleet.cases.cases
    assert (known.incidents, [one.treatment for one in known.treated]) == (2, ["fresh", "fresh"])


def test_e59_a_failed_turn_of_which_a_hook_told_is_no_second_failure() -> None:
    works = Works()
    works.ask(tries=1)
    works.begins("t1")
    works.tell(hook_of("shop-t1", 1, "prompt-submit", prompt="Do it."))
    works.tell(hook_of("shop-t1", 1, "stop-failure", error="invalid_request", text="Request too large"))
    works.finishes("t1", 0, Outcome("failed", "Request too large"))

    (known,) = works.fleet.cases.cases
    assert (known.detail, known.incidents) == ("request", 1)


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


def test_an_exit_of_an_older_run_changes_nothing() -> None:
    works = Works()
    works.ask()
    works.tell(AgentExited("shop-t1", 7, "other", 0, None))
    assert works.states() == {"t1": "running"}
