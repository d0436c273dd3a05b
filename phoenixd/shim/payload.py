"""What is kept of an agent's hook input: named fields, each cut to a size, whatever the agent put there.

Pure: text in, a small dict out. Imports nothing of its siblings, so that tests and the daemon's tools can load it
alone.
"""

from __future__ import annotations

import json

try:  # hashlib maps OpenSSL, 3 MB for each shim; the built-in module does the same sum.
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]  # Python 3.12 and newer
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KIND_OF_CLAUDE_EVENT = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "PostToolUseFailure": "tool-failure",
    "Stop": "stop",
    "StopFailure": "stop-failure",
    "Notification": "notification",
    "PermissionRequest": "permission-request",
    "PermissionDenied": "permission-denied",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
    "PreCompact": "pre-compact",
    "PostCompact": "compacted",
    "SessionEnd": "session-end",
}
# Of these only the latest counts: they say that the agent works, and there are hundreds in an hour.
EVIDENCE_KINDS = frozenset({"tool-start", "tool-end", "tool-failure", "tool-denied", "subagent-start", "subagent-stop"})
KINDS = frozenset(KIND_OF_CLAUDE_EVENT.values())
# They begin or end a turn, and no call of the main thread outlives them.
TURN_KINDS = frozenset({"prompt-submit", "stop", "stop-failure", "session-start", "session-end"})

# Bytes of UTF-8.
TEXT_LIMITS = {
    "session_id": 256,
    "transcript_path": 4096,
    "cwd": 4096,
    "source": 128,
    "reason": 256,
    "model": 256,
    "trigger": 128,
    "permission_mode": 128,
    "prompt": 8192,
    "tool_name": 256,
    "tool_use_id": 256,
    "agent_id": 256,
    "agent_type": 256,
    "error": 1024,
    "error_details": 1024,
    "notification_type": 128,
    "message": 1024,
    "resets_at": 64,
    "last_assistant_message": 2056,
    "prompt_response": 2056,
}
# Of what an agent said last 1024 bytes of both ends are kept: whether an answer is whole shows there. CLIs have two
# names for it, and it is told by the first.
SAID_LAST = "last_assistant_message"
BOTH_ENDS = frozenset({SAID_LAST, "prompt_response"})
GAP = "\n[...]\n"
ASKED_LIMIT = 8192
TOOL_INPUT_TEXT_LIMITS = {
    "command": 2048,
    "description": 512,
    "subagent_type": 256,
    "cron": 128,
    "reason": 256,
    "prompt": 512,
    # What a call is about, for people; of a long path or address the beginning.
    "file_path": 512,
    "notebook_path": 512,
    "absolute_path": 512,
    "path": 512,
    "pattern": 256,
    "url": 512,
    "query": 256,
    "skill": 128,
}
# What goes on in the background when a turn ends; as much of each as of a command, so that a secret is seen whole.
MOST_JOBS, JOB_LIMIT = 8, 2048
OVER = frozenset({"completed", "failed", "killed", "stopped"})


# Claude Code 2.1.330 and newer puts a paste of several lines between tags; both have four digits of its session.
PASTED, PASTED_END = '<pasted_content id="', '</pasted_content id="'


class Part(dict):  # type: ignore[type-arg]
    """What was kept of a tool's input that was too large to be kept whole."""


def kind_of(name: str) -> str | None:
    """The kind that a hook event has, by phoenixd's name or Claude Code's; None for a name that nobody knows."""
    if name in KINDS:
        return name
    return KIND_OF_CLAUDE_EVENT.get(name)


