"""A recorded failure, read by the production parsers into what the daemon hears of it.

A record is a directory: record.json (harness, kind, exit, lived_s, asked_to_end, limits), hooks.jsonl, screen.txt,
transcript.jsonl, stderr.txt, and expected.json, which only the figures read. What is missing was not to be had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.core.hooks import (
    HookEvent,
)
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.harness import Harness
from phoenixd.harness.codex.harness import EVENTS as CODEX_EVENTS
from phoenixd.harness.gemini.harness import EVENTS as GEMINI_EVENTS
from phoenixd.shim import payload

LIVE = "pydantic_ai"


class Malformed(ValueError):
    """A record cannot be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a person who knew the CLIs and the words said of it. cause None: "unknown" alone is right."""

    ill: bool
    cause: str | None
    detail: str
    retryable: bool
    treatments: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Record:
    """One record."""

    id: str
    harness: str
    kind: str
    fault: str
    expected: Expected
    place: Path

    @property
    def is_live(self) -> bool:
        """Whether it is raised live, by the name of its fault."""
        return self.kind == LIVE


def read_records(directory: Path, *, with_expected: bool = True) -> list[Record]:
    """All records below a directory, in the order of their names; raises Malformed."""
    found = sorted(path.parent for path in directory.rglob("record.json"))
    return [read_record(one, with_expected=with_expected) for one in found]


def read_record(place: Path, *, with_expected: bool = True) -> Record:
    """One record; raises Malformed."""
    said = _object(place / "record.json")
    harness, kind = str(said.get("harness", "")), str(said.get("kind", "terminal"))
    told = _expected(_object(place / "expected.json")) if with_expected else Expected(False, None, "", False, (), "")
    return Record(place.name, harness, kind, str(said.get("fault", "")), told, place)


def said_of(place: Path) -> dict[str, Any]:
    """What record.json says; raises Malformed."""
    return _object(place / "record.json")


def kind_of(said: dict[str, Any]) -> str:
    return str(said.get("kind", "terminal"))


def silence_of(said: dict[str, Any]) -> float:
    """Seconds of silence after which it was ended as hung: what it said later, it said while it was being ended."""
    limits = said.get("limits") or {}
    return 0.9 * float(limits.get("quiet_s") or 0) if limits.get("ended_as") == "hung" else 0.0


def hooks_of(path: Path, harness: str, silence: float) -> Iterator[HookEvent]:
    newest: float | None = None
    for line in _lines(path):
        said = json.loads(line)
        body = said.get("body", said)
        kind = _kind(harness, str(body.get("hook_event_name", "")))
        if kind is not None:
            at = said.get("at")
            if silence and newest is not None and isinstance(at, int | float) and at - newest >= silence:
                return
            newest = float(at) if isinstance(at, int | float) else newest
            yield hook_event("a", 1, kind, payload.trim(body), float(at) if isinstance(at, int | float) else 0.0)


def _kind(harness: str, name: str) -> str | None:
    if harness == "gemini":
        return GEMINI_EVENTS.get(name)
    if harness == "codex" and name in CODEX_EVENTS:
        return CODEX_EVENTS[name][1]
    return payload.kind_of(name)


def facts_of(path: Path, harness: Harness) -> SessionFacts | None:
    form = harness.transcript_form
    if form is None or not path.exists():
        return None
    reading = SessionReading()
    for line in path.read_bytes().splitlines():
        record = form.record(line) if form.matters(line) else None
        if record is not None:
            reading.hear(record)
    return reading.facts()


def _expected(said: dict[str, Any]) -> Expected:
    return Expected(
        bool(said["ill"]), said.get("cause"), str(said.get("detail") or ""), bool(said.get("retryable")),
        tuple(said.get("acceptable_treatments") or ()), str(said.get("why") or ""),
    )  # fmt: skip


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError) as error:
        raise Malformed(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise Malformed(f"{path}: no JSON object")
    return found


def _lines(path: Path) -> list[str]:
    return [line for line in _text(path).splitlines() if line.strip()]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
