"""What passes by in a session, line by line as its transcript grows: only lines that hold what is looked for are read.

Blocking; never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from phoenixd.documents.resonance.heard import Passed
from phoenixd.documents.times import read_time
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import Place

MOST_BEHIND = 256 << 20
"""Bytes of a transcript that are read at once; of more the newest."""
SLICE_LINES = 200_000


@dataclass(slots=True)
class PassingTail:
    """One transcript, and how far it was looked through. A file in its place is looked through anew."""

    path: str
    form: TranscriptForm
    _place: Place = field(default_factory=Place)

    def passed(self, wanted: re.Pattern[bytes]) -> tuple[Passed, ...]:
        with open_lines(self.path) as lines:
            if lines is None:
                return ()
            if not self._place.is_in(lines):
                self._place.begin(lines)
            if lines.size - self._place.offset > MOST_BEHIND:
                self._place.offset = _line_after(lines, lines.size - MOST_BEHIND)
            found: list[Passed] = []
            for seen, line in enumerate(lines.forwards(self._place.offset)):
                if seen >= SLICE_LINES:
                    break
                if wanted.search(line.content):
                    found += self._told(line)
                self._place.offset = line.end + 1
            self._place.settle(lines)
            return tuple(found)

    def _told(self, line: Line) -> Iterator[Passed]:
        if line.is_clipped:
            return
        if (given := self.form.given(line.content)) is not None:
            yield Passed("given", given.text, read_time(given.at))
        record, said = self.form.record(line.content), self.form.said(line.content)
        is_spoken = record is not None and record.kind == "assistant"
        for piece in said.pieces if said is not None else ():
            at = read_time(piece.at)
            if piece.speaker == "user":
                yield Passed("prompt", piece.text, at)
            elif piece.speaker == "tool":
                yield Passed("result", piece.text, at)
            elif is_spoken and not piece.failed:
                # A summary of the CLI's own reads as the agent's words, and is the front of what follows it.
                yield Passed("call" if piece.tool else "answer", piece.text, at)


def _line_after(lines: OpenLines, start: int) -> int:
    """Where the first line begins that begins at or after this place, if within a chunk."""
    chunk = lines.bytes_at(start, 1 << 20)
    newline = chunk.find(b"\n")
    return start + newline + 1 if newline >= 0 else start
