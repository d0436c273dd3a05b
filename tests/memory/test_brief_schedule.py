"""When a brief run is due: daily, by a change, by the end of a turn, a run or a session, and when it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from phoenixd.api.values import LoopsRead
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.briefing import DAY, LAG
from phoenixd.memory.brief.loops import KINDS, Kind
from phoenixd.memory.brief.run import BriefRuns
from tests.memory.desk import LOOP, TASKS, Desk, ids, place, says, until
from tests.start.places import NOW, entry


class TestSchedule:
    async def test_p40_f_br_8_one_run_makes_up_for_days_of_down_time(self, desk: Desk) -> None:
        agent = desk.agent()
        desk.writer.answers = [says(), says(), says()]
        await desk.room.papers.briefing.generate(agent)
        desk.room.clock.wall += 5 * DAY
        papers = desk.restarted()
        papers.briefing.hear(agent)

        await until(lambda: len(desk.writer.asked) == 2 and papers.briefing._one.statistics().locked is False, papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] >= NOW + 5 * DAY

    async def test_p40_when_the_next_run_is_due_is_known_to_all_faces(self, desk: Desk) -> None:
        agent = desk.agent()
        desk.writer.answers = [says()]
        await desk.room.papers.briefing.generate(agent)
        await desk.room.papers.publish(agent, [])
        assert desk.room.papers.loops("b").brief is None
        plans = desk.room.papers.briefing._plans
        await until(lambda: "a" in plans, desk.room.papers)

        face = desk.room.papers.loops("a").brief

        assert face is not None
        assert face.next == plans["a"].at
        assert NOW < plans["a"].at <= NOW + DAY, "the daily run"
        second = replace(agent, spec=replace(agent.spec, name="a-g2", seat="a", generation=2))
        desk.room.papers.briefing.hear(second)
        await until(lambda: "a-g2" in plans, desk.room.papers)
        plans["a-g2"] = replace(plans["a-g2"], at=NOW + 7)
        face = desk.room.papers.loops("a").brief
        assert face is not None
        assert face.next == NOW + 7, "of a seat that of its holder"

    async def test_p20_a_changed_task_is_a_run_and_not_sooner_than_the_spacing(self, desk: Desk) -> None:
        """X22: what is a significant change is defined."""
        agent = desk.agent(daily=False, spacing=600.0)
        desk.writer.answers = [says(), says()]
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)

        await desk.room.papers.publish(replace(agent, last_prompt="Fix the logout"), [])
        await until(lambda: len(desk.writer.asked) == 2, desk.room.papers)

        assert desk.writer.asked[1][0].now == pytest.approx(NOW + 600)

    async def test_p20_a_clean_exit_is_a_run_at_once(self, desk: Desk) -> None:
        agent = desk.agent(daily=False)
        desk.writer.answers = [says(), says()]
        await desk.room.papers.briefing.generate(agent)
        ended = replace(desk.room.agent(agent.spec), last_exit=LastExit(1, 0, None, "exit", 60.0, NOW))

        await desk.room.papers.publish(ended, [])
        await until(lambda: len(desk.writer.asked) == 2, desk.room.papers)

        assert desk.writer.asked[1][0].now == NOW

    async def test_a_turns_end_costs_no_model_and_keeps_what_it_said(self, desk: Desk) -> None:
        desk.tasks = TASKS
        agent = desk.agent(daily=False)
        desk.writer.answers = [says(summary="Please finish the login page.")]
        await desk.room.papers.publish(agent, [])
        desk.tasks = ()
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS

        await desk.room.papers.publish(agent, [entry("hook_seen", kind="stop", reason="the turn ended")])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert len(desk.writer.asked) == 1
        assert "Please finish the login page." in desk.room.text("brief.md")

    async def test_a_turns_last_words_are_waited_for(self, desk: Desk) -> None:
        """Claude Code tells of a turn's end before it has written down the answer that ended it."""
        desk.tasks = TASKS
        agent = desk.plain(daily=False)
        await desk.room.papers.publish(agent, [])
        ended = entry("hook_seen", kind="stop", reason="the turn ended")

        await desk.room.papers.publish(agent, [ended])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] == ended.wall + LAG

    async def test_p28_open_loops_say_as_of_when_they_are_and_when_a_turn_since_then_is_read(self, desk: Desk) -> None:
        """What a turn did is read by the next brief run, which brief.spacing may put off for ten minutes."""
        agent = desk.plain(daily=False, spacing=600.0)
        papers = desk.room.papers
        await papers.publish(agent, [])
        assert papers.loops_read("a", "a").at == 0
        await papers.briefing.generate(agent)
        assert papers.loops_read("a", "a") == LoopsRead(NOW, 0.0)
        ended = entry("hook_seen", kind="stop", reason="the turn ended")
        await papers.publish(agent, [ended])
        assert papers.loops_read("a", "a").due > 0

        later = desk.restarted()
        await later.open_loops("a")
        assert later.loops_read("a", "a").at == NOW, "another daemon knows it as well"
        await later.publish(agent, [ended])
        desk.room.clock.stands_still = True
        await until(lambda: later.loops_read("a", "a") == LoopsRead(NOW, NOW + 600), later)
        desk.room.clock.stands_still = False
        await until(lambda: later.loops_read("a", "a") == LoopsRead(NOW + 600, 0.0), later)

    async def test_a_run_that_came_too_soon_for_a_turns_last_words_is_not_the_last(self, desk: Desk) -> None:
        agent = desk.plain(daily=False, spacing=60.0)
        ended = entry("hook_seen", kind="stop", reason="the turn ended")
        await desk.room.papers.publish(agent, [ended])
        desk.tasks = ()
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS
        assert ids(desk.room) == []

        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert desk.room.document("brief.json")["ledger"]["last_run"] == ended.wall + 60

    async def test_what_a_session_said_last_is_read_when_it_is_left_for_another(self, desk: Desk) -> None:
        """By /clear, or by a fresh start after a death: the next run would read another transcript."""
        agent = desk.plain(daily=False, spacing=600.0)
        assert agent.session is not None
        desk.tasks = ()
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)
        desk.tasks_of[agent.session.session_id] = TASKS
        desk.room.clock.wall += 60
        cleared = replace(agent, session=replace(agent.session, session_id="another"))

        await desk.room.papers.publish(cleared, [])
        await until(lambda: "task-refresh-the-token" in ids(desk.room), desk.room.papers)

        assert "task-refresh-the-token" in desk.room.text("session-start.1.txt")
        # The next run, for the change, is due 600 s after the first, and the clock here runs fast.
        last_run = desk.room.document("brief.json")["ledger"]["last_run"]
        assert last_run in (NOW, NOW + 600.0), "the new session's runs are not put off"

    async def test_a_session_that_is_left_without_a_word_changes_nothing(self, desk: Desk) -> None:
        agent = desk.plain(daily=False)
        assert agent.session is not None
        await desk.room.papers.publish(agent, [])
        await desk.room.papers.briefing.generate(agent)
        desk.room.clock.wall += 60
        before, desk.talks[agent.session.session_id] = desk.room.text("brief.json"), ()

        await desk.room.papers.publish(replace(agent, session=replace(agent.session, session_id="another")), [])
        await until(lambda: desk.heard[-1] == agent.session.session_id and not desk.room.papers.briefing._left["a"],
                    desk.room.papers)  # fmt: skip

        assert desk.room.text("brief.json") == before


