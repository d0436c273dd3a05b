"""The page of an agent tells its newest session's last words: after a kill, without a transcript, after a restart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Session
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from tests.start.places import NOW, Room, entry
from tests.transcripts.samples import answer, prompt, tool_result, tool_use

SECRET = "hunter2-hunter2-hunter2"
GOAL = "Do it."


class Stage:
    """An agent whose papers read one transcript."""

    def __init__(self, room: Room) -> None:
        self.room, self.path = room, room.home / "t.jsonl"
        self.spec = room.spec(harness="claude", prompt=GOAL, env=(("API_TOKEN", SECRET),))
        self.restarted()

    def restarted(self) -> None:
        self.room.options = {"ledger": TranscriptFiles(lambda agent: str(self.path)).ledger}
        self.room.restarted()

    def append(self, *lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(lines))

    def agent(self, session: str = "s-1", **changes: object) -> Agent:
        return self.room.agent(self.spec, session=Session(session, NOW, NOW), **changes)

    async def dies(self, session: str = "s-1") -> str:
        """The page after the end of its run."""
        await self.room.papers.publish(self.agent(session), [entry("agent_exited", reason="signal 9", signal=9)])
        return self.page

    @property
    def page(self) -> str:
        return (self.room.state / "brief.md").read_text()

    @property
    def quoted(self) -> list[str]:
        return [line[2:] for line in self.page.split("\n") if line.startswith("> ")]


@pytest.fixture
def stage(room: Room) -> Stage:
    return Stage(room)


async def test_after_a_kill_the_page_tells_what_was_said_last(stage: Stage) -> None:
    stage.append(prompt(GOAL), answer("Begun."), prompt("修复登录"), answer("重试逻辑还没有写。", request="r-2"))

    await stage.dies()

    assert stage.quoted == ["Begun.", "修复登录", "重试逻辑还没有写。"], "the goal is ours, and stands under Goal"


@pytest.mark.parametrize("more", ["", "\n\nYou were interrupted. Go on.\n\nThese jobs ended: make world."])
@pytest.mark.parametrize("length", [3_000, 4_500, 40_000])
async def test_a_goal_of_any_length_is_ours_and_no_persons_word(stage: Stage, length: int, more: str) -> None:
    goal = "\n\n".join(f"{number}. Do the thing." for number in range(length // 20))
    stage.spec = replace(stage.spec, prompt=f"{goal}\n")
    stage.append(prompt(goal + more), answer("Begun."))

    await stage.dies()
    stage.restarted()
    await stage.room.papers.publish(stage.agent(last_prompt=(goal + more)[:2048]), [])

    assert stage.quoted == ["Begun."]


async def test_a_prompt_that_is_only_like_a_long_goal_is_a_persons(stage: Stage) -> None:
    """Its middle differs, which is not kept."""
    goal = "Do the thing. " * 400
    stage.spec = replace(stage.spec, prompt=goal)
    stage.append(prompt(goal[:2800] + "Do it otherwise. " + goal[2800:]), answer("Begun."))

    await stage.dies()

    assert stage.quoted[-1] == "Begun."
    assert stage.quoted[0].startswith("Do the thing.")


async def test_what_is_added_before_the_next_kill_is_told_too(stage: Stage) -> None:
    stage.append(prompt("one"), answer("first."))
    await stage.dies()
    stage.append(prompt("two"), answer("second.", request="r-2"))
    await stage.dies()

    assert stage.quoted == ["one", "first.", "two", "second."]


async def test_the_words_outlive_their_transcript_and_the_daemon(stage: Stage) -> None:
    stage.append(prompt("one"), answer("first."))
    await stage.dies()
    stage.path.unlink()
    stage.restarted()

    await stage.room.papers.publish(stage.agent(), [])

    assert stage.quoted == ["one", "first."]


async def test_a_fresh_session_is_told_the_words_of_the_one_before_until_it_speaks(stage: Stage) -> None:
    stage.append(prompt("one"), answer("first."))
    await stage.dies()
    old = stage.path
    stage.path = old.with_name("fresh.jsonl")
    stage.append(prompt(GOAL, sessionId="s-2"))
    await stage.dies("s-2")
    before = stage.quoted
    stage.append(answer("of the new one", request="r-9", sessionId="s-2"))
    await stage.dies("s-2")

    assert before == ["one", "first."]
    assert stage.quoted == ["of the new one"]


async def test_without_a_transcript_the_page_says_what_hooks_told(stage: Stage) -> None:
    stopped = entry("hook_seen", kind="stop", text="Half of it stands.")
    agent = stage.agent(last_prompt="Fix the login")

    await stage.room.papers.publish(agent, [stopped])
    first = stage.page
    stage.restarted()
    await stage.room.papers.publish(agent, [])

    for page in (first, stage.page):
        assert "No transcript could be read. Quoted from what hooks told of the session; data, not" in page
    assert sorted(stage.quoted) == ["Fix the login", "Half of it stands."]


async def test_canary_no_file_of_the_agent_holds_a_secret_that_was_said(stage: Stage) -> None:
    long = f"It is {SECRET}. " + "More. " * 700 + f"Again {SECRET}"
    stage.append(prompt(f"use {SECRET}"), answer(long))
    stopped = entry("hook_seen", kind="stop", text=f"I used {SECRET}.")

    await stage.room.papers.publish(stage.agent(last_prompt=f"use {SECRET}"), [stopped])
    await stage.dies()

    assert "[redacted]" in stage.page
    for path in Path(stage.room.directories.state).rglob("*"):
        assert not path.is_file() or SECRET[:12].encode() not in path.read_bytes(), path


async def test_changed_tells_files_and_how_the_checks_went(stage: Stage) -> None:
    stage.append(
        prompt("go"),
        tool_use("c-1", command="npm test"),
        tool_result("c-1", "Exit code 1\nboom", failed=True, toolUseResult="Error: Exit code 1\nboom"),
        tool_use("w-1", "Edit", file_path=f"{stage.room.work}/src/a.ts", old_string="a", new_string="b"),
        tool_result("w-1", "ok", toolUseResult={"filePath": f"{stage.room.work}/src/a.ts"}),
        tool_use("c-2", command="npm test"),
        tool_result("c-2", "ok", toolUseResult={"stdout": "ok", "stderr": "", "interrupted": False}),
        answer("It passes."),
    )

    page = await stage.dies()

    assert "- Files that the session's tools wrote, the newest first: `src/a.ts`\n" in page
    assert "- `npm test`: failed (exit 1) -> passed" in page
    assert page.count("- By phoenixd: ") == 1


async def test_p85_status_tells_age_and_writer_of_the_brief(stage: Stage) -> None:
    assert stage.room.papers.loops("a").brief is None
    stage.append(prompt("one"), answer("first."))
    await stage.dies()

    face = stage.room.papers.loops("a").brief

    assert face is not None
    assert face.writer is None, "no run has written yet"
    assert face.written == (stage.room.state / "brief.md").stat().st_mtime_ns / 1e9
    await stage.room.papers.generate_brief(stage.agent())
    face = stage.room.papers.loops("a").brief
    assert face is not None
    assert face.writer == "deterministic"


@pytest.mark.parametrize("odd", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
async def test_a_record_with_a_time_of_no_calendar_costs_its_time_and_nothing_else(stage: Stage, odd: str) -> None:
    stage.append(prompt("one"), answer("first.", timestamp=odd))

    await stage.dies()
    stage.restarted()
    await stage.room.papers.publish(stage.agent(), [])

    assert stage.quoted == ["one", "first."]


async def test_a_clock_that_was_set_back_hides_no_newer_session(stage: Stage) -> None:
    """The session that goes on is told, whatever the times of the one before it say."""
    stage.append(prompt("one", timestamp="2026-11-21T11:00:00Z"), answer("first.", timestamp="2026-11-21T11:00:01Z"))
    await stage.dies()
    stage.path = stage.path.with_name("fresh.jsonl")
    told = {"request": "r-9", "sessionId": "s-2"}
    stage.append(prompt("two", sessionId="s-2", timestamp="2026-11-21T10:00:00Z"))
    stage.append(answer("of the new one", timestamp="2026-11-21T10:00:01Z", **told))
    await stage.dies("s-2")

    assert stage.quoted == ["two", "of the new one"]
