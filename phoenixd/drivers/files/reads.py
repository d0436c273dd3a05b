"""Which files their programs read, or wrote to: by inotify, and without a tick. A terminal is such a file."""

from __future__ import annotations

import os
from functools import partial

import anyio
import structlog

from phoenixd.drivers.files.inotify import Inotify
from phoenixd.ports.evidence import Aside

ACCESS, MODIFY, IGNORED = 1, 2, 0x8000

log = structlog.get_logger("phoenixd.reads")


class FileReads:
    """Implements ports.Reads. What cannot be watched is told in the log, and never heard of."""

    mask = ACCESS

    def __init__(self) -> None:
        self._inotify = Inotify()
        self._watched: dict[int, str] = {}
        self._opened = anyio.Event()

    def watch(self, path: str) -> bool:
        """Tell what happens to this file from now on; whether the kernel does."""
        refused = self._inotify.open()
        return self._note(path, *((-1, refused) if refused else self._inotify.add(os.fsencode(path), self.mask)))

    def _note(self, path: str, number: int, refused: int) -> bool:
        """Note what the kernel answered."""
        if refused:
            log.info("file_not_watched", path=path, reason=os.strerror(refused))
            return False
        self._watched[number] = path
        self._opened.set()
        return True

    def forget(self, path: str) -> None:
        """Tell no more of it; a file that is not watched is no failure."""
        for number in [number for number, known in self._watched.items() if known == path]:
            del self._watched[number]
            self._inotify.remove(number)

    async def next(self) -> frozenset[str]:
        """Wait until it happened to one; those that it happened to. All, where events were lost."""
        await self._opened.wait()
        while True:
            found = set[str]()
            for number, mask, _ in await self._inotify.next():
                if number < 0:
                    found.update(self._watched.values())
                elif mask & IGNORED:
                    self._watched.pop(number, None)
                elif number in self._watched:
                    found.add(self._watched[number])
            if found:
                return frozenset(found)

    def close(self) -> None:
        """Watch nothing any more."""
        self._inotify.close()
        self._watched.clear()
        self._opened = anyio.Event()


class FileWrites(FileReads):
    """Implements ports.Writes."""

    mask = MODIFY

    async def watch_aside(self, path: str, aside: Aside) -> bool:
        """As `watch`, of a file whose disk may not answer: only the call that asks the kernel for it is aside."""
        if refused := self._inotify.open():
            return self._note(path, -1, refused)
        return self._note(path, *await aside(partial(self._inotify.add, os.fsencode(path), self.mask)))
