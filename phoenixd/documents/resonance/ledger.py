"""memory/marker_ledger.jsonl: every code that was ever given, so that none is given twice (R54, F-RE-5)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from phoenixd.documents.resonance.reading import read_object, text_of
from phoenixd.documents.times import read_time, timestamp
from phoenixd.planting import CODE


@dataclass(frozen=True, slots=True)
class Given:
    """A code, and to whom it was given when."""

    code: str
    agent: str
    at: float


def line(given: Given) -> str:
    row = {"hex": given.code, "agent": given.agent, "at": timestamp(given.at)}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def read(lines: Iterable[str]) -> tuple[list[Given], int]:
    """What a ledger holds, and how many of its lines are torn.

    A line without who and when still counts: what matters is that its code is not given again.
    """
    found, torn = [], 0
    for one in lines:
        row = read_object(one) if one.strip() else None
        code = text_of(row, "hex") if row is not None else ""
        if row is not None and CODE.fullmatch(code):
            found.append(Given(code, text_of(row, "agent"), read_time(row.get("at")) or 0.0))
        elif one.strip():
            torn += 1
    return found, torn
