"""The tail of a transcript, read where no hook tells what became of a prompt. Agents can write these files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.harness import HARNESSES

READ_LIMIT = 16 << 20


class TranscriptFiles:
    """Implements ports.Transcripts. `path_of`: the file that an agent's session writes, None where none is known."""

    def __init__(self, path_of: Callable[[Agent], str | None]) -> None:
        self._path_of = path_of

    async def end(self, agent: Agent) -> int:
        path = self._path_of(agent)
        return await to_thread.run_sync(_size, path) if path is not None else 0

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        path, harness = self._path_of(agent), HARNESSES.get(agent.spec.harness)
        if path is None or harness is None:
            return ()
        content = await to_thread.run_sync(_read, path, after)
        return tuple(text for record in _records(content) if (text := harness.queued_prompt(record)) is not None)


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0


def _read(path: str, after: int) -> bytes:
    """Everything after that many bytes, up to a limit; nothing where there is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        file.seek(after)
        return file.read(READ_LIMIT)


def _records(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record
