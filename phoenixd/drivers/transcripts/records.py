"""What a line of an open transcript tells, also of one that is too long to be parsed."""

from __future__ import annotations

from phoenixd.documents.transcript import Record, SessionNamed, TranscriptForm
from phoenixd.drivers.transcripts.lines import Line, OpenLines

MOST_LINES = 50_000
"""Lines looked at in one go: a file of nothing but newlines must not take seconds."""

FIRST_LINE = 1 << 20
"""Bytes in which the first line is looked for, which says whose the transcript is and what the model was told."""


def record_of(form: TranscriptForm, line: Line) -> Record | None:
    """What a line tells; of one that was clipped, as much as its beginning tells."""
    return form.beginning(line.content) if line.is_clipped else form.record(line.content)


def first_name(lines: OpenLines, form: TranscriptForm) -> str | None:
    """Whose the transcript is, by its first line, where some CLIs say it once and for all."""
    first, newline, _ = lines.bytes_at(0, FIRST_LINE).partition(b"\n")
    return session_id_of(form.record(first)) if newline else None


def session_id_of(record: Record | None) -> str | None:
    """Whose the transcript is, by one record of it."""
    facts = record.facts if record is not None else ()
    return next((fact.session_id for fact in facts if isinstance(fact, SessionNamed)), None)
