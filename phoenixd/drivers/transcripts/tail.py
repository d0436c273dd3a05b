"""One transcript, followed: read from its end at first, and from then on only what is new. Blocking; never raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from phoenixd.documents.session_facts import SessionFacts, SessionReading, says_prompt, says_usage
from phoenixd.documents.transcript import Compacted, Record, TranscriptForm, Used
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import Place
from phoenixd.drivers.transcripts.records import MOST_LINES, first_name, record_of

LOOK_BACK = 64 << 20
"""Bytes of the end in which the newest request, the turn in hand and its prompt are looked for: past them, unknown."""

LAST_LOOK = 1 << 20
"""The same, of a run that has ended, whose death waits for the look."""

MOST_LATE = 64
"""Lines before a prompt in which answers to it are looked for: a busy CLI may write it after them."""


@dataclass(slots=True)
class TranscriptTail:
    """A transcript, and how far it was read."""

    path: str
    form: TranscriptForm
    look_back: int = LOOK_BACK
    _place: Place = field(default_factory=Place)
    _reading: SessionReading = field(default_factory=SessionReading)

    def facts(self) -> SessionFacts | None:
        """What is known of the session now; None where there is no transcript."""
        with open_lines(self.path) as lines:
            if lines is None:
                self._place.identity = None
                return None
            if not (self._is_the_same(lines) and self._read_on(lines)):
                self._read_anew(lines)
            return self._reading.facts()

    def _is_the_same(self, lines: OpenLines) -> bool:
        return lines.size <= self._place.offset + self.look_back and self._place.is_in(lines)

    def _read_on(self, lines: OpenLines) -> bool:
        """Take what was added; False where that is too much to be read piece by piece."""
        if lines.size == self._place.offset:
            return True
        for seen, line in enumerate(lines.forwards(self._place.offset)):
            if seen >= MOST_LINES:
                return False
            if (record := record_of(self.form, line)) is not None:
                self._reading.hear(record)
            self._place.offset = line.end + 1
        self._place.settle(lines)
        return True

    def _read_anew(self, lines: OpenLines) -> None:
        self._reading = SessionReading()
        self._place.begin(lines)
        gathered: list[Record] = []
        asked: Record | None = None
        usage_known, beyond = False, 0
        for seen, line in enumerate(lines.backwards(limit=self.look_back)):
            if seen == 0:
                self._place.offset = line.end + 1
            is_known = usage_known and asked is not None
            beyond += is_known
            if seen >= MOST_LINES or beyond > MOST_LATE:
                break
            if (record := record_of(self.form, line)) is None:
                continue
            if is_known and asked is not None and record.kind is not None and not _is_later(record, asked):
                break
            gathered.append(record)
            usage_known = usage_known or says_usage(record)
            asked = record if asked is None and says_prompt(record) else asked
        for record in reversed(gathered):
            self._reading.hear(record)
        if self._reading.session_id is None:
            self._reading.session_id = first_name(lines, self.form)
        self._place.settle(lines)


def _is_later(record: Record, asked: Record) -> bool:
    """Whether a record that stands before a prompt was made after it."""
    return record.at is not None and asked.at is not None and record.at > asked.at


def end_facts(path: str, form: TranscriptForm) -> SessionFacts | None:
    """What the end of a transcript says, read anew; None where there is no transcript."""
    return TranscriptTail(path, form, LAST_LOOK).facts()


def newest_usage(path: str, form: TranscriptForm) -> Used | None:
    """What the newest request held; None where it is unknown, as it also is right after a compaction."""
    with open_lines(path) as lines:
        if lines is None:
            return None
        for line in _bounded(lines.backwards(limit=LOOK_BACK)):
            record = record_of(form, line) if form.may_tell_usage(line.content) else None
            for fact in reversed(record.facts) if record is not None else ():
                if isinstance(fact, Used):
                    return fact
                if isinstance(fact, Compacted):
                    return None
    return None


def _bounded(lines: Iterator[Line]) -> Iterator[Line]:
    for seen, line in enumerate(lines):
        if seen >= MOST_LINES:
            return
        yield line
