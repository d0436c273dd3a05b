"""Whom a contradicted report of a worker is held up to, and what of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.concerned import concerned, told
from phoenixd.core.tasks.state import JudgedClaim, JudgedReport, Task
from tests.core.story import Story, claude
from tests.core.workers import Works, boss

SHOP = boss("shop", cwd="/srv/shop")
TASK = Task("t1", "shop-t1", workspace="/srv/shop")
FALSE = JudgedClaim("tests", "all pass", "contradicted", "3 failed")
UNSURE = JudgedClaim("files", "a.py changed", "unverifiable", "nobody saw it")


def whom(task: Task, *specs: AgentSpec) -> str:
    found = concerned(Story(*specs).fleet, task)
    return found.name if found is not None else ""


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"asked_by": "desk"}, "desk"),
        # Who is gone is told nothing; the project has its leader still.
        ({"asked_by": "gone", "project": "shop"}, "shop"),
        ({"project": "shop"}, "shop"),
        ({"project": "shop", "workspace": "/srv/other"}, ""),
        ({"project": "garden"}, ""),
        # A resident's directory may have the project's name, and it leads none.
        ({"project": "desk", "workspace": ""}, ""),
        ({}, ""),
        ({"spec": replace(claude("w"), env_from="agent", env_of="desk")}, "desk"),
        ({"spec": replace(claude("w"), env_of="gone")}, ""),
        ({"spec": claude("w")}, ""),
    ],
)
def test_a_report_concerns_who_asked_else_who_leads_the_project_else_whose_login_it_had(
    changes: dict[str, object], name: str
) -> None:
    assert whom(replace(TASK, **changes), claude("desk"), SHOP) == name  # type: ignore[arg-type]


def test_a_report_concerns_the_holder_of_the_seat_and_no_other_generation() -> None:
    works = Works(SHOP)
    heir = replace(SHOP, name="shop-g2", seat="shop", generation=2)
    agents = {"shop-g2": replace(works.agent, spec=heir), **works.fleet.agents}
    seat = works.fleet.seats["shop"]
    task = replace(TASK, project="shop")

    assert [one.name for one in (concerned(replace(works.fleet, agents=agents), task),) if one] == ["shop"]
    held = replace(works.fleet, agents=agents, seats={"shop": replace(seat, generation=2, fenced=1)})
    assert [one.name for one in (concerned(held, task),) if one] == ["shop-g2"]


def test_what_is_told_of_a_report_is_what_it_contradicts_and_how_much_more() -> None:
    story = Story(claude("desk")).works()
    task = replace(TASK, asked_by="desk")
    judged = JudgedReport("report.md", contradicted=3, verified=2, unverifiable=1, claims=(FALSE, UNSURE))

    event = told(story.fleet, task, judged)

    assert event is not None
    assert (event.agent, event.incarnation, event.contradicted) == ("desk", 1, ("all pass: 3 failed",))
    assert (event.verified, event.unverifiable, event.beyond) == (2, 1, 2)
    assert told(story.fleet, task, replace(judged, problem="it is no text")) is None
    assert told(story.fleet, replace(task, asked_by="gone"), judged) is None
