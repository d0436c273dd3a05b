"""Claude Code: how it is started and resumed, what its settings hold, where its transcripts are. Pure functions.

Measured with 2.1.197 and 2.1.330. The traps that this module owns:
- one session id can be run twice, and a resume with a wrong id opens a picker that waits for ever: the daemon alone
  chooses ids, so the operator's argv may not;
- of two --settings the last one wins and the other is dropped without a word;
- resume is per working directory, and the transcript exists only some 0.2 s after the first prompt;
- one Left arrow on an empty prompt moves the session into the CLI's own daemon, under another id: a variable forbids
  it, and where an operator takes that back the screen says `away`;
- no hook tells that a person interrupted the turn. The transcript does (`transcript.INTERRUPTED`), except when the
  prompt was taken back before the first word of an answer: then it stands in the input line again, and only the screen
  tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from phoenixd.clis import HTTP_EVENTS
from phoenixd.documents.times import read_time
from phoenixd.harness.arguments import has_value, literal, single_argument
from phoenixd.harness.login import Login
from phoenixd.harness.prompts import Prompt
from phoenixd.harness.shape import PermissionTold, ProcessInSession

HOOK_TIMEOUT_S = 5
PERMISSION_TIMEOUT_S = 86_400
"""A held PermissionRequest can be answered as long as this; afterwards only in the pane."""

REFUSED = "The user doesn't want to proceed with this tool use."
"""How the result of a call begins to which a person said No, or which was broken off."""

WORDS_KEPT = 4096
"""Characters of what a model reads of a call that failed; a denial ends with the mark of its answer."""

VARIABLES = {"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}

NO_MEMORY = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
"""Of a worker: else the CLI tells it what earlier sessions of the same directory kept for themselves (E57)."""
BASH_TIMEOUTS = {"BASH_DEFAULT_TIMEOUT_MS": "1800000", "BASH_MAX_TIMEOUT_MS": "7200000"}

ACKNOWLEDGES = "phoenixctl handoff ack"
"""What a successor may run unasked. It is the beginning of one simple command: about what is joined to it by ;, && or a
pipe, and about what it would substitute, the CLI still asks."""

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
         "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")  # fmt: skip

_OURS = "phoenixd chooses the session; leave the flag out"
_REFUSED: Mapping[str, str] = {
    "--session-id": _OURS,
    "--resume": _OURS,
    "--continue": _OURS,
    "--fork-session": _OURS,
    "--from-pr": _OURS,
    "--no-session-persistence": "such a session cannot be resumed; leave the flag out",
    "--settings": "only one --settings counts, and phoenixd passes its own; use .claude/settings.json",
    "--bare": "it switches hooks off, and phoenixd would see nothing; leave the flag out",
    "--safe-mode": "it switches hooks off, and phoenixd would see nothing; leave the flag out",
    "--bg": "it returns at once and leaves nothing to supervise; leave the flag out",
    "--background": "it returns at once and leaves nothing to supervise; leave the flag out",
    "--worktree": "the session would live in another directory; set cwd to the worktree",
    "--tmux": "phoenixd owns the terminal; leave the flag out",
    "--": "phoenixd's own arguments come last; give the prompt as `prompt`",
}
_SHORT = {"r": "--resume", "c": "--continue", "w": "--worktree"}


def fresh_argv(base_argv: Sequence[str], session_id: str, prompt: str | None, settings_path: str) -> list[str]:
    """The command line of a new session; rebuilt from the base each time, so that no flag of an older start stays."""
    return [*base_argv, "--settings", settings_path, "--session-id", session_id, *_prompt_arguments(prompt)]


def resume_argv(base_argv: Sequence[str], session_id: str, prompt: str | None, settings_path: str) -> list[str]:
    """The command line that goes on with a session; a prompt is submitted at once, none waits at the prompt."""
    return [*base_argv, "--settings", settings_path, "--resume", session_id, *_prompt_arguments(prompt)]


def check_argv(argv: Sequence[str]) -> list[str]:
    """What of an operator's base command cannot be supervised, one sentence each; empty when all is well."""
    problems = [] if argv else ["argv is empty: name the program"]
    for argument in argv[1:]:
        flag = argument.partition("=")[0]
        # Short flags can stand together (-pc), and -r takes its value without a space.
        if short := re.fullmatch(r"-[pvh]*([rcw])\S*", argument):
            flag = _SHORT[short[1]]
        if flag in _REFUSED:
            problems.append(f"{argument}: {_REFUSED[flag]}")
    return problems


