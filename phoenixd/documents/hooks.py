"""A harness's hook input, as the shim trimmed it, read into the core's event. Text in it is data."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

from phoenixd.core.causes import Disk
from phoenixd.core.hooks import (
    HOOKS,
    Beginning,
    Compaction,
    CompactionBegun,
    Hook,
    HookEvent,
    Notice,
    Notified,
    OtherHook,
    SessionEnded,
    SessionStarted,
    TurnFailed,
)
from phoenixd.documents.cleaner import without_half_secrets
from phoenixd.documents.failure_names import named_in
from phoenixd.documents.failures import failure_of
from phoenixd.documents.limits import reset_time
from phoenixd.documents.plain_text import one_line

SUBAGENT_TOOLS = frozenset({"Task", "Agent"})
BESIDE = frozenset({"command", "description", "timeout"})
MAX_WORDS = 4096
ID_LIMIT = 256
LARGEST = 1 << 40
"""Bytes that a prompt cannot have."""
MOST_JOBS, JOB_LIMIT = 8, 2048
MACHINE_PROMPT = "<task-notification>"
"""How a prompt begins that the CLI submits to itself about its background tasks."""
PERSON_LEFT = "prompt_input_exit"
"""Why a session ended that a person left by /exit or Ctrl-C."""

BEGINNINGS: dict[str, Beginning] = {"startup": "startup", "resume": "resume", "clear": "clear"}
NOTICES: dict[str, Notice] = {
    "idle_prompt": "idle",
    "permission_prompt": "permission",
    "ToolPermission": "permission",
    "worker_permission_prompt": "permission",
    "elicitation_dialog": "question",
    # Claude Code 2.1.330 tells so of its own dialogs within a turn, such as that its auto mode can check nothing.
    "agent_needs_input": "dialog",
}
COMPACTIONS: dict[str, Compaction] = {"auto": "auto", "manual": "manual"}

MEANINGS = frozenset({"beginning", "by_person", "notice", "failure", "named", "word", "window", "trigger", "check"})
"""The typed fields, which are made here or by the core, and never taken from an input."""
SAID = {word: frozenset(one.name for one in fields(word)) - MEANINGS for word in (*HOOKS.values(), OtherHook)}
"""The fields that each hook's input fills in."""


def hook_of(agent: str, incarnation: int, kind: str, **said: Any) -> HookEvent:
    """The event of a hook of this name, with the fields of its class filled in from what it said."""
    word = HOOKS.get(kind, OtherHook)
    known = {name: value for name, value in said.items() if name in SAID[word]}
    return word(agent, incarnation, **known, **_meaning(word, kind, said))


def _meaning(word: type[Hook], kind: str, said: dict[str, Any]) -> dict[str, Any]:
    """What the harness's own words mean; one that is not known means "other", and stays readable."""
    if word is SessionStarted:
        return {"beginning": BEGINNINGS.get(said.get("source") or "", "other")}
    if word is SessionEnded:
        return {"by_person": said.get("source") == PERSON_LEFT}
    if word is Notified:
        return {"notice": NOTICES.get(said.get("notification") or "", "other")}
    if word is CompactionBegun:
        return {"trigger": COMPACTIONS.get(said.get("source") or "", "other")}
    if word is TurnFailed:
        resets = said.get("reset_wall") is not None
        error, text = said.get("error"), "\n".join(filter(None, (said.get("text"), said.get("told"))))
        failure = failure_of(error, text, resets=resets)
        return {"failure": failure, "named": named_in(failure, error, text)}
    return {"word": kind} if word is OtherHook else {}


def hook_event(agent: str, incarnation: int, kind: str, payload: dict[str, Any], now: float = 0.0) -> HookEvent:
    """Read one hook input (Claude Code's JSON, which the open contract shares); odd fields read as absent.

    now: wall seconds, for reset times that are told as a time of day.
    """
    tool_input = payload.get("tool_input")
    declared = _milliseconds(tool_input.get("timeout")) if isinstance(tool_input, dict) else None
    tool = _words(payload, "tool_name")
    return hook_of(
        agent,
        incarnation,
        kind,
        session_id=_identity(payload, "session_id"),
        source=_source(kind, payload),
        text=_asked(payload) or _text(kind, payload, tool_input if isinstance(tool_input, dict) else {}),
        tool=tool,
        tool_use_id=_words(payload, "tool_use_id"),
        lease=declared if kind == "tool-start" else None,
        is_subagent_call=tool in SUBAGENT_TOOLS,
        sub=bool(_words(payload, "agent_id")),
        notification=_words(payload, "notification_type"),
        error=_words(payload, "error"),
        held=_asked(payload) is not None,
        command=_command(tool_input) if kind == "tool-start" and isinstance(tool_input, dict) else "",
        told=_words(payload, "last_assistant_message") if kind == "stop-failure" else None,
        reset_wall=reset_time(payload, now) if kind == "stop-failure" else None,
        jobs=_jobs(kind, payload, tool, tool_input if isinstance(tool_input, dict) else {}),
        cwd=_words(payload, "cwd"),
        model=_words(payload, "model"),
        blocked=payload.get("blocked") is True,
        full_disks=full_disks(payload.get("full_disks")) if kind == "stop-failure" else (),
        size=_size(payload.get("prompt_bytes")),
    )


