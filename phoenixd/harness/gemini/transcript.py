"""The Gemini CLI's chats, as 0.61.0 writes them. Pure functions over single lines.

The traps that this module owns:
- a record is written anew, under the same id, once its tools came back: the later one counts;
- `$set` lines hold the whole conversation once more, and grow with it: what they say was said before;
- nothing marks the end of a turn: after an answer only hooks can tell whether a tool is still at work;
- what hooks and the CLI itself give the model are `user` records, as prompts and tools' results are.
"""

from __future__ import annotations

import re
from typing import Any

from phoenixd.documents.deeds import SPOKEN_LIMIT, Spoke, TaskRow, clipped, named
from phoenixd.documents.json_line import Table, compact, count, moment, parse_line, table, tables, text
from phoenixd.documents.transcript import (
    ApiFailed,
    Compacted,
    Fact,
    Given,
    Piece,
    Prompted,
    Record,
    Said,
    SessionNamed,
    ToolBegan,
    ToolEnded,
    TurnEnded,
    TurnUnclear,
    Used,
)
from phoenixd.harness.gemini import deeds

CANCELLED = "Request cancelled."

_USAGE = re.compile(rb'"tokens"|"info"')
_UNINTERESTING = re.compile(rb'\{"\$set":')
_ERROR_KIND, _ERROR_CODE = re.compile(r'"status":\s*"([A-Z_]{1,64})"'), re.compile(r'"code":\s*(\d{3})\b')
_TOLD, _TOLD_END = "<hook_context>", "</hook_context>"
"""What hooks tell the model stands before a prompt or behind it, with its angle brackets escaped."""
_MACHINE_MADE = re.compile(r"\s*<(session_context|hook_context|state_snapshot|system_reminder)\b")


def matters(head: bytes) -> bool:
    """Whether a line that begins so may tell anything."""
    return _UNINTERESTING.match(head) is None


def may_tell_usage(line: bytes) -> bool:
    """Whether a line may say how full the context is."""
    return _USAGE.search(line) is not None


def record(line: bytes) -> Record | None:
    """What a line tells; None where it is no record."""
    found = parse_line(line) if matters(line) else None
    if found is None:
        return None
    at, words = moment(found, "timestamp"), _words(found.get("content"))
    match found.get("type"):
        case "user":
            return _from_user(found, words, at)
        case "gemini":
            return Record("assistant", at, _answer(found, words, at))
        case "error":
            return Record("system", at, (failure(words or "", at), TurnEnded("failed", at)))
        case "info" if words is not None and words.startswith(CANCELLED):
            return Record("system", at, (TurnEnded("interrupted", at),))
        case "info" if words == "":
            # This is all that is left of "Chat history compressed".
            return Record("system", at, (Compacted(at),))
        case None if (session_id := text(found, "sessionId")) is not None:
            return Record("system", moment(found, "startTime"), (SessionNamed(session_id),))
        case _:
            return None


def said(line: bytes) -> Said | None:
    """What a line says to a reader."""
    found = parse_line(line) if matters(line) else None
    if found is None:
        return None
    at, words = text(found, "timestamp"), _words(found.get("content"))
    pieces: list[Piece] = []
    match found.get("type"):
        case "user" if (prompt := _prompt(words)) is not None:
            pieces = [Piece("user", prompt, at)]
        case "gemini":
            pieces = [Piece("assistant", words, at)] if words else []
            for call in tables(found, "toolCalls"):
                pieces += _used_tool(call, at)
        case "error" if words:
            pieces = [Piece("assistant", words, at, failed=True)]
        case _:
            pass
    return Said(tuple(pieces), text(found, "id")) if pieces else None


def given(line: bytes) -> Given | None:
    """What hooks told stands in front of a prompt, or behind it, in marks of its own."""
    found = parse_line(line) if _TOLD.encode() in line else None
    words = _words(found.get("content")) if found is not None and found.get("type") == "user" else None
    if found is None or words is None or _without_told(words) == words:
        return None
    return Given(_unescaped(words), text(found, "timestamp"))


def _unescaped(words: str) -> str:
    for written, meant in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")):
        words = words.replace(written, meant)
    return words


def beginning(head: bytes) -> Record | None:
    """A record that is too long to be read is one that came back with its tools."""
    return None


def task_directory(transcript: str) -> str | None:
    """The list stands in the transcript alone."""
    return None