def settings(
    hook_url: str,
    token: str,
    hook_program: str,
    extra_env: Mapping[str, str],
    *,
    skip_bypass_warning: bool = False,
    acknowledges: bool = False,
) -> dict[str, Any]:
    """The content of --settings: hooks for one launch, and the seed's Bash timeouts (G24, G25, G26, X10).

    SessionStart cannot be posted and runs the hook program without a shell. URLs are not expanded by the CLI.
    `skip_bypass_warning` is for argv with --dangerously-skip-permissions, whose warning has "No, exit" as default.
    `acknowledges`: it succeeds to a seat, and may run the one command by which it acknowledges its package unasked.
    """
    post: dict[str, Any] = {"type": "http", "url": hook_url, "headers": {"Authorization": f"Bearer {token}"}}
    start = {"type": "command", "command": hook_program, "args": ["session-start"], "timeout": HOOK_TIMEOUT_S}
    hooks = {"SessionStart": _matched(start)}
    for event in HTTP_EVENTS:
        limit = PERMISSION_TIMEOUT_S if event == "PermissionRequest" else HOOK_TIMEOUT_S
        hooks[event] = _matched({**post, "timeout": limit})
    made: dict[str, Any] = {"env": {**BASH_TIMEOUTS, **extra_env}, "hooks": hooks}
    # A suggestion stands in the input line like something typed, and an unattended agent pays for it at every turn.
    made["promptSuggestionEnabled"] = False
    if acknowledges:
        # Nobody may be there when a seat passes. Rules of several files are joined; a deny rule of any of them wins.
        made["permissions"] = {"allow": [f"Bash({ACKNOWLEDGES}:*)"]}
    if skip_bypass_warning:
        made["skipDangerousModePermissionPrompt"] = True
    return made


def call_limit(tool: str, environment: Mapping[str, str]) -> float | None:
    """Seconds after which the CLI ends a call that declares no timeout: of its tools only Bash has such a limit.

    environment: the operator's variables of the agent.
    """
    if tool != "Bash":
        return None
    name = "BASH_DEFAULT_TIMEOUT_MS"
    own = environment.get(name, "")
    return int(own if re.fullmatch(r"[1-9][0-9]{0,11}", own) else BASH_TIMEOUTS[name]) / 1000


def works_in(argv: Sequence[str], session_id: str) -> bool:
    """Whether a command line is that of a process which works in the session; a fork only reads it."""
    if "--fork-session" in argv:
        return has_value(argv, ("--session-id",), session_id)
    return has_value(argv, ("--session-id", "--resume", "-r"), session_id)


def session_files(environment: Mapping[str, str]) -> str:
    """A glob for the files in which its processes say where they are, also after a session was picked from a list."""
    directory = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME', '/')}/.claude"
    return f"{literal(directory)}/sessions/*.json"


def process_in_session(record: Mapping[str, Any]) -> ProcessInSession | None:
    """What such a file says."""
    pid, started, session_id = record.get("pid"), record.get("procStart"), record.get("sessionId")
    if not isinstance(pid, int) or not isinstance(session_id, str) or not isinstance(started, str):
        return None
    return ProcessInSession(pid, int(started), session_id) if re.fullmatch(r"[0-9]{1,18}", started) else None


def transcript_path(home: str, cwd: str, session_id: str, config_dir: str | None = None) -> str:
    """Where a session is kept. `cwd` must be resolved (no symlinks); `config_dir` is CLAUDE_CONFIG_DIR, if set."""
    return f"{config_dir or f'{home}/.claude'}/projects/{_project_name(cwd)}/{session_id}.jsonl"


def transcript_is_resumable(head: bytes, tail: bytes, size: int) -> bool:
    """Whether a resume can work: somewhere there is a message. `head` and `tail` are the file's first and last bytes.

    The CLI forgives a cut last line, NULs and garbage; it refuses a file without a single message. Where neither end
    shows one and the middle was not read, the file gets the benefit of the doubt if it holds any record at all.
    """
    if size == 0:
        return False
    records = [*_records(head), *_records(tail)]
    if any(record.get("type") in ("user", "assistant") for record in records):
        return True
    if re.search(rb'"type": ?"(user|assistant)"', head + b"\n" + tail):
        return size > len(head)  # a message longer than what was read
    return bool(records) and size > len(head) + len(tail)


def typed_prompt(text: str) -> Prompt:
    """A text as it can be pasted into the input line and come out unchanged: tabs would become spaces, and blanks at
    the end of a short text would go.

    A leading slash makes a command of it, unless more of them make it a path; of a command no hook tells.
    """
    if not text.strip():
        return Prompt("", problem="there is nothing in it")
    if text.startswith("!"):
        return Prompt(text, problem="it begins with !, and would be run in a shell; put a space before it")
    return Prompt(text.replace("\t", "    ").rstrip(), is_command=re.match(r"/[A-Za-z][\w:-]*(\s|$)", text) is not None)


