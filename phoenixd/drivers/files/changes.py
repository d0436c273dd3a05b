"""Which names of a directory another hand, or ours, has written, moved or removed: by inotify, and without a tick.

The kernel wakes the loop when something changed and at no other time, so watching a directory in which nothing happens
costs nothing. Directories are watched, never files: a document is replaced by rename.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import anyio
import structlog

from phoenixd.drivers.files.inotify import Inotify

CLOSE_WRITE, MOVED_FROM, MOVED_TO, DELETE, ONLYDIR, OVERFLOW, IGNORED = 8, 0x40, 0x80, 0x200, 0x1000000, 0x4000, 0x8000
MASK = CLOSE_WRITE | MOVED_FROM | MOVED_TO | DELETE | ONLYDIR
OTHERS = 0.25
"""Seconds without a look after changes that nothing tells of."""

log = structlog.get_logger("phoenixd.changes")


class DirectoryChanges:
    """Implements ports.Changes. What cannot be watched is told once in the log, and then never heard of.

    names: of what is told; without any all is. An agent's directory changes at each hook, and few care.
    """

    def __init__(self, *names: str) -> None:
        self._names = frozenset(map(os.fsencode, names))
        self._inotify = Inotify()
        self._watched: dict[int, Path] = {}
        self._warned = False

    def watch(self, directory: Path) -> bool:
        """Watch a directory from now on; again for one that was made anew, and harmless for one that is watched.

        False where there is one and the kernel watches no more.
        """
        if not self._open():
            return False
        number, refused = self._inotify.add(os.fsencode(directory), MASK)
        if number < 0:
            self._warn(refused, str(directory))
            return refused == errno.ENOENT
        self._watched[number] = directory
        return True

    def forget(self, directory: Path) -> None:
        """Watch a directory no more; one that is not watched is no failure."""
        for number in [number for number, known in tuple(self._watched.items()) if known == directory]:
            self._watched.pop(number, None)
            self._inotify.remove(number)

    async def next(self) -> frozenset[Path]:
        """Wait until something changed; the paths that did. A directory stands for all of it where events were lost."""
        while True:
            if not self._open():
                await anyio.sleep_forever()
            if changed := frozenset(self._changed(await self._inotify.next())):
                return changed
            # The kernel wakes us for every name in the directory: heartbeats of 100 agents are one turn, not 300.
            await anyio.sleep(OTHERS)

    def close(self) -> None:
        """Watch nothing any more."""
        self._inotify.close()
        self._watched.clear()

    def _changed(self, told: Iterable[tuple[int, int, bytes]]) -> Iterator[Path]:
        for number, mask, name in told:
            if mask & OVERFLOW:
                # Another one may be watched meanwhile, by a thread.
                yield from tuple(self._watched.values())
            directory = self._watched.get(number)
            if directory is None:
                continue
            if mask & IGNORED:
                del self._watched[number]
            elif name and (not self._names or name in self._names):
                yield directory / os.fsdecode(name)

    def _open(self) -> bool:
        if refused := self._inotify.open():
            self._warn(refused, "inotify")
        return not refused

    def _warn(self, number: int, what: str) -> None:
        if number == errno.ENOENT or self._warned:
            return
        self._warned = True
        log.warning("directories_not_watched", what=what, reason=os.strerror(number), instead="a look each minute")