def task_file(content: bytes) -> TaskRow | None:
    """There are none."""
    return None


def _from_user(found: Table, words: str | None, at: float | None) -> Record | None:
    answers = [table(part, "functionResponse") for part in tables(found, "content")]
    ended = tuple(ToolEnded(call, False, at) for answer in answers if (call := named(text(answer, "id"))) is not None)
    if ended:
        return Record("tool", at, ended)
    prompt = _prompt(words)
    return Record("prompt", at, (Prompted(prompt, at),)) if prompt is not None else None


def _prompt(words: str | None) -> str | None:
    if words is None:
        return None
    prompt = _without_told(words) if _TOLD in words else words
    return prompt if prompt.strip() and _MACHINE_MADE.match(prompt) is None else None


def _without_told(words: str) -> str:
    """A prompt without what hooks told, by plain search: a pattern that tries each blank anew takes quadratic time."""
    head = words.lstrip()
    if head.startswith(_TOLD):
        end = head.find("<", len(_TOLD))
        if end >= 0 and head.startswith(_TOLD_END, end):
            words = head[end + len(_TOLD_END) :].lstrip()
    tail = words.rstrip()
    if tail.endswith(_TOLD_END):
        begin = tail.rfind("<", 0, len(tail) - len(_TOLD_END))
        if begin >= 0 and tail.startswith(_TOLD, begin):
            words = tail[:begin].rstrip()
    return words


def _answer(found: Table, words: str | None, at: float | None) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    if (used := _used(found, at)) is not None:
        facts.append(used)
    calls = tables(found, "toolCalls")
    # After a denial the conversation so far is written anew, under new ids, and in parts.
    if words and isinstance(found.get("content"), str):
        facts.append(Spoke(clipped(words, SPOKEN_LIMIT), False if calls else None, at, named(text(found, "id"))))
    for call in calls:
        if (number := named(text(call, "id"))) is not None:
            facts += _called(call, number, text(call, "name") or "tool", at)
    return tuple(facts) if calls else (*facts, TurnUnclear())


def _called(call: Table, number: str, name: str, at: float | None) -> list[Fact]:
    facts: list[Fact] = [ToolBegan(number, name, at), *deeds.asked(name, number, table(call, "args"), at)]
    status, ended = text(call, "status"), moment(call, "timestamp")
    if status in ("success", "error", "cancelled"):
        facts += deeds.came_back(name, number, status, _result(call), ended)
        facts.append(ToolEnded(number, status != "success", ended))
    return facts


def failure(words: str, at: float | None) -> ApiFailed:
    """The API's own error stands in the text, as JSON in a sentence."""
    kind, code = _ERROR_KIND.search(words[:8192]), _ERROR_CODE.search(words[:8192])
    return ApiFailed(kind[1] if kind else "unknown", words, at, int(code[1]) if code else None)


def _used(found: Table, at: float | None) -> Used | None:
    tokens = table(found, "tokens")
    whole = count(tokens, "input")
    if not whole:
        return None
    read = count(tokens, "cached") or 0
    output = (count(tokens, "output") or 0) + (count(tokens, "thoughts") or 0)
    return Used(text(found, "id"), max(0, whole - read), read, 0, output, text(found, "model"), at)


def _used_tool(call: Table, at: str | None) -> list[Piece]:
    number, name = text(call, "id") or "", text(call, "name") or "tool"
    use = Piece("assistant", compact(call.get("args")), at, name, number)
    if text(call, "status") not in ("success", "error", "cancelled"):
        return [use]
    told = _result(call)
    failed = text(call, "status") != "success" or re.search(r"^Exit Code: [1-9-]", told, re.MULTILINE) is not None
    return [use, Piece("tool", told, text(call, "timestamp") or at, name, number, failed)]


def _result(call: Table) -> str:
    """What the model reads of a call's result."""
    answers = [table(table(part, "functionResponse"), "response") for part in tables(call, "result")]
    return "\n".join(text(answer, "output") or text(answer, "error") or compact(answer) for answer in answers)


def _words(content: Any) -> str | None:
    """The text of something said, which is a text or a list of parts."""
    if isinstance(content, str):
        return text({"": content}, "")
    words = [word for part in tables({"": content}, "") if (word := text(part, "text")) is not None]
    return "\n".join(words) if words else None