def queued_prompt(record: Mapping[str, Any]) -> str | None:
    """The prompt that was submitted while the CLI worked: it is read at the next step, and often without a hook."""
    content = record.get("content")
    queued = record.get("type") == "queue-operation" and record.get("operation") == "enqueue"
    return content if queued and isinstance(content, str) else None


def permission_told(record: Mapping[str, Any]) -> tuple[PermissionTold, ...]:
    """What this record says of each call: that a hook's answer settled its permission, that it is over or was refused.

    The first is written when the call is denied or when it ends, before its result; never if the terminal was first.
    A copy of a result, as 2.1.332 keeps it beside a request to its API, has no time and tells nothing.
    """
    attachment, message, at = record.get("attachment"), record.get("message"), read_time(record.get("timestamp"))
    if at is None:
        return ()
    if isinstance(attachment, dict) and attachment.get("type") == "hook_permission_decision":
        call, decision = attachment.get("toolUseID"), attachment.get("decision")
        if attachment.get("hookEvent") != "PermissionRequest" or not isinstance(call, str):
            return ()
        settled = (PermissionTold("allowed", call, at),) if decision == "allow" else ()
        return (PermissionTold("denied", call, at),) if decision == "deny" else settled
    content = message.get("content") if isinstance(message, dict) else None
    results = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return tuple(_over(one, at) for one in results if one.get("type") == "tool_result" and _is_of_a_call(one))


def _is_of_a_call(result: Mapping[str, Any]) -> bool:
    return isinstance(result.get("tool_use_id"), str)


def _over(result: Mapping[str, Any], at: float) -> PermissionTold:
    """What a tool printed may begin with any words: only those of a failure are the CLI's."""
    words = _text_of(result.get("content")) if result.get("is_error") is True else ""
    is_refused = words.startswith(REFUSED)
    return PermissionTold("refused" if is_refused else "ended", result["tool_use_id"], at, words[-WORDS_KEPT:])


def _text_of(content: object) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def api_key_tail(key: str) -> str:
    """What ~/.claude.json keeps of an API key that was approved."""
    return key[-20:]


def trust_seed(existing_json: Mapping[str, Any], cwd: str, key_tail: str | None) -> dict[str, Any]:
    """~/.claude.json with what spares an unattended start its dialogs; only where the operator said seed_trust.

    Everything else is kept. A file of another shape raises ValueError: it is not ours to repair.
    """
    merged: dict[str, Any] = {"theme": "dark", **existing_json, "hasCompletedOnboarding": True}
    projects = _table(merged, "projects")
    merged["projects"] = {**projects, cwd: {**_table(projects, cwd), "hasTrustDialogAccepted": True}}
    if key_tail is not None:
        answers = _table(merged, "customApiKeyResponses")
        approved, rejected = _texts(answers, "approved"), _texts(answers, "rejected")
        merged["customApiKeyResponses"] = {
            **answers,
            "approved": approved if key_tail in approved else [*approved, key_tail],
            "rejected": [tail for tail in rejected if tail != key_tail],
        }
    return merged


def needed_login(environment: Mapping[str, str]) -> Login | None:
    """The login that it needs as a file; None where the environment holds a key."""
    if any(environment.get(name) for name in _KEYS):
        return None
    directory = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME', '/')}/.claude"
    remedy = "run claude once as the agent's user, and log in with /login"
    return Login((f"{directory}/.credentials.json",), remedy)


def _prompt_arguments(prompt: str | None) -> list[str]:
    # After "--" a prompt may begin with a dash, and flags that take many values cannot swallow it.
    return [] if prompt is None else ["--", single_argument(prompt)]


def _matched(hook: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"matcher": "", "hooks": [hook]}]


def _project_name(cwd: str) -> str:
    # The CLI is JavaScript: what counts is UTF-16 units, so a character beyond the BMP becomes two dashes.
    units = cwd.encode("utf-16-le", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2)]
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= 200:
        return name
    hashed = 0
    for code in codes:
        hashed = (hashed * 31 + code) & 0xFFFFFFFF
    return f"{name[:200]}-{_base36(abs(hashed - (1 << 32) if hashed >> 31 else hashed))}"


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if number == 0:
            return digits


def _records(lines: bytes) -> list[dict[str, Any]]:
    found = []
    for line in lines.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _table(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is no table")  # noqa: TRY004 - a fault of the file, not of the caller
    return value


def _texts(parent: Mapping[str, Any], key: str) -> list[str]:
    value = parent.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")  # noqa: TRY004 - a fault of the file, not of the caller
    return value
