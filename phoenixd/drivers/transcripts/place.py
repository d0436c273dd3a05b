"""How far a transcript was read, and whether the file that stands there now goes on from that place."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.drivers.transcripts.lines import OpenLines

MARK = 64
"""Bytes before the place that was read to: where they differ, the file was written anew in its place."""


@dataclass(slots=True)
class Place:
    """A place in a file, which is the beginning of a line. identity: the file's device and inode; None: in none."""

    identity: tuple[int, int] | None = None
    offset: int = 0
    mark: bytes = b""

    def is_in(self, lines: OpenLines) -> bool:
        """Whether the file is the one of before, and nothing before the place was cut away or written anew."""
        if lines.identity != self.identity or not 0 <= self.offset <= lines.size:
            return False
        return lines.bytes_at(self.offset - len(self.mark), len(self.mark)) == self.mark

    def begin(self, lines: OpenLines) -> None:
        """Go to the beginning of another file."""
        self.identity, self.offset, self.mark = lines.identity, 0, b""

    def settle(self, lines: OpenLines) -> None:
        """Take down what stands before the place, after the offset was moved on."""
        length = min(MARK, self.offset)
        self.mark = lines.bytes_at(self.offset - length, length)