async def test_only_the_agent_of_which_something_changed_is_planned_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a hundred agents that work cost ten thousand plans for each round of theirs."""
    papers, looked = desk.room.papers, list[str]()
    look = BriefRuns.look

    async def counted(runs: BriefRuns, agent: Agent) -> Any:
        looked.append(agent.name)
        return await look(runs, agent)

    monkeypatch.setattr(BriefRuns, "look", counted)
    desk.room.clock.stands_still = True
    agents = {name: replace(desk.plain(), spec=replace(desk.room.spec(), name=name)) for name in "abcdefgh"}

    async def planned(name: str) -> None:
        await papers.publish(agents[name], [])
        with anyio.fail_after(60):
            while name not in looked:
                await anyio.sleep(0.01)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(papers.briefing.run)
        for name in agents:
            await planned(name)
        looked.clear()
        for name in "dg":
            await planned(name)
        assert set(looked) == set("dg")
        tasks.cancel_scope.cancel()


async def test_a_loop_that_an_operator_closed_is_a_change_at_once(desk: Desk) -> None:
    agent = desk.plain()
    place(desk.room, open_loops=[LOOP])
    await desk.room.papers.publish(agent, [])
    papers = desk.room.papers
    desk.room.clock.wall += 3600

    async def resolve() -> None:
        assert await papers.resolve(agent, "auth-flow", "tested by hand") == "resolved"

    async with anyio.create_task_group() as tasks:
        desk.room.clock.stands_still = True
        tasks.start_soon(papers.briefing.run)
        await anyio.wait_all_tasks_blocked()
        runs = len(desk.heard)
        await resolve()
        with anyio.fail_after(60):
            while len(desk.heard) == runs:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


def item(number: int, kind: str, text: str, left: bool = False) -> InboxItem:
    return InboxItem(number, "a", 1, kind, text, "hash", NOW, "attach", left=left)


@pytest.mark.parametrize(
    ("kind", "is_left"), [("failed turn", False), ("quarantined", False), ("permission", False), ("permission", True)]
)
async def test_what_was_answered_or_withdrawn_is_no_open_loop_two_seconds_later(
    desk: Desk, kind: str, is_left: bool
) -> None:
    """A newcomer read "Waits for a person" for more than a minute after the answer, and after a stop."""
    agent = replace(desk.plain(daily=False, spacing=600.0), items=(item(7, kind, "may it go on?", is_left),))
    papers = desk.room.papers
    await papers.publish(agent, [])
    await papers.briefing.generate(agent)
    (open_loop,) = (loop["id"] for loop in desk.room.document()["open_loops"] if "may it go on?" in loop["text"])

    await papers.publish(replace(agent, items=(item(8, "failed turn", "another one"),)), [])
    await until(lambda: open_loop not in ids(desk.room), papers)

    assert desk.room.document("brief.json")["ledger"]["last_run"] == NOW + LAG
    assert any("another one" in loop["text"] for loop in desk.room.document()["open_loops"])


async def test_what_a_reading_leaves_open_is_not_read_again_and_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = replace(desk.plain(daily=False, spacing=600.0), items=(item(7, "failed turn", "may it go on?"),))
    papers = desk.room.papers
    await papers.publish(agent, [])
    await papers.briefing.generate(agent)
    monkeypatch.setitem(KINDS, "inbox", Kind(lambda seen: iter(()), lambda loop, seen: None))
    await papers.publish(replace(agent, items=()), [])
    read = len(desk.heard)

    await until(lambda: "a" in papers.briefing._left_over, papers)
    for _ in range(3):
        await papers.publish(replace(agent, items=()), [])
        _, due = await papers.briefing._look(agent)
        assert due is None

    assert len(desk.heard) == read + 1
