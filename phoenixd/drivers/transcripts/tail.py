"""One transcript, followed: read from its end at first, and from then on only what is new. Blocking; never raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from phoenixd.documents.conversation import Conversation
from phoenixd.documents.conversation_end import DEFAULT_BUDGET, ConversationEnd
from phoenixd.documents.session_facts import SessionFacts, SessionReading, says_prompt, says_usage
from phoenixd.documents.transcript import Compacted, Record, SessionNamed, TranscriptForm, Used
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import Place

LOOK_BACK = 64 << 20
"""Bytes of the end in which the newest request, the turn in hand and its prompt are looked for: past them, unknown."""

MOST_LINES = 50_000
"""Lines looked at in one go: a file of nothing but newlines must not take seconds."""

FIRST_LINE = 1 << 20
"""Bytes in which the first line is looked for, which says whose the transcript is and what the model was told."""


@dataclass(slots=True)
class TranscriptTail:
    """A transcript, and how far it was read."""

    path: str
    form: TranscriptForm
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
        return lines.size <= self._place.offset + LOOK_BACK and self._place.is_in(lines)

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
        usage_known = prompt_known = False
        for seen, line in enumerate(lines.backwards(limit=LOOK_BACK)):
            if seen == 0:
                self._place.offset = line.end + 1
            if seen >= MOST_LINES or (usage_known and prompt_known):
                break
            if (record := record_of(self.form, line)) is not None:
                gathered.append(record)
                usage_known = usage_known or says_usage(record)
                prompt_known = prompt_known or says_prompt(record)
        for record in reversed(gathered):
            self._reading.hear(record)
        if self._reading.session_id is None:
            self._reading.session_id = _first_name(lines, self.form)
        self._place.settle(lines)


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


def read_conversation(path: str, form: TranscriptForm, budget: int = DEFAULT_BUDGET) -> Conversation | None:
    """The end of what was said, within a budget of characters; None where there is no transcript."""
    with open_lines(path) as lines:
        if lines is None:
            return None
        end = ConversationEnd(budget)
        start, session_id = lines.size, None
        for line in _bounded(lines.backwards()):
            start = line.start
            if line.is_clipped:
                if form.matters(line.content):
                    end.miss()
                continue
            if session_id is None:
                session_id = _session_id(form.record(line.content))
            if (said := form.said(line.content)) is not None and not end.add(said):
                break
        return end.conversation(session_id or _first_name(lines, form), start == 0)


def read_whole(path: str, form: TranscriptForm) -> SessionFacts | None:
    """The facts of the whole file, from its first line; None where there is no transcript."""
    with open_lines(path) as lines:
        if lines is None:
            return None
        reading = SessionReading()
        for line in lines.forwards():
            if (record := record_of(form, line)) is not None:
                reading.hear(record)
        return reading.facts()


def _bounded(lines: Iterator[Line]) -> Iterator[Line]:
    for seen, line in enumerate(lines):
        if seen >= MOST_LINES:
            return
        yield line


def record_of(form: TranscriptForm, line: Line) -> Record | None:
    """What a line tells, also of one that is too long to be parsed."""
    return form.beginning(line.content) if line.is_clipped else form.record(line.content)


def _first_name(lines: OpenLines, form: TranscriptForm) -> str | None:
    """Whose the transcript is, by its first line, where some CLIs say it once and for all."""
    first, newline, _ = lines.bytes_at(0, FIRST_LINE).partition(b"\n")
    return _session_id(form.record(first)) if newline else None


def _session_id(record: Record | None) -> str | None:
    facts = record.facts if record is not None else ()
    return next((fact.session_id for fact in facts if isinstance(fact, SessionNamed)), None)