def trim(payload: dict[str, Any], divisor: int = 1) -> dict[str, Any]:
    """The fields worth keeping; `divisor` makes every text that much shorter, for a packet that would not fit."""
    kept: dict[str, Any] = _texts(payload, TEXT_LIMITS, divisor)
    said = kept.pop("prompt_response", None)
    if said is not None:
        kept.setdefault(SAID_LAST, said)
    prompt = payload.get("prompt")
    if isinstance(prompt, str):
        prompt = as_sent(prompt)
        kept["prompt"] = cut(prompt, TEXT_LIMITS["prompt"] // divisor)
        content = prompt.encode("utf-8", "replace")
        kept["prompt_sha256"] = sha256(content).hexdigest()
        kept["prompt_bytes"] = len(content)
    if isinstance(payload.get("stop_hook_active"), bool):
        kept["stop_hook_active"] = payload["stop_hook_active"]
    background_tasks = payload.get("background_tasks")
    if isinstance(background_tasks, list):
        kept["background_tasks"] = len(background_tasks)
    elif _is_sane_number(background_tasks):
        kept["background_tasks"] = background_tasks
    if isinstance(background_tasks, list) or isinstance(payload.get("session_crons"), list):
        kept["jobs"] = _jobs(background_tasks, payload.get("session_crons"), divisor)
    for name in ("resets_at", "retry_after"):
        if _is_sane_number(payload.get(name)):
            kept[name] = payload[name]
    tool_input = payload.get("tool_input")
    if isinstance(tool_input, dict):
        kept["tool_input"] = _trim_tool_input(tool_input, divisor)
    return kept


def as_sent(prompt: str) -> str:
    """A prompt without the tags that its CLI put around what was pasted, nor the line breaks that belong to them."""
    pieces: list[str] = []
    taken = look = 0
    while (begin := prompt.find(PASTED, look)) >= 0:
        look = begin + len(PASTED)
        name, body = prompt[look : look + 4], look + len('0000">\n')
        if prompt[look + 4 : body] != '">\n' or name.strip("0123456789abcdef"):
            continue
        close = f'\n{PASTED_END}{name}">'
        # Where nothing was pasted, one line break ends the opening tag and begins the closing one.
        end = prompt.find(close, body - 1)
        if end < 0:
            break  # Each further tag could cost a look through all the rest.
        pieces += [prompt[taken:begin].removesuffix("\n").removesuffix("\n"), prompt[body:end]]
        taken = look = end + len(close)
        for _ in range(2):
            taken += prompt.startswith("\n", taken)
    return "\n\n".join(filter(None, (*pieces, prompt[taken:]))) if pieces else prompt


def asked(hook_input: dict[str, Any]) -> str | None:
    """The whole of what a permission is asked for, as one JSON text in ASCII; None where it is too much to be shown.

    Nothing is left out: who approves the text approves exactly what runs.
    """
    tool, tool_input = hook_input.get("tool_name"), hook_input.get("tool_input")
    if not isinstance(tool, str) or not isinstance(tool_input, dict) or isinstance(tool_input, Part):
        return None
    if cut(tool, TEXT_LIMITS["tool_name"]) != tool:
        return None
    text = json.dumps({"tool": tool, "input": tool_input}, separators=(",", ":"))
    return text if len(text) <= ASKED_LIMIT else None


def _jobs(tasks: object, crons: object, divisor: int) -> list[str]:
    """A line for each job that ends with the process: what kind it is, and what it does."""
    told = []
    for task in tasks if isinstance(tasks, list) else []:
        if isinstance(task, dict) and _text(task.get("status")) not in OVER:
            told.append(_line(_text(task.get("type")) or "job", task.get("command") or task.get("description")))
    for cron in crons if isinstance(crons, list) else []:
        if isinstance(cron, dict):
            kind = "schedule" if cron.get("recurring") is True else "wake-up"
            told.append(_line(kind, f"{_text(cron.get('schedule'))} {_text(cron.get('prompt'))}"))
    return [cut(line, JOB_LIMIT // divisor) for line in told[:MOST_JOBS]]


def _line(kind: str, what: object) -> str:
    # Of a long text no more than can be kept is looked at.
    return f"{kind}: {' '.join(_text(what)[:JOB_LIMIT].split())}"


def _text(value: object) -> str:
    """A text as it is; of anything else nothing, for it may have no hash, and be nested too deep to be printed."""
    return value if isinstance(value, str) else ""


def cut(text: str, limit: int) -> str:
    """The longest beginning of the text that fits into `limit` bytes of UTF-8, free of half surrogate pairs."""
    if len(text) <= limit and text.isascii():
        return text
    # Four bytes is the longest character: what lies past `limit` characters can never fit.
    content = text[:limit].encode("utf-8", "replace")
    return content[:limit].decode("utf-8", "ignore")


def both_ends(text: str, limit: int) -> str:
    """The text, or its beginning and its end, half of `limit` bytes each, with a mark of the gap between them."""
    if len(text) <= limit and len(text.encode("utf-8", "replace")) <= limit:
        return cut(text, limit)
    half = max(0, limit - len(GAP)) // 2
    tail = text[-half:].encode("utf-8", "replace")[-half:] if half else b""
    return f"{cut(text, half)}{GAP}{tail.decode('utf-8', 'ignore')}"


def _trim_tool_input(tool_input: dict[str, Any], divisor: int) -> dict[str, Any]:
    kept: dict[str, Any] = _texts(tool_input, TOOL_INPUT_TEXT_LIMITS, divisor)
    if _is_sane_number(tool_input.get("timeout")):
        kept["timeout"] = tool_input["timeout"]
    if isinstance(tool_input.get("run_in_background"), bool):
        kept["run_in_background"] = tool_input["run_in_background"]
    return kept


def _texts(source: dict[str, Any], limits: dict[str, int], divisor: int) -> dict[str, Any]:
    # Of few fields or few names, whichever is less: an agent decides how many fields there are.
    names = [name for name in source if name in limits] if len(source) < len(limits) else limits
    return {
        name: both_ends(value, limits[name] // divisor) if name in BOTH_ENDS else cut(value, limits[name] // divisor)
        for name in names
        if isinstance(value := source.get(name), str)
    }


def _is_sane_number(value: object) -> bool:
    # Excludes NaN and the infinities, which json.loads lets through, and integers no other language can hold.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -(2.0**53) < value < 2.0**53
