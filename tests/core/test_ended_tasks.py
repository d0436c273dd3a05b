"""Which tasks that ended stay known, how many, and for how long (E67)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.events.handoffs import PapersUpdated
from phoenixd.core.handoff.state import Step
from phoenixd.core.tasks.state import MOST_ENDED, MOST_UNTOLD, JudgedReport, Outcome, Task, Tasks
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.project.outcomes import of_workers
from tests.core.handing import HandoffStory, orchestrator


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
