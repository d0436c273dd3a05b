"""Claude Code's transcripts, as 2.1.197 writes them. Pure functions over single lines.

The traps that this module owns:
- an API error is an `assistant` record with the model `<synthetic>` and a usage of zeros: no request;
- so is the text that an interrupted answer had come to: said, but no request;
- so is what a resume puts behind a prompt that has no answer: nobody said it, and the prompt has none still;
- one request is written as a line for each block of its answer, all with the same usage;
- an answer that was cut is written like any other one: its stop_reason says so, or there is none; a call that came with
  a cut answer is executed, and so the turn goes on;
- what a person types, what commands print, what hooks add and what the CLI tells itself are all `user` records.
"""

from __future__ import annotations

import re
from typing import Any

from phoenixd.core.causes import CutHow
from phoenixd.documents.deeds import SPOKEN_LIMIT, Spoke, TaskRow, clipped, named
from phoenixd.documents.failures import codes_in
from phoenixd.documents.json_line import Table, compact, count, moment, parse_line, table, tables, text
from phoenixd.documents.limits import reset_in_words
from phoenixd.documents.transcript import (
    ApiFailed,
    Checked,
    Compacted,
    CutShort,
    Fact,
    Given,
    Piece,
    Prompted,
    Record,
    Said,
    SessionNamed,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    Unended,
    Used,
)
from phoenixd.harness.claude import deeds
from phoenixd.planting import is_ours
from phoenixd.shim.payload import as_sent

SYNTHETIC = "<synthetic>"
NO_ANSWER = "No response requested."
"""What 2.1.197 and 2.1.330 write as the model SYNTHETIC, with the first prompt after a resume: it stands in for
the answer of a session that ended without one."""

INTERRUPTED = "[Request interrupted by user"

CUTS: dict[str, CutHow] = {
    "max_tokens": "output_limit",
    "model_context_window_exceeded": "window",
    "refusal": "filtered",
}
"""What stop_reason says of an answer that is not whole."""

MOST_CODES = 8
CODES = ("apiErrorType", "apiErrorCode", "apiError")
"""Where 2.1.330 writes the API's own type and code of a failure, and a closer one of its own."""

CUT_STREAM = "Your response above was cut off mid-stream."
"""How 2.1.330 begins what it tells the model in place of a stop_reason: there it writes end_turn for such an answer."""

GIVES = ("SessionStart", "UserPromptSubmit")
"""Hooks by which a session is told something."""

_USAGE = re.compile(rb'"usage"|"compact_boundary"')
_UNINTERESTING = re.compile(
    rb'\{"type":"(?!user"|assistant"|system"|attachment"|queue-operation")'
    rb'|\{"parentUuid":[^,]{1,40},"isSidechain":(?:true|false,"attachment":\{"type":'
    rb'"(?!queued_command"|task_reminder"|todo_reminder"))'
)
"""Most lines of a busy session are of no interest; how they begin says so at a fraction of a parser's cost."""
_MACHINE_MADE = re.compile(
    r"\s*<(command-name|command-message|command-args|local-command-[a-z]+|bash-(input|stdout|stderr)|task-notification"
    r"|system-reminder|user-memory-input|tick)\b"
)
_LONG_RESULT = re.compile(rb'"tool_use_id":"([A-Za-z0-9_-]{1,128})"')


def matters(head: bytes) -> bool:
    """Whether a line that begins so may tell or say anything."""
    return _UNINTERESTING.match(head) is None


def may_tell_usage(line: bytes) -> bool:
    """Whether a line may say how full the context is."""
    return _USAGE.search(line) is not None


def record(line: bytes) -> Record | None:
    """What a line tells; None where it is no record of the main thread."""
    if not matters(line):
        return None
    found = parse_line(line)
    if found is None or found.get("isSidechain") is True:
        return None
    at = moment(found, "timestamp")
    match found.get("type"):
        case "assistant" if _is_no_answer(found):
            return Record(None, at, _named(found, ()))
        case "assistant":
            facts = _answer(found, at)
            return Record("assistant", at, _named(found, facts))
        case "user":
            return _from_user(found, at)
        case "system":
            return _from_system(found, at)
        case "attachment":
            facts = _queued(found, at)
            if facts:
                return Record("prompt", at, _named(found, facts))
            added = deeds.attached(table(found, "attachment"), at)
            return Record(None, at, added) if added else None
        case "queue-operation":
            added = deeds.queue(found, at)
            return Record(None, at, added) if added else None
        case _:
            return None


def said(line: bytes) -> Said | None:
    """What a line says to a reader."""
    if not matters(line):
        return None
    found = parse_line(line)
    if found is None or found.get("isSidechain") is True or found.get("isMeta") is True:
        return None
    at, kind = text(found, "timestamp"), found.get("type")
    pieces: list[Piece] = []
    if kind == "assistant":
        pieces = _spoken(found, at) if not _is_no_answer(found) else []
    elif kind == "user":
        pieces = _told(found, at)
    elif kind == "attachment" and (queued := _queued_text(found)) is not None:
        pieces = [Piece("user", queued, at)]
    return Said(tuple(pieces)) if pieces else None