def _size(told: object) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 < told < LARGEST else 0


def full_disks(told: object) -> tuple[Disk, ...]:
    """What a shim says of disks without room; what it does not know by name is none."""
    return tuple(one for one in get_args(Disk) if one in told) if isinstance(told, list) else ()


def _jobs(kind: str, payload: dict[str, Any], tool: str | None, tool_input: dict[str, Any]) -> tuple[str, ...] | None:
    """What goes on in the background: all of it at a stop, and what one call begins; None where nothing is said."""
    told = payload.get("jobs")
    if kind == "stop" and isinstance(told, list):
        return tuple(one_line(job, JOB_LIMIT) for job in told[:MOST_JOBS] if isinstance(job, str))
    if kind not in ("tool-start", "tool-end", "tool-failure"):
        return None
    what = ""
    if tool_input.get("run_in_background") is True:
        words = _words(tool_input, "command") or _words(tool_input, "description") or ""
        what = f"{'subagent' if tool in SUBAGENT_TOOLS else 'shell'}: {words}"
    elif tool == "ScheduleWakeup":
        what = f"wake-up: {_words(tool_input, 'prompt') or _words(tool_input, 'reason') or ''}"
    elif tool == "CronCreate":
        what = f"schedule: {_words(tool_input, 'cron') or ''} {_words(tool_input, 'prompt') or ''}"
    return (one_line(what, JOB_LIMIT),) if what else None


def permission_answer(allow: bool, message: str, updated: str = "") -> dict[str, object]:
    """The answer to a PermissionRequest as Claude Code reads it; a denial's message reaches the model.

    updated: what the tool is given in place of what it asked for, as JSON: a question's answers go to the model so.
    """
    decision: dict[str, object] = {"behavior": "allow"} if allow else {"behavior": "deny", "message": message}
    if allow and updated:
        decision["updatedInput"] = json.loads(updated)
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def _command(tool_input: dict[str, Any]) -> str:
    return _words(tool_input, "command") or _words(tool_input, "description") or ""


def _asked(payload: dict[str, Any]) -> str | None:
    """All that a held request asks for, as it can be shown: a plain command as it is, anything else as its JSON.

    The JSON is ASCII: no character in it can hide or reorder others.
    """
    asked = payload.get("asked")
    if payload.get("held") is not True or not isinstance(asked, str):
        return None
    try:
        tool_input = json.loads(asked)["input"]
        command = tool_input.get("command")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    lines = command.split("\n") if isinstance(command, str) else []
    plain = bool(lines) and all(line.isprintable() and line.isascii() for line in lines)
    # What Bash is given beside its command changes nothing that runs; of another tool nobody knows.
    whole = tool_input.keys() <= (BESIDE if payload.get("tool_name") == "Bash" else {"command"})
    # What begins with a brace is kept as JSON, so that a command can never be read as another one's input.
    plain = plain and not command.startswith("{")
    return command if plain and whole and command.strip() else json.dumps(tool_input)


def _text(kind: str, payload: dict[str, Any], tool_input: dict[str, Any]) -> str:
    match kind:
        case "prompt-submit":
            return _words(payload, "prompt") or ""
        case "permission-request":
            return _words(tool_input, "command") or _words(tool_input, "description") or ""
        case "notification":
            return _words(payload, "message") or ""
        case "stop" | "stop-blocked" | "stop-failure":
            return _words(payload, "error_details") or _words(payload, "last_assistant_message") or ""
        case _:
            return ""


def _source(kind: str, payload: dict[str, Any]) -> str | None:
    if kind == "session-end":
        return _words(payload, "reason")
    if kind == "prompt-submit":
        return "machine" if (_words(payload, "prompt") or "").startswith(MACHINE_PROMPT) else None
    if kind in ("pre-compact", "compacted"):
        return _words(payload, "trigger")
    return _words(payload, "source")


def _words(source: dict[str, Any], key: str) -> str | None:
    value = source.get(key)
    return without_half_secrets(value, MAX_WORDS) if isinstance(value, str) and value else None


def _identity(source: dict[str, Any], key: str) -> str | None:
    """What a CLI calls a thing by; a text that no CLI would use for that names nothing."""
    value = _words(source, key)
    return value if value is not None and len(value) <= ID_LIMIT and value.isprintable() else None


def _milliseconds(value: object) -> float | None:
    """A declared timeout in seconds; what is no sane number of milliseconds declares nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / 1000 if 0 < value < 1e12 else None
