"""The lines of a file that an agent writes, from either end, with bounded memory whatever their length. Blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from phoenixd.documents.json_line import LINE_LIMIT

CHUNK = 256 << 10
"""Bytes read at once: the buffer is used again and again, and stays in the processor's cache."""

FIRST_CHUNK = 16 << 10
"""Bytes read at first from the end, where the newest facts mostly are."""

HEAD = 64 << 10
"""How much of a line that is too long is kept: its beginning, which says what it is."""

LONGEST = 64 << 20
"""Bytes in which the other end of a line is looked for: a file of holes is as long as its writer likes, for nothing."""

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""O_NONBLOCK, because opening a FIFO that an agent put there would otherwise wait for a writer for ever."""


class Line(NamedTuple):
    """A line without its newline; where it begins and ends in the file. is_clipped: only its beginning is here.

    Forwards one that is longer than LONGEST comes in several, all of them clipped; backwards none comes before it.
    """

    start: int
    end: int
    content: bytes
    is_clipped: bool = False


@dataclass(frozen=True, slots=True)
class OpenLines:
    """An open file of lines, as long as it was when it was opened."""

    descriptor: int
    identity: tuple[int, int]
    """Device and inode: another file of the same name has others."""
    size: int
    written: int = 0
    """When it had been written last as it was opened: nanoseconds of the file's clock."""

    def bytes_at(self, start: int, length: int) -> bytes:
        try:
            return os.pread(self.descriptor, length, start)
        except OSError:
            return b""

    def end_of_lines(self) -> int:
        """Where the last whole line ends, and the next one begins; 0 where there is none.

        The file's end where it is a line longer than LONGEST that has no end yet.
        """
        at, floor = self.size, max(0, self.size - LONGEST)
        while at > floor:
            start = max(floor, at - CHUNK)
            if (found := self.bytes_at(start, at - start).rfind(b"\n")) >= 0:
                return start + found + 1
            at = start
        return self.size if floor > 0 else 0

    def forwards(self, start: int = 0) -> Iterator[Line]:
        """Every whole line that begins at or after `start`, which is the beginning of a line."""
        buffer, view = _buffer(CHUNK)
        at, begin = start, start
        pieces: list[bytes] = []
        held = 0
        while at < self.size and (got := self._fill(view, at, self.size)):
            first = buffer.find(b"\n", 0, got)
            if first < 0:
                # Of a line that is too long nothing is kept: its beginning is read again when it has an end.
                if held + got <= LINE_LIMIT:
                    pieces.append(bytes(view[:got]))
                else:
                    pieces.clear()
                held += got
                at += got
                if held >= LONGEST:
                    yield Line(begin, at - 1, self.bytes_at(begin, HEAD), is_clipped=True)
                    begin, held = at, 0
                continue
            last = buffer.rfind(b"\n", 0, got)
            yield self._joined(begin, at + first, [*pieces, bytes(view[:first])], held + first)
            begin = at + first + 1
            for content in bytes(view[first + 1 : last]).split(b"\n") if last > first else ():
                yield Line(begin, begin + len(content), content)
                begin += len(content) + 1
            pieces = [bytes(view[last + 1 : got])]
            held = got - last - 1
            at += got

    def backwards(self, end: int | None = None, limit: int | None = None) -> Iterator[Line]:
        """Every whole line before `end`, newest first, as far back as `limit` bytes; an unfinished one is left out."""
        buffer, view = _buffer(FIRST_CHUNK)
        at = self.size if end is None else min(end, self.size)
        floor = 0 if limit is None else max(0, at - limit)
        stop: int | None = None
        pieces: list[bytes] = []
        held = bare = 0
        while at > floor and bare < LONGEST:
            start = max(floor, at - len(buffer))
            got = self._fill(view, start, at)
            if got < at - start:
                return  # It was cut short under our eyes.
            at = start
            last = buffer.rfind(b"\n", 0, got)
            bare = bare + got if last < 0 else 0
            if last < 0:
                if stop is not None:
                    held += got
                    pieces = [bytes(view[:got]), *pieces] if held <= LINE_LIMIT else []
                buffer, view = _grown(buffer, view)
                continue
            if stop is not None:
                held += got - last - 1
                begin = start + last + 1
                yield self._joined(begin, stop, [bytes(view[last + 1 : got]), *pieces], held)
            stop = start + last
            first = buffer.find(b"\n", 0, got)
            if first < last:
                for content in reversed(bytes(view[first + 1 : last]).split(b"\n")):
                    yield Line(stop - len(content), stop, content)
                    stop -= len(content) + 1
            pieces = [bytes(view[:first])]
            held = first
            buffer, view = _grown(buffer, view)
        if stop is not None and at == 0:
            yield self._joined(0, stop, pieces, held)

    def _joined(self, start: int, end: int, pieces: list[bytes], length: int) -> Line:
        if length <= LINE_LIMIT:
            return Line(start, end, b"".join(pieces))
        return Line(start, end, self.bytes_at(start, HEAD), is_clipped=True)

    def _fill(self, view: memoryview, start: int, end: int) -> int:
        try:
            return os.preadv(self.descriptor, [view[: min(len(view), end - start)]], start)
        except OSError:
            return 0


@contextmanager
def open_lines(path: str) -> Iterator[OpenLines | None]:
    """Open a regular file by that very name; None where there is none, or something else, or nothing to be read."""
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except (OSError, ValueError):
        yield None
        return
    try:
        found = os.fstat(descriptor)
        is_plain = stat.S_ISREG(found.st_mode)
        identity = (found.st_dev, found.st_ino)
        yield OpenLines(descriptor, identity, found.st_size, found.st_mtime_ns) if is_plain else None
    finally:
        os.close(descriptor)


def _buffer(size: int) -> tuple[bytearray, memoryview]:
    made = bytearray(size)
    return made, memoryview(made)


def _grown(buffer: bytearray, view: memoryview) -> tuple[bytearray, memoryview]:
    """The buffer for all reads after the first one."""
    return (buffer, view) if len(buffer) == CHUNK else _buffer(CHUNK)
