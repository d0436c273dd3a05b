"""A worker whose answer is whole by its CLI's word, and bears no seal, is asked once for the seal alone (issue 13)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import CollectTask, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Parked
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.facts import RunEnded
from phoenixd.core.tasks.state import Outcome, Tasks
from phoenixd.core.tasks.steps import SEALED_WITHIN
from phoenixd.documents.codec import decode, encode
from tests.core.story import spec
from tests.core.workers import Works, boss

UNSEALED = Outcome("done", report="/tasks/report.md", outputs=2, seal="unsealed")
SEALED = replace(UNSEALED, seal="sealed")
NOT_ASKED = (
    "its worker ended with 0; its answer has no seal, it could not be asked for that, and only its CLI says it is whole"
)


def asked(**details: object) -> Works:
    """A worker whose answer came without its seal."""
    works = Works()
    works.ask(**details)
    works.finishes("t1", outcome=UNSEALED)
    return works


def test_its_session_is_asked_once_and_its_seal_makes_the_answer_whole() -> None:
    works = asked()
    first, again = works.of(Spawn)
    assert works.states() == {"t1": "running"}
    assert (again.mode, again.prompt) == (Mode.RESUME, PromptKind.SEAL)
    assert again.session_id == first.session_id
    assert works.task("t1").sealing == first.incarnation
    assert "without its seal" in works.task("t1").why
    works.finishes("t1", outcome=SEALED)
    ends = [fact.meaning for one in works.decisions for fact in one.facts if isinstance(fact, RunEnded)]
    assert ends[:2] == ["finished", "sealed"], "who asked for a seal alone has finished nothing more"

    assert works.states() == {"t1": "done"}
    assert works.task("t1").why == "its worker ended with 0, and sealed its answer when it was asked to"
    assert works.task("t1").runs == 1, "no run of the task was spent on that"


@pytest.mark.parametrize("outcome", [UNSEALED, replace(UNSEALED, seal="cut"), Outcome("missing", problem="gone")])
@pytest.mark.parametrize("code", [0, 1])
def test_without_one_also_then_the_answer_is_kept_with_a_warning(outcome: Outcome, code: int) -> None:
    works = asked()
    works.finishes("t1", code, outcome=outcome)

    assert works.states() == {"t1": "done"}
    assert len(works.of(Spawn)) == 2, "it is asked once"
    assert "has no seal, also after it was asked for that" in works.task("t1").why
    assert works.task("t1").outcome is not None
    assert works.task("t1").outcome.outputs == 2  # type: ignore[union-attr]


def test_one_that_does_not_answer_is_ended_and_its_work_stands() -> None:
    works = asked()
    works.begins("t1")
    due = next_deadline(works.fleet, works.now)
    assert due is not None
    assert works.task("t1").due == works.at + SEALED_WITHIN
    works.wait(SEALED_WITHIN + 1)
    works.ends("t1", None, 15)
    works.collected("t1", UNSEALED)

    assert works.states() == {"t1": "done"}
    assert "also after" in works.task("t1").why


def test_a_session_that_cannot_be_resumed_is_never_begun_anew() -> None:
    """A fresh one would do the work a second time."""
    works = asked()
    agent = works.worker("t1")
    assert agent.run is not None
    works.tell(StartFailed(agent.name, agent.run.incarnation, 1, "it has no transcript", obstacle="resume refused"))
    works.collected("t1", UNSEALED)
    works.wait(7200)

    assert [one.mode for one in works.of(Spawn)] == [Mode.FRESH, Mode.RESUME]
    assert works.states() == {"t1": "done"}
    assert works.task("t1").why == NOT_ASKED


def test_one_that_is_parked_before_it_can_be_asked_is_not_begun_afresh_afterwards() -> None:
    works = asked()
    worker = works.worker("t1")
    parked = replace(worker, state=Parked())
    works.fleet = replace(works.fleet, agents={**works.fleet.agents, worker.name: parked})
    works.tell(Tick())
    works.tell(Tick())
    works.collected("t1", UNSEALED)
    works.wait(600)

    assert works.states() == {"t1": "done"}
    assert [one.mode for one in works.of(Spawn)] == [Mode.FRESH, Mode.RESUME]
    assert works.task("t1").why == NOT_ASKED


def test_a_cancel_meanwhile_counts() -> None:
    works = asked()
    works.begins("t1")
    works.cancel("t1")
    works.ends("t1", None, 15)
    works.collected("t1", UNSEALED)

    assert works.states() == {"t1": "canceled"}


@pytest.mark.parametrize("harness", ["gemini", "command"])
def test_where_the_cli_cannot_be_asked_the_warning_stays(harness: str) -> None:
    works = Works(boss(harness=harness) if harness != "command" else spec("shop"))
    works.ask()
    works.finishes("t1", outcome=UNSEALED)

    assert works.states() == {"t1": "done"}
    assert "only its CLI says it is whole" in works.task("t1").why
    assert len(works.of(Spawn)) == 1


def test_a_spoiled_session_is_not_asked() -> None:
    works = Works()
    works.ask()
    works.ends("t1")
    worker = works.worker("t1")
    assert worker.session is not None
    spoiled = replace(worker, session=replace(worker.session, spoiled="hung twice in this session"))
    works.fleet = replace(works.fleet, agents={**works.fleet.agents, worker.name: spoiled})
    works.collected("t1", UNSEALED)

    assert works.states() == {"t1": "done"}


def test_it_keeps_its_place_and_its_question_survives_the_journal() -> None:
    works = asked()
    works.ask()
    assert works.states() == {"t1": "running", "t2": "waiting"}
    kept = decode(Tasks, encode(works.fleet.tasks))
    assert kept == works.fleet.tasks
    assert not isinstance(works.worker("t1").state, BackingOff)
    works.finishes("t1", outcome=SEALED)
    assert works.states() == {"t1": "done", "t2": "running"}


def test_a_late_collection_of_the_answer_is_no_word_of_its_seal() -> None:
    works = asked()
    works.collected("t1", UNSEALED)
    assert works.states() == {"t1": "running"}
    assert len(works.of(CollectTask)) == 1
