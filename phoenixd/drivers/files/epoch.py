"""The epoch and the wishes on disk, each in a file of fixed length that is written in place and synced.

In place, because a full disk has no room for a second file beside the first, and because one fsync is enough then.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.behind.world import KeptBreaker, SeenRun, Wish
from phoenixd.core.seat.names import read as read_generation
from phoenixd.directories import make_private, sync_directory
from phoenixd.documents.breaker_file import NAME as BREAKER
from phoenixd.documents.breaker_file import SIZE_LIMIT as BREAKER_LIMIT
from phoenixd.documents.breaker_file import kept_breaker
from phoenixd.documents.epoch import LENGTH, parse_epoch, parse_wish, render_epoch, render_wish
from phoenixd.documents.heartbeat import SIZE_LIMIT, heartbeat_record
from phoenixd.documents.numbers import whole
from phoenixd.documents.resonance.anchor import SESSION, parse_anchor
from phoenixd.documents.resonance.anchor import key as anchor_key
from phoenixd.drivers.files.plain import read_plain
from phoenixd.errors import UnsafeFile
from phoenixd.ports.journal import RunFiles

EPOCH, WISH, HEARTBEAT = "epoch", "wish.json", "heartbeat.json"
SUB = "of a subagent"
"""In the place of a hook that says nothing of the main thread's turn."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
MAX_RECORD = 256 * 1024
WRITERS = 16
FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

log = structlog.get_logger()


class EpochFiles:
    """Implements ports.Epochs below a state directory. An older record never takes the place of a newer one."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._written: dict[Path, int] = {}
        self._locks: dict[Path, tuple[threading.Lock, int]] = {}
        """What keeps writers of one file apart, and how many of them there are."""
        self._last: set[Path] = set()
        """Files of agents that were removed, until nobody writes there any more."""
        self._guard = threading.Lock()
        self._limit: anyio.CapacityLimiter | None = None

    def epoch(self) -> int:
        """What stands in the file; 0 where there is none that can be believed. Blocking."""
        content = _read(self._state / EPOCH, LENGTH)
        return (parse_epoch(content) if content is not None else None) or 0

    def names(self) -> frozenset[str]:
        """The agents that have a directory. Blocking."""
        try:
            found = os.listdir(self._state / "agents")
        except FileNotFoundError:
            return frozenset()
        return frozenset(name for name in found if NAME.fullmatch(name))

    def run_files(self, agent: str) -> RunFiles:
        """What stands in an agent's directory of its wish and of its runs. Blocking."""
        place = self._state / "agents" / agent
        content = _read(place / WISH, LENGTH)
        run, ended = _record(place / "run.json"), _record(place / "exit.json")
        last = _seen(run) if run is not None else None
        numbers = [last.incarnation if last is not None else 0, whole((ended or {}).get("incarnation"))]
        has_ended = last is not None and ended is not None and ended.get("run_id") == last.run_id
        return RunFiles(
            parse_wish(content) if content is not None else None, last, max(numbers), has_ended, _heard(place),
            self._breaker(place), self._anchored(agent),
        )  # fmt: skip

    def _breaker(self, place: Path) -> KeptBreaker | None:
        content = _read(place / BREAKER, BREAKER_LIMIT)
        return kept_breaker(content) if content is not None else None

    def _anchored(self, agent: str) -> str:
        """The session whose marker stands on the disk; of a seat all generations have one anchor."""
        seat = read_generation(agent)
        for name in (agent, *((seat[0],) if seat is not None else ())):
            content = _read(self._state / "memory" / f"{anchor_key(name)}.json", MAX_RECORD)
            anchor = parse_anchor(content.decode("utf-8", "replace")) if content is not None else None
            if anchor is not None and anchor.ended_at is None:
                return str(anchor.others.get(SESSION) or "")[:200]
        return ""

    async def keep_epoch(self, number: int) -> None:
        """Make the epoch durable; raises OSError."""
        await self._write(self._state / EPOCH, number, lambda: render_epoch(number))

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        """Make an agent's wish durable; raises OSError."""
        path = self._state / "agents" / agent / WISH
        await self._write(path, wish.epoch, lambda: render_wish(wish), is_last=wish.word == "removed")

    async def _write(self, path: Path, number: int, render: Callable[[], bytes], *, is_last: bool = False) -> None:
        """is_last: nothing more is written there, unless by what waits already: the path is forgotten once it has."""
        if self._limit is None:
            self._limit = anyio.CapacityLimiter(WRITERS)
        with self._guard:
            lock, writers = self._locks.get(path, (threading.Lock(), 0))
            self._locks[path] = lock, writers + 1
        try:
            # Left alone where nobody waits any longer: a disk that hangs must not hold up who ends processes.
            await to_thread.run_sync(
                self._write_now, path, number, render, lock, is_last, limiter=self._limit, abandon_on_cancel=True
            )
        finally:
            self._leave(path)

    def _write_now(
        self, path: Path, number: int, render: Callable[[], bytes], lock: threading.Lock, last: bool
    ) -> None:
        with lock:
            if number < self._written.get(path, 0):
                return
            _put(path, render())
            with self._guard:
                self._written[path] = number
                (self._last.add if last else self._last.discard)(path)

    def _leave(self, path: Path) -> None:
        with self._guard:
            lock, writers = self._locks.pop(path)
            if writers > 1:
                self._locks[path] = lock, writers - 1
            elif path in self._last:
                self._last.discard(path)
                self._written.pop(path, None)


