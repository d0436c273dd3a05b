"""resolved.jsonl of one agent on disk, and its archive: what is behind the part that state.json holds, what was ever
closed.

A place is a number of bytes, counted over archive and log: what is moved from one to the other keeps its place.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from phoenixd.documents.resolved import ARCHIVE, ASIDE, LOG, Resolution, read_resolutions, render_resolution
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import size_of, tail

LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class ResolvedLog:
    """The files, which only grow. `read` returns one's content, None where there is none that may be read. Blocking."""

    directory: Path
    files: Files
    read: Callable[[str], bytes | None]

    @property
    def size(self) -> int:
        """The place at the end of the log."""
        return self._begin + size_of(self._place(LOG))

    def after(self, consumed: int) -> tuple[bytes, int]:
        """The whole lines of the log behind a place, and the place where they end."""
        begin = self._begin
        size = begin + size_of(self._place(LOG))
        if size <= consumed:
            return b"", size
        held = max(0, consumed - begin)
        lines = (self.read(LOG) or b"")[held:]
        whole = lines[: lines.rfind(b"\n") + 1]
        return whole, begin + held + len(whole)

    def append(self, made: Resolution) -> None:
        """Put a resolution on record; it survives a power cut once this returns."""
        self.files.append(self.directory / LOG, render_resolution(made))

    def names(self, loop_id: str) -> bool:
        """Whether a loop of this id was ever closed."""
        return any(made.id == loop_id for name in (LOG, ASIDE, ARCHIVE) for made in self._of(name))

    def newest(self, size: int) -> bytes:
        """The last whole lines of archive and log, up to `size` bytes."""
        log = tail(self.directory / LOG, size)
        left = size - len(log)
        return (tail(self.directory / ARCHIVE, left) if left > 0 else b"") + log

    def archive(self, place: int) -> bool:
        """Move the log's lines to the archive where they end at that place (P52); whether it was done. Raises OSError.

        Where another hand has added to it since, all of it stays: those lines are for the next run. The log is renamed
        first, and nothing is ever written anew: the next line begins a new log (P38).
        """
        self.finish()
        if not size_of(self.directory / LOG) or self.size != place or self.read(LOG) is None:
            return False
        os.rename(self.directory / LOG, self.directory / ASIDE)
        self.finish()
        return True

    def finish(self) -> None:
        """Bring to its end what a crash interrupted: the archive takes the lines of a log that was renamed for it."""
        if not os.path.lexists(self._place(ASIDE)):
            return
        lines = [line for line in (self.read(ASIDE) or b"").split(b"\n") if line]
        # What a crash came after stands there already.
        there = (self.read(ARCHIVE) or b"").split(b"\n")[:-1]
        if lines and there[-len(lines) :] != lines:
            for number, line in enumerate(lines, 1):
                self.files.append(self.directory / ARCHIVE, line, durable=number == len(lines))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.directory / ASIDE)

    @property
    def _begin(self) -> int:
        """The place at the beginning of the log."""
        return _size_of(self._place(ARCHIVE)) + _size_of(self._place(ASIDE))

    def _place(self, name: str) -> str:
        return f"{self.directory}/{name}"

    def _of(self, name: str) -> list[Resolution]:
        return list(read_resolutions(self.read(name) or b""))


def _size_of(path: str) -> int:
    """The bytes of a plain file; what stands in its place has none that count."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
