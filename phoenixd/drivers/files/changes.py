"""Which names of a directory another hand, or ours, has written, moved or removed: by inotify, and without a tick.

The kernel wakes the loop when something changed and at no other time, so watching a directory in which nothing happens
costs nothing. Directories are watched, never files: a document is replaced by rename.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import anyio
import structlog

CLOSE_WRITE, MOVED_FROM, MOVED_TO, DELETE, ONLYDIR, OVERFLOW, IGNORED = 8, 0x40, 0x80, 0x200, 0x1000000, 0x4000, 0x8000
MASK = CLOSE_WRITE | MOVED_FROM | MOVED_TO | DELETE | ONLYDIR
HEADER = struct.Struct("iIII")
READ_SIZE = 64 * 1024
OTHERS = 0.25
"""Seconds without a look after changes of which nothing is told."""

_libc = ctypes.CDLL(None, use_errno=True)

log = structlog.get_logger("phoenixd.changes")


class DirectoryChanges:
    """Implements ports.Changes. What cannot be watched is told once in the log, and then never heard of.

    names: of what is told; without any all is. An agent's directory changes at each hook, and few care.
    """

    def __init__(self, *names: str) -> None:
        self._names = frozenset(map(os.fsencode, names))
        self._descriptor = -1
        self._watched: dict[int, Path] = {}
        self._warned = False

    def watch(self, directory: Path) -> bool:
        """Watch a directory from now on; again for one that was made anew, and harmless for one that is watched.

        False where there is one and the kernel watches no more.
        """
        if self._descriptor < 0 and not self._open():
            return False
        number = _libc.inotify_add_watch(self._descriptor, os.fsencode(directory), MASK)
        if number < 0:
            refused = ctypes.get_errno()
            self._warn(refused, str(directory))
            return refused == errno.ENOENT
        self._watched[number] = directory
        return True

    async def next(self) -> frozenset[Path]:
        """Wait until something changed; the paths that did. A directory stands for all of it where events were lost."""
        while True:
            if self._descriptor < 0 and not self._open():
                await anyio.sleep_forever()
            await anyio.wait_readable(self._descriptor)
            if changed := frozenset(self._changed()):
                return changed
            # The kernel wakes us for every name in the directory: heartbeats of 100 agents are one turn, not 300.
            await anyio.sleep(OTHERS)

    def close(self) -> None:
        """Watch nothing any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
        self._watched.clear()

    def _changed(self) -> Iterator[Path]:
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except BlockingIOError:
            return
        at = 0
        while at + HEADER.size <= len(data):
            number, mask, _, length = HEADER.unpack_from(data, at)
            name = data[at + HEADER.size : at + HEADER.size + length].rstrip(b"\0")
            at += HEADER.size + length
            if mask & OVERFLOW:
                yield from self._watched.values()
            directory = self._watched.get(number)
            if directory is None:
                continue
            if mask & IGNORED:
                del self._watched[number]
            elif name and (not self._names or name in self._names):
                yield directory / os.fsdecode(name)

    def _open(self) -> bool:
        self._descriptor = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            self._warn(ctypes.get_errno(), "inotify")
        return self._descriptor >= 0

    def _warn(self, number: int, what: str) -> None:
        if number == errno.ENOENT or self._warned:
            return
        self._warned = True
        log.warning("directories_not_watched", what=what, reason=os.strerror(number), instead="a look each minute")
