"""Codex's rollouts, as 0.169.0 writes them. Pure functions over single lines.

The traps that this module owns:
- what a model was given counts the cached part as input, and what was written to a cache as well;
- after a compaction the newest usage is one of zeros, and the request that made the summary is written like any other;
- a person's prompt stands there twice, once among texts that the CLI itself gives the model as the user;
- one that was read in the middle of a turn is written as the one that began it: only the name of the turn is the same;
- no hook tells of an API error: it stands in the record that ends the turn;
- that an answer was cut stands there too, in the words of the error alone.
"""

from __future__ import annotations

import re
from typing import Any

from phoenixd.core.causes import CutHow
from phoenixd.documents.deeds import SPOKEN_LIMIT, Spoke, TaskRow, clipped, named
from phoenixd.documents.json_line import Table, compact, count, moment, parse_line, table, tables, text
from phoenixd.documents.limits import reset_in_words
from phoenixd.documents.transcript import (
    ApiFailed,
    Compacted,
    CutShort,
    Fact,
    Given,
    Piece,
    Prompted,
    Record,
    RecordKind,
    Said,
    SessionNamed,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    Used,
)
from phoenixd.harness.codex import deeds

_INCOMPLETE = re.compile(r"Incomplete response returned, reason: (\w{1,64})")
_CUT_STREAM = re.compile(r"stream (?:closed before response\.completed|disconnected before completion)")
_REASONS: dict[str, CutHow] = {"max_output_tokens": "output_limit", "content_filter": "filtered"}

_USAGE = re.compile(rb'"token_count"|"compacted"')
_UNINTERESTING = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,12},)?"type":"'
    rb'(?:(?:world_state|turn_context|token_usage_record)"|[a-z_]{1,20}","payload":\{"type":"'
    rb'(?:thread_settings_applied|reasoning|agent_reasoning)")'
)
WORDS_READ = 4096
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_LONG_RESULT = re.compile(
    rb'"payload":\{"type":"[a-z_]{1,30}_output",(?:"id":"[^"]{1,128}",)?"call_id":"([^"\\]{1,128})"'
)


def matters(head: bytes) -> bool:
    """Whether a line that begins so may tell anything."""
    return _UNINTERESTING.match(head) is None


def may_tell_usage(line: bytes) -> bool:
    """Whether a line may say how full the context is."""
    return _USAGE.search(line) is not None


def record(line: bytes) -> Record | None:
    """What a line tells; None where it is no record."""
    if not matters(line):
        return None
    found = parse_line(line)
    if found is None:
        return None
    at, payload = moment(found, "timestamp"), table(found, "payload")
    match found.get("type"):
        case "event_msg":
            return _from_event(payload, at)
        case "response_item":
            return _from_item(payload, at)
        case "compacted":
            return Record("system", at, (Compacted(at),))
        case "session_meta":
            session_id = text(payload, "id") or text(payload, "session_id")
            return Record("system", at, (SessionNamed(session_id),) if session_id else ())
        case _:
            return None


def said(line: bytes) -> Said | None:
    """What a line says to a reader."""
    if not matters(line):
        return None
    found = parse_line(line)
    if found is None:
        return None
    at, payload = text(found, "timestamp"), table(found, "payload")
    piece = None
    if found.get("type") == "event_msg":
        if (prompt := _prompt(payload)) is not None:
            piece = Piece("user", prompt, at)
        elif payload.get("type") == "task_complete" and (words := text(table(payload, "error"), "message")):
            piece = Piece("assistant", words, at, failed=True)
    elif found.get("type") == "response_item":
        piece = _spoken(payload, at)
    return Said((piece,)) if piece is not None else None


def given(line: bytes) -> Given | None:
    """What the CLI itself gives the model beside a person's prompts: what hooks added stands among it."""
    if b'"role":"developer"' not in line and b'"role":"user"' not in line:
        return None
    found = parse_line(line)
    payload = table(found, "payload") if found is not None else {}
    if found is None or found.get("type") != "response_item" or payload.get("type") != "message":
        return None
    words = _joined(payload.get("content")) if payload.get("role") in ("developer", "user") else None
    return Given(words, text(found, "timestamp")) if words else None


def beginning(head: bytes) -> Record | None:
    """A tool's result may be too long to be read; that it came back is told by how the line begins."""
    found = _LONG_RESULT.search(head)
    return Record("tool", None, (ToolEnded(found[1].decode("utf-8", "replace"), False, None),)) if found else None


def task_directory(transcript: str) -> str | None:
    """The list stands in the transcript alone."""
    return None


def task_file(content: bytes) -> TaskRow | None:
    """There are none."""
    return None


