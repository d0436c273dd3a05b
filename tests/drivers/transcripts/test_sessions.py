"""Transcripts lie where agents can write: only whole records of regular files count."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import to_thread

from phoenixd.drivers.transcripts import lines, log, sessions, sidechains
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.ports.evidence import AnswerGiven
from tests.core.story import Story, claude
from tests.hung_disk import hung_mount
from tests.transcripts.samples import answer, prompt

AGENT = Story(claude()).agent


def record(text: str) -> bytes:
    return json.dumps({"type": "queue-operation", "operation": "enqueue", "content": text}).encode() + b"\n"


async def test_prompts_queued_after_a_point_are_found_among_torn_and_foreign_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(record("before"))
    files = TranscriptFiles(lambda agent: str(path))
    end = await files.end(AGENT)
    with path.open("ab") as file:
        file.write(b"[1]\n\xff\xfe\n" + record("after") + record("torn")[:-10])

    assert await files.queued(AGENT, end) == ("after",)
    assert await files.queued(AGENT, 0) == ("before", "after")


async def test_no_transcript_and_no_regular_file_say_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real").write_bytes(record("x"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for path in (None, "missing", "pipe", "link"):
        files = TranscriptFiles(lambda agent, path=path: path and str(tmp_path / path))  # type: ignore[misc]
        assert await files.queued(AGENT, 0) == ()
    assert await TranscriptFiles(lambda agent: str(tmp_path / "missing")).end(AGENT) == 0


async def nothing_kept() -> None:
    return None


READERS: dict[str, Callable[[TranscriptFiles], Awaitable[object]]] = {
    "facts": lambda files: files.facts(AGENT),
    "usage": lambda files: files.usage(AGENT),
    "conversation": lambda files: files.conversation(AGENT),
    "turns": lambda files: files.turns(AGENT, 5, str),
    "passed": lambda files: to_thread.run_sync(files.passed_now, AGENT, re.compile(b"marker")),
    "newest of the log": lambda files: files.log(lambda _, text: text).newest([AGENT], 20, None, 0.0),
    "added to the log": lambda files: files.log(lambda _, text: text).added([AGENT], 0.0, 20),
    "queued": lambda files: files.queued(AGENT, 0),
    "answer": lambda files: files.answer_counted(AGENT, AnswerGiven(False, "marker")),
    "witness": lambda files: files.witness(AGENT, 2e9),
}


@pytest.mark.parametrize("after", ["nothing", "a newline", "lines"])
@pytest.mark.parametrize("name", READERS)
async def test_promise_7_a_transcript_of_holes_is_not_read_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, after: str
) -> None:
    """All agents' readers wait for each other, so who read one to its end would be waited for by the daemon."""
    path, read = tmp_path / "t.jsonl", 0
    path.write_bytes(prompt("Go.") + answer())
    os.truncate(path, 1 << 40)
    with path.open("ab") as file:
        file.write({"nothing": b"", "a newline": b"\n", "lines": b"\n" + prompt("On.") + answer()}[after])
    fill = lines.OpenLines._fill

    def counted(self: lines.OpenLines, view: memoryview, start: int, end: int) -> int:
        nonlocal read
        read += (got := fill(self, view, start, end))
        assert read < 512 << 20, "it is read through"
        return got

    monkeypatch.setattr(lines.OpenLines, "_fill", counted)
    monkeypatch.setattr(lines.OpenLines, "bytes_at", _counting(lines.OpenLines.bytes_at, counted))

    files = TranscriptFiles(lambda agent: str(path))
    await READERS[name](files)
    await READERS[name](files)


def _counting(
    bytes_at: Callable[[lines.OpenLines, int, int], bytes],
    count: Callable[[lines.OpenLines, memoryview, int, int], int],
) -> Callable[[lines.OpenLines, int, int], bytes]:
    def counted(self: lines.OpenLines, start: int, length: int) -> bytes:
        found = bytes_at(self, start, length)
        count(self, memoryview(bytearray(len(found))), start, start + len(found))
        return found

    return counted


