"""What selectors read of the agents of a fleet, taken from their rows: every face chooses among what it shows."""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.core.projection import Row
from phoenixd.core.selection import Subject


def subjects(rows: Iterable[Row]) -> tuple[Subject, ...]:
    """One for each row, in their order."""
    return tuple(map(subject_of, rows))


def subject_of(row: Row) -> Subject:
    """What selectors read of one row."""
    words = tuple(dict.fromkeys(word for word in (row.state, row.activity, row.group) if word))
    return Subject(row.name, row.kind, row.harness, words, row.group == "needs_you", row.project, row.labels)
