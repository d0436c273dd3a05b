"""What workers did of a plan is told to it once, however short the time before its state was written."""

from __future__ import annotations

import pytest

from phoenixd.core.tasks.state import Outcome, Task, Tasks
from phoenixd.documents.project.outcomes import of_workers, untold
from phoenixd.documents.project.update import Sources, planner
from phoenixd.documents.times import exact_time, timestamp
from tests.documents.project.projects import BUILDING, plan_of, tree_of

ENDED = 1_790_000_000.4


def of_a_worker() -> Tasks:
    task = Task(
        "t1", "shop-t1", project="shop", plan="1", phase=BUILDING, workspace="/srv/shop", state="done",
        since_wall=ENDED, outcome=Outcome("done"), told="nobody",
    )  # fmt: skip
    return Tasks(ended=(task,))


@pytest.mark.parametrize("later", [0.0003, 0.3, 3.0])
def test_e67_a_task_that_a_person_opened_again_stays_open_though_its_worker_ended_in_the_second_of_the_update(
    later: float,
) -> None:
    ended = of_workers(of_a_worker(), "shop", "/srv/shop")
    before = tree_of({BUILDING: plan_of(("1", "pending"))})
    wall = ENDED + later
    known = untold(ended, before, wall)
    assert [one.task for one in known] == ["1"]
    sources = Sources(now=timestamp(wall), exact=exact_time(wall), outcomes=known)
    after = before.after(planner(before, sources))

    assert untold(ended, after, wall + 3600) == (), "a person may have changed the plan since"


def test_what_ended_after_the_update_is_told_by_the_next_one() -> None:
    before = tree_of({BUILDING: plan_of(("1", "pending"))})
    wall = ENDED - 0.0003
    after = before.after(planner(before, Sources(now=timestamp(wall), exact=exact_time(wall))))
    ended = of_workers(of_a_worker(), "shop", "/srv/shop")
    assert [one.task for one in untold(ended, after, wall + 3600)] == ["1"]
