"""The newest turns of a transcript, read from its end back to as many prompts as are asked for. Blocking; bounded."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.documents.transcript import Prompted, Record, TranscriptForm
from phoenixd.documents.turn_rows import TurnRow, turn_rows
from phoenixd.drivers.transcripts.lines import open_lines
from phoenixd.drivers.transcripts.records import record_of
from phoenixd.planting import is_ours

LOOK_BACK = 32 << 20
"""Bytes of the end in which turns are looked for."""
MOST_LINES = 100_000


def newest_turns(path: str, form: TranscriptForm, most: int, clean: Callable[[str], str]) -> list[TurnRow]:
    """The newest turns, the oldest of them first; none where there is no transcript."""
    with open_lines(path) as lines:
        if lines is None:
            return []
        found: list[Record] = []
        prompts = 0
        for seen, line in enumerate(lines.backwards(limit=LOOK_BACK)):
            if seen >= MOST_LINES or prompts > most:
                break
            record = record_of(form, line)
            if record is not None:
                found.append(record)
                prompts += any(
                    isinstance(fact, Prompted) and not fact.queued and not is_ours(fact.text) for fact in record.facts
                )
        return turn_rows(reversed(found), most, clean)
