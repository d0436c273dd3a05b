"""One JSON line from a hostile hand: read at parser speed, and nothing but values of the expected kind comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from phoenixd.documents.times import read_time

Table = Mapping[str, Any]

LINE_LIMIT = 4 << 20
"""Bytes of a line that is parsed; real ones of a megabyte hold pictures, or the file before an edit."""

COMMA_LIMIT = 250_000
"""A line of nothing but small values takes some twenty times its length in memory."""

SMALL = 64 << 10
LARGEST_COUNT = 1 << 53

_NOTHING: Table = {}


def parse_line(line: bytes) -> Table | None:
    """The object that a line holds; None for everything else."""
    if not line or len(line) > LINE_LIMIT or (len(line) > SMALL and line.count(b",") > COMMA_LIMIT):
        return None
    try:
        found = from_json(line)
    except ValueError:
        found = _forgiving(line)
    return found if isinstance(found, dict) else None


def table(parent: Table, key: str) -> Table:
    """The object below a key, an empty one where there is none."""
    found = parent.get(key)
    return found if isinstance(found, dict) else _NOTHING


def tables(parent: Table, key: str) -> list[Table]:
    """The objects of the list below a key."""
    found = parent.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text(parent: Table, key: str) -> str | None:
    """The text below a key, fit to be encoded; None where there is none."""
    found = parent.get(key)
    return whole(found) if isinstance(found, str) else None


def count(parent: Table, key: str) -> int | None:
    """The number of things below a key; None where there is no such number: unknown is never 0."""
    found = parent.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < LARGEST_COUNT:
        return None
    return found


def moment(parent: Table, key: str) -> float | None:
    """Wall seconds of the time below a key."""
    return read_time(parent.get(key))


def whole(found: str) -> str:
    """A text without halves of characters: JavaScript cuts between them, and no file takes them."""
    return found if found.isascii() else found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def compact(value: Any) -> str:
    """A value as JSON without blanks, for people and models to read."""
    try:
        return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):
        return "…"


def _forgiving(line: bytes) -> Any:
    """The slow way, which takes invalid UTF-8 and halves of characters; None where it takes the line neither."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
