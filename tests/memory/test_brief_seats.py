"""P20: the brief of a seat, over handoffs and generations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.run import LastExit
from phoenixd.memory.brief.run import BriefRuns
from tests.memory.desk import LOOP, TASKS, Desk, ids, place, says, until
from tests.start.places import NOW


class TestSeats:
    """The papers of a seat outlive its generations, each of which counts its own incarnations."""

    async def test_p20_a_handoff_is_a_run_of_facts_that_leaves_what_a_writer_said(self, desk: Desk) -> None:
        agent = desk.agent(daily=False, on_change=False)
        place(desk.room, open_loops=[LOOP])
        kept = {"id": "auth-flow", "text": "x"}
        desk.writer.answers = [says(summary="Please finish the login page.", open_loops=[kept])]
        await desk.room.papers.briefing.generate(agent)
        desk.tasks = TASKS
        desk.room.clock.wall += 60

        await desk.room.papers.briefing.hand_over(agent)

        assert len(desk.writer.asked) == 1, "the successor waits, so no model is asked"
        assert "task-refresh-the-token" in ids(desk.room)
        assert "Please finish the login page." in desk.room.text("brief.md")
        assert desk.room.document("brief.json")["ledger"]["last_run"] == NOW + 60

    async def test_p20_a_brief_that_cannot_be_written_holds_up_no_handoff(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(BriefRuns, "_switch", full)

        await desk.room.papers.briefing.hand_over(desk.agent())

    async def test_p20_the_clean_exit_of_a_successor_is_a_run_whatever_its_predecessors_count_was(
        self, desk: Desk
    ) -> None:
        desk.writer.answers = [says(), says(), says()]
        first = desk.agent(daily=False)
        await desk.room.papers.briefing.generate(first)
        ended = replace(desk.room.agent(first.spec), last_exit=LastExit(7, 0, None, "exit", 60.0, NOW))
        await desk.room.papers.publish(ended, [])
        # The writer is asked before what it says is written.
        await until(lambda: desk.room.document("brief.json")["ledger"]["ended"] == 7, desk.room.papers)

        second = replace(first.spec, name="a-g2", seat="a", generation=2)
        left = replace(desk.room.agent(second), last_exit=LastExit(1, 0, None, "exit", 60.0, NOW))
        await desk.room.papers.publish(left, [])
        await until(lambda: desk.room.document("brief.json")["ledger"]["ended"] == 1, desk.room.papers)