def _put(path: Path, content: bytes) -> None:
    try:
        descriptor = os.open(path, FLAGS & ~os.O_CREAT)
        is_new = False
    except FileNotFoundError:
        make_private(path.parent)
        descriptor, is_new = os.open(path, FLAGS, 0o600), True
    try:
        found = os.fstat(descriptor)
        if found.st_nlink != 1:
            raise UnsafeFile(f"{path} has several names: it may be somebody else's file")
        if found.st_size == LENGTH:
            os.pwrite(descriptor, content, 0)
            # Nothing but these bytes: the file system's own log, in which all documents stand too, is not waited for.
            os.fdatasync(descriptor)
        else:
            os.ftruncate(descriptor, LENGTH)
            os.pwrite(descriptor, content, 0)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        sync_directory(path.parent)


def _read(path: Path, limit: int) -> bytes | None:
    try:
        return read_plain(path, limit)
    except FileNotFoundError:
        return None
    except UnsafeFile as fault:
        log.warning("record_not_believed", path=str(path), reason=fault.message)
        return None


def _record(path: Path) -> dict[str, Any] | None:
    content = _read(path, MAX_RECORD)
    try:
        record = json.loads(content) if content is not None else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _heard(place: Path) -> tuple[str, str]:
    """The newest hook of a main thread that the shim wrote down, behind the id of its run; empty for none."""
    content = _read(place / HEARTBEAT, SIZE_LIMIT)
    record = heartbeat_record(content) if content is not None else None
    if record is None or not isinstance(record.get("run_id"), str) or not isinstance(record.get("event"), str):
        return "", ""
    return record["run_id"][:64], SUB if record.get("agent_id") else record["event"][:64]


def _seen(record: dict[str, Any]) -> SeenRun | None:
    """The run of a run.json, whose every field an agent may have written."""
    incarnation, run_id = whole(record.get("incarnation")), record.get("run_id")
    if not incarnation or not isinstance(run_id, str):
        return None
    child = record.get("child")
    child = child if isinstance(child, dict) else {}
    try:
        began = datetime.fromisoformat(str(record.get("started_at"))).timestamp()
    except (ValueError, OverflowError):
        began = 0.0
    return SeenRun(
        incarnation,
        run_id[:64],
        str(record.get("session_id") or "")[:200],
        str(record.get("mode") or "")[:20],
        whole(child.get("pid")) or None,
        whole(child.get("start_time")) or None,
        began,
        whole(record.get("epoch")),
        str(record.get("boot_id") or "")[:64],
    )
