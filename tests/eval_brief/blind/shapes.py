"""The shape of a line: its keys and the types of their values, and what kind of line it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.eval_brief.blind.patterns import Line

Shape = frozenset[tuple[str, str]]
_KEYED_BY_DATA = frozenset({"answers", "changes", "trackedFileBackups"})
"""Objects whose keys are what somebody said or named."""
_OPAQUE = frozenset({"$set.messages", "payload.replacement_history"})
"""Other lines once more."""
_NOT_ALWAYS = frozenset({"slug"})
"""Claude Code names a session at its first plan or compaction, and every line after it."""


_UNSEEN_END = (".message.stop_reason", "NoneType")
"""A block of an answer is written before its end was seen; the recordings' answers all came to their ends."""


def shape(line: Line) -> Shape:
    """Every place of a line with its type. An empty list says nothing, a number is a number."""
    return frozenset((at, "str") if (at, kind) == _UNSEEN_END else (at, kind) for at, kind in _places(line, ""))


def _places(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield at, "object"
        if at.endswith("functionCall.args"):
            return
        keyed = at.rsplit(".", 1)[-1] in _KEYED_BY_DATA
        for key, one in value.items():
            if key in _NOT_ALWAYS:
                continue
            yield from _places(one, f"{at}.{'*' if keyed else key}")
    elif isinstance(value, list):
        yield at, "list"
        for one in () if at.lstrip(".") in _OPAQUE else value:
            yield from _places(one, f"{at}[]")
    else:
        yield at, "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def kinds(cli: str, lines: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    """Each line with the name of its kind: lines of one kind are made alike."""
    calls: dict[str, str] = {}
    for line in lines:
        yield _KIND[cli](line, calls), line


def _claude(line: Line, calls: dict[str, str]) -> str:
    kind, message, attached = str(line["type"]), line.get("message", {}), line.get("attachment", {})
    content = message.get("content")
    part = content[0] if isinstance(content, list) and content else {}
    if part.get("type") == "tool_use":
        calls[part["id"]] = part["name"]
        return f"{kind} tool_use {part['name']}"
    if part.get("type") == "tool_result":
        return f"result {calls.get(part['tool_use_id'])} {'failed' if part.get('is_error') else 'came back'}"
    more = (line.get("subtype"), line.get("operation"), attached.get("type"), attached.get("hookEvent"))
    told = "" if isinstance(content, list) else line.get("promptSource", "")
    return " ".join(filter(None, (kind, *more, part.get("type"), told)))


def _codex(line: Line, calls: dict[str, str]) -> str:
    payload = line.get("payload", {})
    item = payload.get("item", {})
    call, name = str(payload.get("call_id", "")), payload.get("name")
    if name:
        calls[call] = str(name)
    named = calls.get(call, "") if "output" in payload or name else ""
    change = next((one["type"] for one in item.get("changes", {}).values()), "")
    known = (line["type"], payload.get("type"), payload.get("role"), item.get("type"), change, named)
    return " ".join(filter(None, known))


def _gemini(line: Line, calls: dict[str, str]) -> str:
    if "$set" in line:
        return f"$set {' '.join(line['$set'])}"
    tools = " ".join(sorted({f"{call['name']} {call['status']}" for call in line.get("toolCalls", [])}))
    content = line.get("content")
    parts = " ".join(sorted({key for part in content for key in part})) if isinstance(content, list) else "text"
    return f"{line.get('type', 'head')} {parts} {tools}".rstrip()


_KIND = {"claude": _claude, "codex": _codex, "gemini": _gemini}