def _from_event(payload: Table, at: float | None) -> Record | None:
    kind: RecordKind = "system"
    facts: tuple[Fact, ...] = ()
    match payload.get("type"):
        case "task_started":
            facts = (TurnBegan(),)
        case "task_complete":
            facts = _ended(payload, at)
        case "turn_aborted":
            facts = (TurnEnded("interrupted", at),)
        case "token_count":
            used = _used(table(payload, "info"), at)
            facts = (used,) if used is not None else ()
        case _:
            prompt = _prompt(payload)
            if prompt is None:
                done = deeds.completed(table(payload, "item"), at) if payload.get("type") == "item_completed" else ()
                return Record(None, at, done) if done else None
            kind, facts = "prompt", (Prompted(prompt, at, turn=named(text(payload, "turn_id"))),)
    return Record(kind, at, facts)


def _ended(payload: Table, at: float | None) -> tuple[Fact, ...]:
    error = table(payload, "error")
    words = text(error, "message")
    if words is None:
        return (TurnEnded("done", at),)
    # Its kind is a word, or the only key of an object that says more.
    details = table(error, "codex_error_info")
    kind = text(error, "codex_error_info") or next(iter(details), "unknown")
    status, resets = count(table(details, kind), "http_status_code"), reset_in_words(words, at) if at else None
    failed = ApiFailed(kind, words, at, status, resets)
    how = _cut(words)
    return (
        (failed, TurnEnded("failed", at)) if how is None else (failed, CutShort(how, at, None), TurnEnded("failed", at))
    )


def _cut(words: str) -> CutHow | None:
    """How an answer was cut, by the words of the error; None where there was none, or none that is known to be cut."""
    found = _INCOMPLETE.search(words[:WORDS_READ])
    if found is not None:
        return _REASONS.get(found[1], "output_limit")
    return "stream" if _CUT_STREAM.search(words[:WORDS_READ]) else None


def _used(info: Table, at: float | None) -> Used | None:
    usage = table(info, "last_token_usage")
    whole = count(usage, "input_tokens")
    if not whole:
        return None
    read, written = count(usage, "cached_input_tokens") or 0, count(usage, "cache_write_input_tokens") or 0
    fresh, output = max(0, whole - read - written), count(usage, "output_tokens") or 0
    # The event is sent again at other occasions; what was used in all tells whether there was a request between.
    total = count(table(info, "total_token_usage"), "total_tokens")
    request = f"total-{total}" if total is not None else None
    return Used(request, fresh, read, written, output, None, at, count(info, "model_context_window") or None)


def _prompt(payload: Table) -> str | None:
    if payload.get("type") == "user_message":
        return text(payload, "message")
    item = table(payload, "item")
    if payload.get("type") != "item_completed" or item.get("type") != "UserMessage":
        return None
    return _joined(item.get("content"))


def _from_item(payload: Table, at: float | None) -> Record | None:
    kind, call = text(payload, "type") or "", named(text(payload, "call_id") or text(payload, "id"))
    if kind in _CALLS:
        if not call:
            return Record("assistant", at)
        name = text(payload, "name") or kind
        return Record("assistant", at, (ToolBegan(call, name, at), *deeds.asked(payload, name, call, at)))
    if kind.endswith("_output"):
        output = _joined(payload.get("output"))
        if not call:
            return Record("tool", at)
        told = deeds.came_back(output, call, at) if output is not None else ()
        refused = output is not None and deeds.is_refused(output)
        return Record("tool", at, (*told, ToolEnded(call, refused or _failed(output), at)))
    if kind == "message" and payload.get("role") == "assistant":
        words = _joined(payload.get("content"))
        return Record("assistant", at, (Spoke(clipped(words, SPOKEN_LIMIT), None, at),) if words else ())
    return None


def _spoken(payload: Table, at: str | None) -> Piece | None:
    kind, call = text(payload, "type") or "", text(payload, "call_id") or text(payload, "id") or ""
    if kind in _CALLS:
        given = text(payload, "arguments") or text(payload, "input") or compact(payload.get("action"))
        return Piece("assistant", given, at, text(payload, "name") or kind, call)
    if kind.endswith("_output"):
        output = _joined(payload.get("output"))
        return Piece("tool", output or "", at, "", call, _failed(output))
    if kind == "message" and payload.get("role") == "assistant":
        words = _joined(payload.get("content"))
        return Piece("assistant", words, at) if words else None
    return None


def _failed(output: str | None) -> bool:
    code = deeds.EXIT_CODE.search(output[:400]) if output is not None else None
    return code is not None and int(code[1]) != 0


def _joined(content: Any) -> str | None:
    """The text of something said, which is a text or a list of parts."""
    if isinstance(content, str):
        return text({"": content}, "")
    if isinstance(content, dict):
        return text(content, "content") or compact(content)
    words = [word for part in tables({"": content}, "") if (word := text(part, "text")) is not None]
    return "\n".join(words) if words else None
