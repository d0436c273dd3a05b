"""A recorded failure, read by the production parsers into the evidence that the rules of triage get.

A record is a directory: record.json (harness, kind, exit, lived_s, asked_to_end, limits), hooks.jsonl, screen.txt,
transcript.jsonl, stderr.txt, and expected.json, which only the figures read. What is missing was not to be had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phoenixd.core.exits import status_of
from phoenixd.core.hooks import (
    CallOver,
    HookEvent,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from phoenixd.core.session import WORKS
from phoenixd.core.traits import told_by_exit
from phoenixd.core.treatment.evidence import SAID_LIMIT, Evidence
from phoenixd.documents.failures import FULL
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.harness import HARNESSES, Harness
from phoenixd.harness.codex.harness import EVENTS as CODEX_EVENTS
from phoenixd.harness.failed_turn import broke_off, meaning
from phoenixd.harness.gemini.harness import EVENTS as GEMINI_EVENTS
from phoenixd.shim import payload

WINDOW = 200_000
"""Tokens of the window where the record does not say it."""
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
    """One record. evidence None: it is raised live, by the name of its fault."""

    id: str
    harness: str
    kind: str
    fault: str
    evidence: Evidence | None
    expected: Expected
    place: Path


def read_records(directory: Path, *, with_expected: bool = True) -> list[Record]:
    """All records below a directory, in the order of their names; raises Malformed."""
    found = sorted(path.parent for path in directory.rglob("record.json"))
    return [read_record(one, with_expected=with_expected) for one in found]


def read_record(place: Path, *, with_expected: bool = True) -> Record:
    """One record; raises Malformed."""
    said = _object(place / "record.json")
    harness, kind = str(said.get("harness", "")), str(said.get("kind", "terminal"))
    evidence = None if kind == LIVE else evidence_of(place, said)
    told = _expected(_object(place / "expected.json")) if with_expected else Expected(False, None, "", False, (), "")
    return Record(place.name, harness, kind, str(said.get("fault", "")), evidence, told, place)


def evidence_of(place: Path, said: dict[str, Any]) -> Evidence:
    """What the production parsers make of what the CLI did and said."""
    name = str(said.get("harness", ""))
    harness = HARNESSES[name]
    mode = said.get("mode")
    found = Evidence(harness=name, lived=said.get("lived_s"), mode=mode if mode in ("fresh", "resume") else "")
    for event in _hooks(place / "hooks.jsonl", name, _silence(said)):
        found = _heard(found, event)
    facts = _facts(place / "transcript.jsonl", harness)
    if facts is not None:
        found = _read(found, facts)
    found = _ended(found, said)
    screen = _text(place / "screen.txt")
    if kind_of(said) == "terminal" and screen.strip() and (found.is_alive or said.get("asked_to_end") is True):
        found = replace(found, screen=harness.screen_says(screen))
    if harness.transcript_form is None and FULL.search(
        screen[-SAID_LIMIT:] + _text(place / "stderr.txt")[-SAID_LIMIT:]
    ):
        # A program without types: the end of what it printed is all that there is.
        found = replace(found, failure="full")
    return found


def kind_of(said: dict[str, Any]) -> str:
    return str(said.get("kind", "terminal"))


def _heard(found: Evidence, event: HookEvent) -> Evidence:
    if event.sub:
        return found
    if isinstance(event, WORKS):
        found = replace(found, worked=True, session_seen=True)
    match event:
        case SessionStarted(source=source):
            return replace(found, session_seen=True, mode="resume" if source == "resume" else found.mode or "fresh")
        case PromptSubmitted():
            return replace(found, turn_open=True, ended_well=False, failure="", word="", named="", reset=False, cut="")
        case ToolStarted(tool=tool):
            return replace(found, call=tool or "", turn_open=True)
        case SessionEnded(by_person=True):
            # The end of a run that a person left is an end by order to the daemon, whatever its turn was at.
            return replace(found, asked=True)
        case TurnEnded():
            return replace(found, turn_open=False, ended_well=True, failure="", word="", named="", call="")
        case TurnFailed():
            return replace(
                found, turn_open=False, ended_well=False, failure=event.failure, word=event.error or "",
                named=event.named, reset=event.reset_wall is not None, said=event.text[-SAID_LIMIT:], call="",
            )  # fmt: skip
        case _ if isinstance(event, CallOver):
            return replace(found, call="")
        case _:
            return found


def _read(found: Evidence, facts: SessionFacts) -> Evidence:
    """The transcript tells what no hook does: errors of CLIs without a hook for it, cuts, how full the context is."""
    cut, failed = facts.cut_at_end, facts.error
    if cut is not None:
        went_on = facts.went_on and facts.unended is None
        found = replace(found, cut=cut.how, went_on=went_on)
    if facts.usage is not None:
        found = replace(found, fill=round(facts.usage.tokens / (facts.usage.window or WINDOW), 4))
    if facts.turn_open is False and not found.session_seen:
        found = replace(found, turn_open=False)
    if failed is None:
        return found
    word, failure, named = meaning(failed, resets=failed.resets is not None, broke=broke_off(facts))
    if not found.failure:
        found = replace(found, word=word, said=failed.text[-SAID_LIMIT:])
    if found.failure == "" or failed.status is not None:
        found = replace(found, failure=failure, named=named)
    return replace(
        found, status=failed.status, ended_well=False, turn_open=False,
        reset=found.reset or failed.resets is not None,
    )  # fmt: skip


def _ended(found: Evidence, said: dict[str, Any]) -> Evidence:
    ended, limits = said.get("exit"), said.get("limits") or {}
    asked = found.asked or said.get("asked_to_end") is True
    if ended is None:
        return replace(found, is_alive=True, asked=asked)
    oom, ended_as = limits.get("oom") or ("agent" if limits.get("oom_kills") else ""), limits.get("ended_as")
    status = status_of(found.harness, ended.get("code"))
    return replace(
        found, code=ended.get("code"), signal=ended.get("signal"), asked=asked, status=found.status or status,
        cause=ended_as if ended_as in ("hung", "overtime") else "exit",
        told=told_by_exit(found.harness, ended.get("code")) if ended_as not in ("hung", "overtime") else "",
        oom=oom if oom in ("agent", "host") else "host" if oom else "",
        disk_full=bool(limits.get("disk_full") or limits.get("disk full")),
    )  # fmt: skip


def _silence(said: dict[str, Any]) -> float:
    """Seconds of silence after which it was ended as hung: what it said later, it said while it was being ended."""
    limits = said.get("limits") or {}
    return 0.9 * float(limits.get("quiet_s") or 0) if limits.get("ended_as") == "hung" else 0.0


def _hooks(path: Path, harness: str, silence: float) -> Iterator[HookEvent]:
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


def _facts(path: Path, harness: Harness) -> SessionFacts | None:
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