async def test_behind_a_hole_a_transcript_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("Go.") + answer())
    os.truncate(path, 3 * lines.LONGEST)
    files = TranscriptFiles(lambda agent: str(path))
    before = await files.ledger(AGENT, nothing_kept, str)
    told_before = await files.conversation(AGENT)

    with path.open("ab") as file:
        file.write(b"\n" + prompt("On."))
    after = await files.ledger(AGENT, nothing_kept, str)
    told_after = await files.conversation(AGENT)

    assert before is not None
    assert after is not None
    assert after.offset == path.stat().st_size
    assert told_before is not None
    assert told_after is not None
    assert [one.text for one in told_after.utterances] == ["On."]
    assert not told_after.is_whole


async def test_of_agents_that_are_long_gone_no_place_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_AGENTS", 3)
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("Go."))
    files = TranscriptFiles(lambda agent: str(path))
    for number in range(5):
        worker = replace(AGENT, spec=replace(AGENT.spec, name=f"w-{number}"))
        await files.facts(AGENT)
        files.passed_now(AGENT, re.compile(b"Go"))
        await files.facts(worker)
        files.passed_now(worker, re.compile(b"Go"))

    assert list(files._tails) == ["w-3", AGENT.name, "w-4"]
    assert list(files._passing) == ["w-3", AGENT.name, "w-4"]
    assert files.passed_now(AGENT, re.compile(b"Go")) == ()


async def test_a_transcript_on_a_dead_mount_holds_up_no_other_and_tells_what_one_that_is_not_there_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reader held what all agents share while it read: one dead mount, and nothing was read of anybody."""
    monkeypatch.setattr(sessions, "PATIENCE", 0.1)
    well = replace(AGENT, spec=replace(AGENT.spec, name="well"))
    (tmp_path / "well.jsonl").write_bytes(prompt("Go.") + answer("Done."))
    with hung_mount(tmp_path / "dead") as dead:
        files = TranscriptFiles(lambda agent: str((tmp_path if agent is well else dead) / f"{agent.name}.jsonl"))
        for _ in range(2):
            assert await files.facts(AGENT) is None
            assert await files.conversation(AGENT) is None
            assert await files.end(AGENT) == 0
            assert not (await files.witness(AGENT, 2e9)).is_whole
        assert await files.facts(well) is not None
        told = await files.conversation(well)
        assert told is not None
        assert [one.text for one in told.utterances] == ["Go.", "Done."]
        assert files.last_words_now(well) is not None


async def test_a_log_of_a_transcript_on_a_dead_mount_has_what_the_others_say_and_takes_no_thread_from_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PATIENCE", 0.5)
    well = replace(AGENT, spec=replace(AGENT.spec, name="well"))
    (tmp_path / "well.jsonl").write_bytes(prompt("Go.") + answer("Done."))
    with hung_mount(tmp_path / "dead") as dead:
        files = TranscriptFiles(lambda agent: str((tmp_path if agent is well else dead) / f"{agent.name}.jsonl"))
        reader = files.log(lambda name, text: text)
        for _ in range(2):
            told = await reader.newest((AGENT, well), 10, None, 2e9)
            assert [one.text for one in told] == ["Go.", "Done."]
            assert await reader.earlier(AGENT, 10, 0.0) == []
            assert await reader.added((AGENT, well), 0.0, 10) == ([], False)
        assert to_thread.current_default_thread_limiter().borrowed_tokens == 0


async def test_of_subagents_transcripts_no_more_names_are_held_than_are_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidechains, "MOST_ENTRIES", 5)
    below = tmp_path / "t" / "subagents"
    below.mkdir(parents=True)
    for number in range(20):
        (below / f"{number:02}.jsonl").touch()
    assert len(sidechains.sidechains(str(tmp_path / "t.jsonl"), 3)) == 3
    assert len(sidechains.sidechains(str(tmp_path / "t.jsonl"), 100)) == 5
    assert sidechains.sidechains(str(tmp_path / "other.jsonl"), 3) == []
