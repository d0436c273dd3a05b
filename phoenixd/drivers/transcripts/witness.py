"""The transcripts of a task, read from their first line to the report: what ran, and whether all of it was read.

Blocking; never raises. Whatever could not be read is a gap, and with a gap nothing is contradicted by absence.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from phoenixd.documents.json_line import parse_line
from phoenixd.documents.report.calls import Calls
from phoenixd.documents.report.facts import Witness
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.sidechains import sidechains
from phoenixd.harness.witnesses import WITNESSES, CliWitness

MOST_BYTES = 1 << 30
MOST_SIDECHAINS = 512
TIME_LIMIT = 30.0
SHORT = 256
"""Bytes of a line's beginning by which most lines are left out."""


def read_witness(paths: Iterable[str], cli: str, form: TranscriptForm | None, until: float) -> Witness:
    """What the transcripts and their sidechains tell up to `until` (wall seconds)."""
    tools = WITNESSES.get(cli)
    if tools is None or form is None:
        return Witness(gaps=("this program writes no transcript whose form is known",))
    reading = _Reading(Calls(tools, until), tools, form)
    main = list(paths)
    if not main:
        reading.gaps.append("there is no transcript")
    for path in main:
        reading.read(path, is_sidechain=False)
        beside = sidechains(path, MOST_SIDECHAINS + 1)
        if len(beside) > MOST_SIDECHAINS:
            reading.gaps.append(f"there are more than {MOST_SIDECHAINS} sidechains")
        for sidechain in beside[:MOST_SIDECHAINS]:
            reading.read(sidechain, is_sidechain=True)
    if reading.calls.delegated > reading.sidechains:
        reading.gaps.append("what a subagent did is not written where it was looked for")
    return reading.calls.witness(tuple(reading.gaps))


class _Reading:
    def __init__(self, calls: Calls, tools: CliWitness, form: TranscriptForm) -> None:
        self.calls, self.tools, self.form = calls, tools, form
        self.gaps: list[str] = []
        self.sidechains = 0
        self._bytes, self._ends = 0, time.monotonic() + TIME_LIMIT

    def read(self, path: str, *, is_sidechain: bool) -> None:
        name = path.rsplit("/", 1)[-1]
        with open_lines(path) as lines:
            if lines is None:
                self.gaps.append(f"{name} could not be opened")
                return
            self.sidechains += is_sidechain
            self._bytes += lines.size
            if self._bytes > MOST_BYTES:
                self.gaps.append(f"the transcripts hold more than {MOST_BYTES} bytes")
                return
            self._read_lines(lines, name, is_sidechain)

    def _read_lines(self, lines: OpenLines, name: str, is_sidechain: bool) -> None:
        end = 0
        for number, line in enumerate(lines.forwards(), 1):
            end = line.end + 1
            if number % 1000 == 0 and time.monotonic() > self._ends:
                self.gaps.append(f"reading {name} took more than {TIME_LIMIT:g} s")
                return
            if (fault := self._hear(line, is_sidechain)) is not None:
                self.gaps.append(f"line {number} of {name} {fault}")
        if end < lines.size:
            self.gaps.append(f"the last line of {name} is not whole")

    def _hear(self, line: Line, is_sidechain: bool) -> str | None:
        """Take one line; what is wrong with it, if so."""
        if line.is_clipped:
            self.calls.hear(self.form.beginning(line.content), None)
            return "is too long to be read"
        content = self.tools.as_main(line.content)
        if content is not None:
            # Older releases write sidechains into the main transcript.
            self.sidechains += not is_sidechain
        else:
            content = line.content
        if not content.strip() or not self.form.matters(content[:SHORT]):
            return None
        record = self.form.record(content)
        if record is None:
            return "is no record" if parse_line(content) is None else None
        self.calls.hear(record, self.form.said(content) if record.facts else None)
        return None
