"""Reading state.json from any hand: the right is kept, the odd repaired with a note, nothing dropped in silence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pydantic_core import from_json

from phoenixd.documents.loop_ids import kept_as_written, slug_of
from phoenixd.documents.state import OpenLoop, ResolvedLoop, StateDocument
from phoenixd.documents.times import read_date

SIZE_LIMIT = 1 << 20
MOST_NUMBERS = 500
LOOP_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NEWEST_VERSION = 2


@dataclass(frozen=True, slots=True)
class StateReading:
    """What became of a file's content.

    broken: why nothing of it counts, and then there is no document. notes: what was repaired. lossy: something could
    not be kept, so the original deserves a copy. read_only: a newer version wrote it, so it must not be written.
    """

    document: StateDocument | None
    broken: str | None = None
    notes: tuple[str, ...] = ()
    lossy: bool = False
    read_only: bool = False


@dataclass(slots=True)
class _Notes:
    mended: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def read_state(content: bytes, agent: str, today: date) -> StateReading:
    """Read a state.json; `agent` is the one whose directory it lies in, `today` stands in for missing days."""
    if len(content) > SIZE_LIMIT:
        return StateReading(None, broken=f"it holds more than {SIZE_LIMIT} bytes")
    try:
        found = from_json(content.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except ValueError as error:
        return StateReading(None, broken=f"it is not JSON: {str(error)[:120]}")
    if not isinstance(found, dict):
        return StateReading(None, broken="it is not a JSON object")
    if problem := _foreign(found, agent):
        return StateReading(None, broken=problem)
    notes = _Notes()
    found = _finite(found, notes)
    document = StateDocument(
        agent=agent,
        status=found["status"] if found.get("status") in ("idle", "working", "error") else "idle",
        current_task=_text(found, "current_task", notes),
        last_active=_text(found, "last_active", notes),
        open_loops=tuple(_loops(found, today, notes)),
        resolved=tuple(_resolved(found, today, notes)),
        numbers=_numbers(found, notes),
        **{key: value for key, value in found.items() if key not in StateDocument.model_fields},
    )
    return StateReading(document, None, (*notes.mended, *notes.lost), bool(notes.lost), _is_newer(found))


def _foreign(found: Mapping[str, Any], agent: str) -> str | None:
    """P6: the field `agent` is required and equals the directory's. Version 1 knew no loops, and need not name it."""
    if "agent" in found:
        named = found["agent"]
        return None if named == agent else f"the field agent names {str(named)[:40]!r}, and this is {agent}"
    if {"open_loops", "resolved", "numbers"} & found.keys() or not {"status", "current_task"} & found.keys():
        return "the field agent is missing"
    return None


def _is_newer(found: Mapping[str, Any]) -> bool:
    version = re.match(r"[0-9]{1,6}", str(found.get("version", "")))
    return version is not None and int(version[0]) > NEWEST_VERSION


def _text(found: Mapping[str, Any], key: str, notes: _Notes) -> str | None:
    value = found.get(key)
    if value is None or isinstance(value, str):
        return value or None
    notes.lost.append(f"{key} is not a text")
    return None


def _items(found: Mapping[str, Any], key: str, notes: _Notes) -> Iterator[tuple[int, Any]]:
    value = found.get(key)
    if isinstance(value, list):
        yield from enumerate(value)
    elif value is not None:
        notes.lost.append(f"{key} is not a list")


def _loops(found: Mapping[str, Any], today: date, notes: _Notes) -> Iterator[OpenLoop]:
    taken: set[str] = set()
    for index, item in _items(found, "open_loops", notes):
        where = f"open_loops[{index}]"
        given = {"text": item} if isinstance(item, str) and item.strip() else item
        if not isinstance(given, dict) or not (_words(given, "text") or _words(given, "id")):
            notes.lost.append(f"{where} is no loop")
            continue
        loop_id = _unique(_loop_id(given, where, notes), taken, where, notes)
        day = read_date(given.get("added"))
        if day is None:
            notes.mended.append(f"{where}: added is no day, so it counts from today")
        rest = {key: value for key, value in given.items() if key not in OpenLoop.model_fields}
        yield OpenLoop(
            id=loop_id,
            text=_words(given, "text") or loop_id,
            added=(day or today).isoformat(),
            stale=given.get("stale") is True,
            **rest,
        )


def _resolved(found: Mapping[str, Any], today: date, notes: _Notes) -> Iterator[ResolvedLoop]:
    for index, item in _items(found, "resolved", notes):
        where = f"resolved[{index}]"
        if not isinstance(item, dict) or not _words(item, "id"):
            notes.lost.append(f"{where} is no resolved loop")
            continue
        day = read_date(item.get("resolved_date"))
        if day is None:
            notes.mended.append(f"{where}: resolved_date is no day, so it counts from today")
        rest = {key: value for key, value in item.items() if key not in ResolvedLoop.model_fields}
        yield ResolvedLoop(
            id=_words(item, "id"),
            reason=_words(item, "reason"),
            resolved_date=(day or today).isoformat(),
            **rest,
        )


def _numbers(found: Mapping[str, Any], notes: _Notes) -> dict[str, str]:
    given = found.get("numbers")
    if given is None:
        return {}
    if not isinstance(given, dict):
        notes.lost.append("numbers is not a table")
        return {}
    numbers: dict[str, str] = {}
    for name, value in given.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool) and len(numbers) < MOST_NUMBERS:
            numbers[name] = value if isinstance(value, str) else str(value)
        else:
            notes.lost.append(f"numbers.{name[:40]} is no number or text, or one too many")
    return numbers


def _loop_id(given: Mapping[str, Any], where: str, notes: _Notes) -> str:
    named = _words(given, "id")
    if named and (written := kept_as_written(named)) is not None:
        return written
    slug = slug_of(named or _words(given, "text")) or "loop"
    notes.mended.append(f"{where}: its id became {slug}")
    return slug


def _unique(loop_id: str, taken: set[str], where: str, notes: _Notes) -> str:
    unique, number = loop_id, 1
    while unique in taken:
        number += 1
        unique = f"{loop_id}-{number}"
    if unique != loop_id:
        notes.mended.append(f"{where}: the id {loop_id} is taken, it became {unique}")
    taken.add(unique)
    return unique


def _finite(value: Any, notes: _Notes) -> Any:
    """A number such as 1e400 reads as infinity, which JSON cannot write back."""
    if isinstance(value, dict):
        return {key: _finite(item, notes) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item, notes) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        notes.lost.append("a number is larger than any that JSON can hold")
        return None
    return value


def _words(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value.strip() if isinstance(value, str) else ""