def given(line: bytes) -> Given | None:
    """What a hook added at a session's start or with a prompt, written down by the CLI as it takes that over."""
    if b'"hook_additional_context"' not in line:
        return None
    found = parse_line(line)
    if found is None or found.get("type") != "attachment" or found.get("isSidechain") is True:
        return None
    attachment = table(found, "attachment")
    if attachment.get("type") != "hook_additional_context" or attachment.get("hookEvent") not in GIVES:
        return None
    content = attachment.get("content")
    texts = [one for one in content if isinstance(one, str)] if isinstance(content, list) else []
    return Given("\n".join(texts), text(found, "timestamp")) if texts else None


def beginning(head: bytes) -> Record | None:
    """A tool's result may be too long to be read; that it came back is told by how the line begins."""
    if b'"isSidechain":true' in head or b'"type":"tool_result"' not in head:
        return None
    calls = _LONG_RESULT.findall(head)
    return Record("tool", None, tuple(ToolEnded(call.decode(), False, None) for call in calls[:8]))


def task_directory(transcript: str) -> str | None:
    """CONFIG/tasks/SESSION for CONFIG/projects/DIRECTORY/SESSION.jsonl."""
    config, _, rest = transcript.rpartition("/projects/")
    session = rest.rpartition("/")[2].removesuffix(".jsonl")
    return f"{config}/tasks/{session}" if config and session else None


def task_file(content: bytes) -> TaskRow | None:
    """The task of a file, which is not written in one piece."""
    found = parse_line(content)
    listed = deeds.rows({"": [found]}, "", "subject") if found is not None else ()
    return listed[0] if listed and listed[0].id is not None else None


