"""What a dead run left is settled before the next one is told of it: at once, without a model, once for each run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import LostJobs
from phoenixd.core.agent.run import LastExit
from phoenixd.documents.kept_ledger import VERSION, KeptLedger
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.workspace import GitSummary
from tests.memory.brief.loops.sessions import Story, tasks
from tests.memory.desk import TALK, TASKS, Desk, Scripted, ids, says
from tests.start.places import NOW, Room

JOB = "npm run watch"


class Morgue(Desk):
    """A desk whose agent's transcript tells what a test wants, or nothing."""

    ledger: SessionLedger | None = None

    async def stands(self, agent: Agent, kept: object, clean: object) -> KeptLedger | None:  # type: ignore[override]
        return KeptLedger(VERSION, "/t.jsonl", 0, 0, 0, "", True, self.ledger) if self.ledger is not None else None

    async def settle(self, agent: Agent, incarnation: int = 1, **changes: Any) -> None:
        """The agent is dead: its next run is about to begin."""
        last = LastExit(incarnation, None, 9, "signal 9", 60.0, self.room.clock.wall)
        starting = self.room.starting(replace(agent, last_exit=last, incarnation=incarnation, **changes))
        await self.room.papers.briefing.settle(starting)


@pytest.fixture
def desk(room: Room) -> Morgue:
    made = Morgue(room, Scripted())
    made.restarted()
    return made


@pytest.mark.parametrize("is_heard", [True, False], ids=["with a transcript", "without one"])
async def test_what_ended_with_a_run_is_settled_also_where_its_death_was_told_together_with_the_next_start(
    desk: Morgue, is_heard: bool
) -> None:
    """The newest that the papers were told of it before is then a run that lives."""
    agent = desk.plain()
    await desk.room.papers.publish(agent, [])
    desk.ledger = Story(at=NOW).began_job(JOB).ledger if is_heard else None

    await desk.settle(agent, lost=None if is_heard else LostJobs(1, (JOB,), NOW))

    (loop,) = desk.room.document()["open_loops"]
    assert (loop["kind"], loop["text"]) == ("background", f"Ended with its process: `{JOB}`")


async def test_the_next_run_is_told_what_the_dead_one_left(desk: Morgue) -> None:
    agent = desk.plain()
    await desk.room.papers.publish(agent, [])
    desk.ledger = Story().listed(*tasks(*((text, "open") for text in TASKS))).ledger

    order = desk.room.starting(replace(agent, last_exit=LastExit(1, None, 9, "signal 9", 60.0, NOW)))
    await desk.room.papers.publish(order, [])

    assert "task-refresh-the-token" in desk.room.text(f"session-start.{order.incarnation}.txt")


async def test_a_death_asks_no_model_and_no_repository_and_leaves_the_schedule_as_it_was(desk: Morgue) -> None:
    desk.room.git.summary = GitSummary("main")
    agent = desk.agent()
    desk.writer.answers = [says(summary=TALK[0].text)]
    await desk.room.papers.publish(agent, [])
    await desk.room.papers.briefing.generate(agent)
    asked, before = len(desk.room.git.asked), desk.room.document("brief.json")
    desk.ledger = Story().ran("pytest", 1).ledger
    desk.room.clock.wall += 3600

    await desk.settle(agent)

    after = desk.room.document("brief.json")
    assert ids(desk.room) == ["check-pytest"]
    assert len(desk.writer.asked) == 1
    assert len(desk.room.git.asked) == asked
    assert after["ledger"] == before["ledger"]
    assert after["narrative"] == before["narrative"], "what a better writer said stands"


async def test_each_death_is_settled_once_and_a_start_without_one_is_none(desk: Morgue) -> None:
    agent = desk.plain()
    await desk.room.papers.publish(agent, [])

    await desk.room.papers.briefing.settle(desk.room.starting(agent))
    assert desk.heard == []
    for incarnation in (1, 1, 2):
        await desk.settle(agent, incarnation)
    assert len(desk.heard) == 2


async def test_what_a_run_that_was_adopted_does_in_the_background_goes_on(desk: Morgue) -> None:
    agent = replace(desk.plain(), last_exit=LastExit(1, None, 9, "signal 9", 60.0, NOW - 7200))
    desk.ledger = Story(at=NOW).began_job(JOB).ledger

    await desk.room.papers.publish(agent, [])

    assert ids(desk.room) == []


async def test_a_death_with_nothing_to_be_read_closes_nothing(desk: Morgue) -> None:
    agent = desk.plain()
    await desk.room.papers.publish(agent, [])
    desk.ledger = Story().ran("pytest", 1).listed(*tasks(("Write the export", "open"))).ledger
    await desk.settle(agent)
    known = desk.room.document()["open_loops"]
    desk.ledger, desk.talk = None, ()

    await desk.settle(agent, 2)

    assert [loop["id"] for loop in known] == ids(desk.room)
