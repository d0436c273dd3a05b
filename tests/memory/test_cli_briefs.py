"""Briefs by an agent's own CLI, which is scripted: what it costs is kept, it stands in no way, it comes later."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Parked
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.errors import WriterFailed
from phoenixd.memory.papers import Papers
from phoenixd.ports.papers import WriterAnswer
from tests.memory.desk import Desk, Scripted, says, until
from tests.start.places import NOW, Room


class CliDesk(Desk):
    """A desk whose agent's own CLI is scripted."""

    def restarted(self) -> Papers:
        self.room.options = {"conversation": self.said, "writers": {WriterKind.AUTO: self.writer}}
        return self.room.restarted()

    def own(self, **rules: object) -> Agent:
        brief = BriefRules(writer=WriterKind.AUTO, daily=False, **rules)  # type: ignore[arg-type]
        return self.room.running(self.room.agent(replace(self.room.spec(brief=brief), harness="claude")))


@pytest.fixture
def desk(room: Room) -> CliDesk:
    made = CliDesk(room, Scripted())
    made.restarted()
    return made


async def test_who_wrote_and_what_it_cost_is_kept(desk: CliDesk) -> None:
    agent = desk.own()
    desk.writer.answers = [says(), says()]
    await desk.room.papers.publish(agent, [])

    await desk.room.papers.briefing.generate(agent)
    status = await desk.wrote(agent)

    assert (status.writer, status.note, status.tokens, status.tokens_today) == ("cli", "", 100, 200)
    page = await desk.restarted().brief("a")
    assert page is not None
    assert page.writing is not None
    assert (page.writing.writer, page.writing.tokens, page.writing.tokens_today) == ("cli", 100, 200)


async def test_an_answer_in_prose_is_asked_for_once_more_and_costs_no_brief(desk: CliDesk) -> None:
    agent = desk.own()
    desk.writer.answers = [lambda material: "Sure! All is well.", lambda material: "Nothing is open."]
    await desk.room.papers.publish(agent, [])

    status = await desk.wrote(agent)

    assert (status.writer, status.tokens) == ("deterministic", 200)
    assert status.note == "the cli writer was not used: there is no JSON object in the answer"
    assert (desk.room.state / "brief.md").exists()


async def test_a_second_try_is_not_begun_where_the_day_has_no_room_for_it(desk: CliDesk) -> None:
    agent = desk.own(tokens_per_day=40_000)
    desk.writer.tokens = 25_000
    desk.writer.answers = [lambda material: "Sure!"]
    await desk.room.papers.publish(agent, [])

    status = await desk.wrote(agent)
    told = await desk.wrote(agent)

    assert (status.writer, status.tokens_today, len(desk.writer.asked)) == ("deterministic", 25_000, 1)
    assert "15000 of the day's 40000 tokens are left" in told.note


async def test_a_failure_is_told_with_its_remedy_and_its_tokens_count(desk: CliDesk) -> None:
    agent = desk.own()
    desk.writer.answers = [WriterFailed("claude is not logged in", "log in with /login", 70)]
    await desk.room.papers.publish(agent, [])

    status = await desk.wrote(agent)

    assert status.note == "the cli writer was not used: claude is not logged in; log in with /login"
    assert status.tokens_today == 70


async def test_without_words_of_a_session_nobody_is_asked(desk: CliDesk) -> None:
    agent = desk.own()
    desk.talk = ()

    status = await desk.wrote(agent)

    assert (status.writer, desk.writer.asked) == ("deterministic", [])


async def test_while_parked_it_is_plain_at_once_and_the_cli_is_asked_afterwards(desk: CliDesk) -> None:
    agent = desk.own()
    held = Parking(ParkingKind.LIMIT, NOW + 3600, 0.0, "a limit")
    parked = replace(agent, state=Parked(), limits=Limits(parking=held))
    desk.writer.answers = [says()]
    await desk.room.papers.publish(parked, [])
    status = await desk.wrote(parked)
    assert (status.writer, status.note, desk.writer.asked) == ("deterministic", "it is parked", [])

    await desk.room.papers.publish(agent, [])
    await until(lambda: len(desk.writer.asked) == 1, desk.room.papers)


async def test_a_call_that_takes_its_time_stands_in_no_other_brief_s_way(desk: CliDesk) -> None:
    slow, asked = anyio.Event(), anyio.Event()

    class Slow:
        async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
            asked.set()
            await slow.wait()
            return WriterAnswer(says()(material), 5)

    desk.room.options = {"conversation": desk.said, "writers": {WriterKind.AUTO: Slow()}}
    papers = desk.room.restarted()
    agent = desk.own()
    other = replace(agent, spec=replace(agent.spec, name="b", brief=BriefRules()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(papers.briefing.generate, agent)
        with anyio.fail_after(60):
            await asked.wait()
            status = await desk.wrote(other)
        slow.set()

    assert status.writer == "deterministic"
    assert (await desk.writing_of("a")).writer == "cli"


async def test_a_death_is_settled_without_the_cli_and_the_cli_is_asked_afterwards(desk: CliDesk) -> None:
    agent = desk.own()
    desk.writer.answers = [says()]
    await desk.room.papers.publish(agent, [])
    died = replace(agent, last_exit=LastExit(1, None, 9, "signal 9", 60.0, NOW))

    await desk.room.papers.briefing.settle(died)

    assert desk.writer.asked == []
    await until(lambda: len(desk.writer.asked) == 1, desk.room.papers)