def _named(found: Table, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    session_id = text(found, "sessionId")
    return (*facts, SessionNamed(session_id)) if session_id else facts


def _answer(found: Table, at: float | None) -> tuple[Fact, ...]:
    message = table(found, "message")
    if found.get("isApiErrorMessage") is True:
        words = " ".join(text(part, "text") or "" for part in tables(message, "content"))
        kind = text(found, "error") or text(found, "apiError") or "unknown"
        resets = reset_in_words(words, at) if at is not None else None
        failed = ApiFailed(kind, words, at, count(found, "apiErrorStatus"), resets, _codes(found))
        cut_off = (CutShort("stream", at),) if found.get("truncatedAfterOutput") is True else ()
        return failed, *cut_off, TurnEnded("failed", at)
    facts: list[Fact] = []
    if message.get("model") != SYNTHETIC and (used := _used(found, message, at)):
        facts.append(used)
    stop = text(message, "stop_reason")
    is_own = message.get("model") != SYNTHETIC
    is_last = stop not in (None, "tool_use", "pause_turn") and is_own
    if is_own and (cut := CUTS.get(stop or "")) is not None:
        calls = tuple(name for part in tables(message, "content") if (name := _called(part)))
        facts.append(CutShort(cut, at, calls))
        is_last = not calls
    elif is_own and stop is None:
        facts.append(Unended(at))
    for part in tables(message, "content"):
        call, name = named(text(part, "id")), text(part, "name")
        if part.get("type") == "tool_use" and call and name:
            facts.append(ToolBegan(call, name, at))
            facts += deeds.asked(name, call, table(part, "input"), at)
        elif part.get("type") == "text" and (said_now := text(part, "text")):
            # Never None: this CLI writes how a turn ends, and no later prompt tells it.
            facts.append(Spoke(clipped(said_now, SPOKEN_LIMIT), is_last, at))
    if is_last:
        facts.append(TurnEnded("done", at))
    return tuple(facts)


def _is_no_answer(found: Table) -> bool:
    """Whether the CLI itself filled the place of an answer that never came. A failure may have the same words."""
    message = table(found, "message")
    if message.get("model") != SYNTHETIC or found.get("isApiErrorMessage") is True:
        return False
    return [text(part, "text") for part in tables(message, "content")] == [NO_ANSWER]


def _codes(found: Table) -> tuple[str, ...]:
    """What the API and the CLI call a failure apart from the words that people read."""
    details = text(found, "errorDetails") or ""
    own = (text(found, name) for name in CODES)
    return tuple(code for code in (*own, details.partition(":")[0], *codes_in(details)[:MOST_CODES]) if code)


def _called(part: Table) -> str | None:
    return text(part, "name") if part.get("type") == "tool_use" else None


def _used(found: Table, message: Table, at: float | None) -> Used | None:
    usage = table(message, "usage")
    fresh = count(usage, "input_tokens")
    read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    # A request that held nothing is none: no model answers to an empty context.
    if not (fresh or read or written):
        return None
    request = text(found, "requestId") or text(message, "id")
    output = count(usage, "output_tokens") or 0
    return Used(request, fresh or 0, read or 0, written or 0, output, text(message, "model"), at)


def _from_user(found: Table, at: float | None) -> Record | None:
    content = table(found, "message").get("content")
    if found.get("isMeta") is True or found.get("isCompactSummary") is True:
        if is_ours(_words(content) or ""):
            return Record("system", at, (Checked(at),))
        is_cut = found.get("turnCompanion") is True and (_words(content) or "").startswith(CUT_STREAM)
        return Record("system", at, (CutShort("stream", at),)) if is_cut else None
    parts = tables(table(found, "message"), "content")
    ended = tuple(
        ToolEnded(call, part.get("is_error") is True, at)
        for part in parts
        if part.get("type") == "tool_result" and (call := named(text(part, "tool_use_id")))
    )
    if ended:
        # What the CLI keeps of a result beside what the model reads belongs to the one result of its line.
        told: tuple[Fact, ...] = deeds.came_back(parts[0], found, ended[0].call, at) if len(parts) == 1 else ()
        over: tuple[Fact, ...] = (TurnEnded("done", at),) if found.get("toolEndsTurn") is True else ()
        return Record("tool", at, _named(found, (*told, *ended, *over)))
    words = _words(content)
    if words is None:
        return None
    if words.startswith(INTERRUPTED):
        return Record("system", at, _named(found, (TurnEnded("interrupted", at),)))
    if _is_a_persons(found, words):
        return Record("prompt", at, _named(found, (Prompted(as_sent(words), at),)))
    # What a command prints begins no turn; what the CLI tells itself does.
    begins = _MACHINE_MADE.match(words) is None or words.lstrip().startswith("<task-notification")
    begun: tuple[Fact, ...] = (TurnBegan(),) if begins else ()
    return Record("system", at, _named(found, (*begun, *deeds.notice(words, at))))


def _is_a_persons(found: Table, words: str) -> bool:
    if not words.strip() or _MACHINE_MADE.match(words):
        return False
    origin = text(table(found, "origin"), "kind")
    return origin is None or origin == "human"


def _from_system(found: Table, at: float | None) -> Record:
    facts: tuple[Fact, ...] = ()
    match found.get("subtype"):
        case "compact_boundary":
            data = table(found, "compactMetadata")
            before, after = count(data, "preTokens"), count(data, "postTokens")
            facts = (Compacted(at, text(data, "trigger"), before, after),)
        case "turn_duration":
            facts = (TurnEnded("done", at),)
        case _:
            pass
    return Record("system", at, _named(found, facts))


def _queued(found: Table, at: float | None) -> tuple[Fact, ...]:
    words = _queued_text(found)
    return (Prompted(words, at, queued=True),) if words is not None else ()


def _queued_text(found: Table) -> str | None:
    attached = table(found, "attachment")
    if attached.get("type") != "queued_command" or attached.get("commandMode") not in (None, "prompt"):
        return None
    words = _words(attached.get("prompt"))
    return as_sent(words) if words is not None and _is_a_persons(attached, words) else None


def _words(content: Any) -> str | None:
    """The text of a message, which is a text or a list of parts."""
    if isinstance(content, str):
        return text({"": content}, "")
    parts = tables({"": content}, "")
    found = [words for part in parts if part.get("type") == "text" and (words := text(part, "text")) is not None]
    return "\n".join(found) if found else None


def _spoken(found: Table, at: str | None) -> list[Piece]:
    failed = found.get("isApiErrorMessage") is True
    pieces = []
    for part in tables(table(found, "message"), "content"):
        words = text(part, "text")
        if part.get("type") == "text" and words:
            pieces.append(Piece("assistant", words, at, failed=failed))
        elif part.get("type") == "tool_use":
            name, call = text(part, "name") or "tool", text(part, "id") or ""
            pieces.append(Piece("assistant", compact(part.get("input")), at, name, call))
    return pieces


def _told(found: Table, at: str | None) -> list[Piece]:
    message = table(found, "message")
    pieces = []
    for part in tables(message, "content"):
        if part.get("type") == "tool_result":
            words, call = _words(part.get("content")) or "", text(part, "tool_use_id") or ""
            pieces.append(Piece("tool", words, at, "", call, part.get("is_error") is True))
    prompt = _words(message.get("content"))
    if pieces or prompt is None:
        return pieces
    if found.get("isCompactSummary") is True:
        return [Piece("assistant", prompt, at)]
    if not prompt.startswith(INTERRUPTED) and not _is_a_persons(found, prompt):
        return []
    return [Piece("user", as_sent(prompt), at)]
