"""The places that a configuration names, looked at although any of them may hang.

A look is waited for a little. A mount that does not answer is asked once, and not again until it does, so the
configuration of a thousand agents on one dead mount is read as fast as that of one.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

PATIENCE = 2.0
"""Seconds."""
MOUNTS = Path("/proc/self/mountinfo")
MOUNT_POINT = 4
"""Its field in a line there."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Look:
    look: Callable[[], object]
    ended: threading.Event = field(default_factory=threading.Event)
    found: object = None
    fault: OSError | ValueError | None = None


class Terrain:
    """Looks at places, blocking, for any number of threads. What is not known is said to be None."""

    def __init__(self, patience: float = PATIENCE) -> None:
        """patience: seconds for each look."""
        self._patience = patience
        self._asked: queue.SimpleQueue[_Look | None] | None = None
        self._silent: dict[str, _Look] = {}
        """The look at each mount, or place, that did not come back."""
        self._one, self._known = threading.Lock(), threading.Lock()

    def is_directory(self, path: str) -> bool | None:
        return self._ask(path, lambda: os.path.isdir(path))

    def can_enter(self, path: str) -> bool | None:
        """Whether it is a directory in which a process of ours may work."""
        return self._ask(path, lambda: os.path.isdir(path) and os.access(path, os.X_OK))

    def is_file(self, path: str) -> bool | None:
        return self._ask(path, lambda: os.path.isfile(path))

    def is_there(self, path: str) -> bool | None:
        return self._ask(path, lambda: os.path.lexists(path))

    def real(self, path: str) -> str:
        """The path without links; as far as it can be said without a look, where the place does not answer."""
        return self._ask(path, lambda: os.path.realpath(path)) or os.path.normpath(path)

    def close(self) -> None:
        """End the thread that looks, unless it hangs; then it ends by itself."""
        with self._one:
            self._leave()

    def _ask(self, path: str, look: Callable[[], T]) -> T | None:
        with self._one:
            if self._silent and _mount_of(path) in self._silent:
                return None
            if self._asked is None:
                self._asked = queue.SimpleQueue()
                threading.Thread(target=self._look, args=(self._asked,), name="terrain", daemon=True).start()
            one = _Look(look)
            self._asked.put(one)
            if not one.ended.wait(self._patience):
                self._leave()
                with self._known:
                    if not one.ended.is_set():
                        self._silent[_mount_of(path)] = one
                        return None
        if one.fault is not None:
            raise one.fault
        return one.found  # type: ignore[return-value]  # What this very look returned.

    def _leave(self) -> None:
        if self._asked is not None:
            self._asked.put(None)
            self._asked = None

    def _look(self, asked: queue.SimpleQueue[_Look | None]) -> None:
        while (one := asked.get()) is not None:
            try:
                one.found = one.look()
            except (OSError, ValueError) as fault:
                one.fault = fault
            with self._known:
                one.ended.set()
                self._silent = {place: look for place, look in self._silent.items() if look is not one}


TERRAIN = Terrain()
"""What this process knows of places that hang: each reading of the configuration needs it, and no thread of its own."""
# A fork has none of the threads, and perhaps a lock that is held for ever.
os.register_at_fork(after_in_child=TERRAIN.__init__)  # type: ignore[misc]


def _mount_of(path: str) -> str:
    """The mount that a path lies on, by its words alone; on the root's the path itself, for it may be a link away."""
    path = os.path.normpath(path)
    found = max((one for one in _mounts() if path == one or path.startswith(f"{one}/")), key=len, default="/")
    return path if found == "/" else found


def _mounts() -> list[str]:
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return []
    points = (line.split(b" ")[MOUNT_POINT] for line in lines if line.count(b" ") > MOUNT_POINT)
    return [os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), point)) for point in points]
