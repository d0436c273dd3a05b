"""Open loops in the documents: counted, flagged as stale, and closed by a resolution (P26 to P29)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest

from tests.memory.desk import LOOP, edit, place
from tests.start.places import NOW, Room


async def test_p28_p29_stale_loops_are_flagged_as_the_day_turns(room: Room) -> None:
    place(room, open_loops=[{**LOOP, "added": "2026-11-07"}])
    await room.papers.publish(room.agent(), [])
    assert room.document()["open_loops"][0]["stale"] is False
    assert room.papers.loops("a").stale == 0
    assert room.papers.stale_loops(["a", "b"]) == {}

    async with anyio.create_task_group() as tasks:
        room.clock.wall = NOW + 86400
        tasks.start_soon(room.papers.run)
        with anyio.fail_after(10):
            while not room.document()["open_loops"][0]["stale"]:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    assert (room.papers.loops("a").open, room.papers.loops("a").stale) == (1, 1)
    assert room.papers.stale_loops(["a", "b"]) == {"a": 1}
    assert "is stale" in room.text("brief.md")


async def test_loops_are_counted_for_an_agent_that_nobody_published_yet(room: Room) -> None:
    place(room, open_loops=[LOOP, {**LOOP, "id": "old", "added": "2026-01-01"}])

    counts = room.papers.loops("a")

    assert (counts.open, counts.stale) == (2, 1)
    assert room.papers.loops("b").open == 0


async def test_counting_loops_touches_nothing(room: Room) -> None:
    """A request for the status holds no lock, and must not repair what somebody else may be writing."""
    place(room, open_loops=[LOOP, 5])
    before = sorted(room.state.iterdir())

    assert room.papers.loops("a").open == 1

    assert sorted(room.state.iterdir()) == before
    await room.papers.publish(room.agent(), [])
    assert list(room.state.glob("state.json.damaged-*")), "what a writer makes of it"


class TestResolve:
    async def test_p26_p50_p51_it_is_in_the_log_and_in_the_state_at_once(self, room: Room) -> None:
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}])
        await room.papers.publish(room.running(room.agent()), [])

        assert await room.papers.resolve(room.agent(), "auth-flow", "tested") == "resolved"

        state = room.document()
        assert [loop["id"] for loop in state["open_loops"]] == ["other"]
        assert state["resolved"] == [{"id": "auth-flow", "reason": "tested", "resolved_date": "2026-11-21"}]
        assert json.loads(room.text("resolved.jsonl"))["domain"] == "a"
        assert "auth-flow" not in room.text("brief.md").split("## Next")[0]

    async def test_p26_a_repeat_writes_nothing_and_an_unknown_id_neither(self, room: Room) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.resolve(room.agent(), "auth-flow", "tested")
        before = room.text("resolved.jsonl")

        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert await room.papers.resolve(room.agent(), "nothing", "again") == "unknown"
        assert room.text("resolved.jsonl") == before

    async def test_p38_p77_fifty_at_once_are_fifty_and_the_log_only_grows(self, room: Room) -> None:
        place(room, open_loops=[{**LOOP, "id": f"loop-{n}"} for n in range(50)])
        (room.state / "resolved.jsonl").write_text('{"id": "before"}\n')
        inode = (room.state / "resolved.jsonl").stat().st_ino

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(room.papers.resolve, room.agent(), f"loop-{number}", "done")

        lines = room.text("resolved.jsonl").splitlines()
        assert len(lines) == 51
        assert lines[0] == '{"id": "before"}'
        assert (room.state / "resolved.jsonl").stat().st_ino == inode
        assert room.document()["open_loops"] == []

    async def test_p13_p26_a_repeat_is_known_after_it_has_left_the_state(self, room: Room) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.resolve(room.agent(), "auth-flow", "tested")
        room.clock.wall = NOW + 8 * 86400
        await room.papers.publish(room.agent(), [])
        assert room.document()["resolved"] == []

        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert len(room.text("resolved.jsonl").splitlines()) == 1

    async def test_f_st_11_nothing_is_promised_where_the_state_may_not_be_written(self, room: Room) -> None:
        place(room, version=3, open_loops=[LOOP])

        assert await room.papers.resolve(room.agent(), "auth-flow", "tested") == "frozen"
        assert not (room.state / "resolved.jsonl").exists()

    async def test_p76_a_crash_between_the_log_and_the_state_closes_the_loop_at_the_next_start(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.publish(room.agent(), [])
        with monkeypatch.context() as crash:
            crash.setattr(room.papers.publication, "publish", lambda *_: anyio.sleep(0))
            await room.papers.resolve(room.agent(), "auth-flow", "tested")
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["auth-flow"]

        room.restarted()
        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert (room.document()["open_loops"], len(room.text("resolved.jsonl").splitlines())) == ([], 1)

    async def test_a_line_of_another_hand_behind_ours_is_not_passed_over(self, room: Room) -> None:
        """phoenixctl writes while no daemon runs; what any other program appended meanwhile is heard too."""
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}, {**LOOP, "id": "third"}])
        await room.papers.publish(room.agent(), [])
        with (room.state / "resolved.jsonl").open("a") as log:
            log.write('{"id": "other", "reason": "by hand", "ts": "2026-11-21T10:00:00Z", "domain": "a"}\n')

        await room.papers.resolve(room.agent(), "auth-flow", "tested")

        assert [loop["id"] for loop in room.document()["open_loops"]] == ["third"]

    async def test_f_st_10_what_was_resolved_while_the_daemon_was_down_is_applied_once(self, room: Room) -> None:
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}])
        await room.papers.publish(room.agent(), [])
        with (room.state / "resolved.jsonl").open("a") as log:
            log.write(
                '{"id": "auth-flow", "reason": "by hand", "ts": "2026-11-20T10:00:00Z", "domain": "a"}\n{"id": "ot'
            )
        room.restarted()

        await room.papers.publish(room.agent(), [])
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["other"]
        assert room.document()["resolved"][0]["resolved_date"] == "2026-11-20"

        with (room.state / "resolved.jsonl").open("a") as log:
            log.write('her", "reason": "the rest of a torn line"}\n')
        edit(room, open_loops=[LOOP])
        room.restarted()
        await room.papers.publish(room.agent(), [])
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["auth-flow"], "reopened by the operator"


class TestBriefVerbs:
    async def test_p41_p42_documents_are_judged_as_they_stand(self, room: Room) -> None:
        assert [fault.kind for fault in await room.papers.check_brief("a")] == ["missing", "missing"]
        await room.papers.publish(room.agent(), [])
        os.utime(room.state / "brief.md", (NOW, NOW))
        assert await room.papers.check_brief("a") == ()

        room.clock.wall = NOW + 36 * 3600
        (old,) = await room.papers.check_brief("a")
        assert (old.document, old.kind) == ("brief.md", "age")
        (room.state / "state.json").write_text('{"agent": "b", "open_loops": []}')
        assert [(fault.kind, fault.field) for fault in await room.papers.check_brief("a")] == [
            ("schema", "agent"),
            ("age", ""),
        ]

    async def test_p20_a_brief_is_written_anew_also_where_nothing_changed(self, room: Room) -> None:
        await room.papers.publish(room.agent(), [])
        os.utime(room.state / "brief.md", (NOW - 9e5, NOW - 9e5))
        await room.papers.publish(room.agent(), [])
        assert await room.papers.check_brief("a"), "nothing changed, so nothing was written"

        page = await room.papers.generate_brief(room.agent())

        assert page == await room.papers.brief("a")
        assert page.text == room.text("brief.md")
        assert page.written > NOW - 9e5
        assert await room.papers.check_brief("a") == ()

    async def test_what_is_no_plain_file_is_no_brief(self, room: Room, tmp_path: Path) -> None:
        await room.papers.publish(room.agent(), [])
        (tmp_path / "victim").write_text("secret")
        (room.state / "brief.md").unlink()
        (room.state / "brief.md").symlink_to(tmp_path / "victim")

        assert await room.papers.brief("a") is None
        assert "secret" not in (await room.papers.generate_brief(room.agent())).text


async def test_f_st_6_a_stale_loop_is_flagged_and_told_in_the_brief(room: Room) -> None:
    place(room, open_loops=[{**LOOP, "added": "2026-10-01"}])
    await room.papers.publish(room.agent(), [])

    assert room.document()["open_loops"][0]["stale"] is True
    assert room.papers.loops("a").stale == 1
    assert "stale" in room.text("brief.md")
