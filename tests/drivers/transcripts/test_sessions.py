"""Transcripts lie where agents can write: only whole records of regular files count."""

from __future__ import annotations

import json
import os
from pathlib import Path

from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from tests.core.story import Story, claude

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
