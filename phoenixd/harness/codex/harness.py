"""Codex: how it is started and resumed, how its hooks are trusted, where its sessions are kept. Pure functions.

Measured with 0.169.0. The traps that this module owns:
- hooks that nobody has trusted open a dialog at start. Ours are given on the command line, each with the hash by which
  the CLI knows what it trusts, so that no file is changed, and a repository's own hooks stay as untrusted as they were;
- the id of a session cannot be chosen: the first hook tells it, and that comes with the first prompt, not at the start;
- without --no-daemon it copies itself and starts a background server, which outlives the session;
- of what a hook tells a session it keeps 2,500 tokens, and takes four bytes for one, whatever the script;
- no hook tells of an API error, and none of the end by a signal. Its rollout, as it calls a transcript, does;
- the wrapper of the npm package runs the program as a child that outlives it. While that lives, nobody can resume.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

from phoenixd.core.armed_answer import On
from phoenixd.core.spec import AgentSpec
from phoenixd.core.traits import Traits
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.harness.arguments import literal, program_names, runs_program, single_argument
from phoenixd.harness.armed import ArmedBody
from phoenixd.harness.codex import armed as codex_armed
from phoenixd.harness.codex import screens as codex_screens
from phoenixd.harness.codex import transcript as codex_transcript
from phoenixd.harness.codex.headless import CodexHeadless
from phoenixd.harness.codex.toml import inline
from phoenixd.harness.login import Login
from phoenixd.harness.pins import PINS
from phoenixd.harness.prompts import Prompt
from phoenixd.harness.shape import Harness, LaunchPlaces
from phoenixd.harness.trust import Read, codex_asks

EVENTS: Mapping[str, tuple[str, str, int]] = {
    "SessionStart": ("session_start", "session-start", 5),
    "UserPromptSubmit": ("user_prompt_submit", "prompt-submit", 5),
    "PreToolUse": ("pre_tool_use", "tool-start", 5),
    "PostToolUse": ("post_tool_use", "tool-end", 5),
    # Where it is held for an answer; otherwise the program is back at once.
    "PermissionRequest": ("permission_request", "permission-request", 86_400),
    "Stop": ("stop", "stop", 5),
    # A person broke the turn off, which ends it as well.
    "Interrupt": ("interrupt", "stop", 3),
    "PreCompact": ("pre_compact", "pre-compact", 5),
    "PostCompact": ("post_compact", "compacted", 5),
    "SubagentStart": ("subagent_start", "subagent-start", 5),
    "SubagentStop": ("subagent_stop", "subagent-stop", 5),
    "SessionEnd": ("session_end", "session-end", 3),
}
"""By the CLI's name: its name in a trust key, the hook program's word, and seconds (of two it takes no more than 3)."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SOURCE = "/<session-flags>/config.toml"
"""What the CLI calls the place of a hook that came by -c."""

_OURS = "phoenixd chooses the session; leave it out"
_REFUSED: Mapping[str, str] = {
    "resume": _OURS,
    "fork": _OURS,
    "exec": 'it ends after one turn; use harness = "command" for it',
    "e": 'it ends after one turn; use harness = "command" for it',
    "review": 'it ends after one turn; use harness = "command" for it',
    "agents": "it shows a list of sessions and waits for a person; leave it out",
    "app-server": 'it is no terminal program; use harness = "command" for it',
    "--remote": "the session would run in a server that phoenixd does not supervise; leave the flag out",
    "--worktree": "the session would live in another directory; set cwd to the worktree",
    "--cd": "set cwd instead",
    "-C": "set cwd instead",
    "--": "phoenixd's own arguments come last; give the prompt as `prompt`",
}
_OVERRIDES = re.compile(r"(hooks\b|features\.hooks\b)")


class Codex(Harness):
    """Codex."""

    default_argv = ("codex",)
    traits = Traits(
        hides_its_dialog=True, starts_silently=True, ends_with_a_word=True, writes_briefs=True,
        takes_armed=("stop", "tool"), one_turn_flags=("exec", "e"), escape_ends_turn=True,
        resumes_one_turn=True,
    )  # fmt: skip
    login_variables = ("CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    tested_versions = PINS["codex"]

    def problems(self, spec: AgentSpec) -> list[str]:
        return check_argv(spec.argv)

    def takes_prompt(self, spec: AgentSpec) -> bool:
        return True

    def command_line(
        self,
        spec: AgentSpec,
        mode: Literal["fresh", "resume"],
        session_id: str,
        prompt: str | None,
        places: LaunchPlaces,
    ) -> list[str]:
        trusted = spec.cwd if spec.seed_trust else None
        line = [*spec.argv, *launch_flags(places.hook, trusted)]
        if spec.task:
            line += ["exec", "--skip-git-repo-check", "--add-dir", places.out]
        if mode == "resume":
            line += ["resume", session_id]
        # After "--" a prompt may begin with a dash, or be the name of a subcommand.
        return line if prompt is None else [*line, "--", single_argument(prompt)]

    def armed(self, on: On, text: str) -> ArmedBody | None:
        return codex_armed.armed(on, text)

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        return rollout_pattern(environment, session_id) if _UUID.fullmatch(session_id) else None

    needs_transcript = True

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return rollout_is_resumable(head)

    def runs_session(self, spec: AgentSpec, argv: Sequence[str], session_id: str) -> bool:
        return runs_program(argv, program_names(spec, "codex")) and {"resume", session_id} <= set(argv)

    def asks_at_start(self, spec: AgentSpec, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        return None if spec.seed_trust else codex_asks(f"{codex_home(environment)}/config.toml", cwd, read)

    def needed_login(self, environment: Mapping[str, str]) -> Login | None:
        if environment.get("OPENAI_API_KEY") or environment.get("CODEX_API_KEY"):
            return None
        return Login((f"{codex_home(environment)}/auth.json",), "codex login, as the user that the agent runs as")

    tells_failures = False

    def told_length(self, text: str) -> int:
        # It counts tokens, and takes four bytes for one.
        return len(text.encode("utf-8", "replace"))

    def screen_says(self, screen: str) -> str:
        return codex_screens.screen_says(screen)

    def input_line(self, screen: str) -> str | None:
        return codex_screens.input_line(screen)

    def holds(self, screen: str, text: str) -> bool:
        return codex_screens.holds(screen, text)

    def prompt(self, text: str) -> Prompt:
        return typed_prompt(text)

    headless = CodexHeadless()

    @property
    def transcript_form(self) -> TranscriptForm:
        return codex_transcript


def check_argv(argv: Sequence[str]) -> list[str]:
    """What of an operator's base command cannot be supervised, one sentence each; empty when all is well."""
    problems = [] if argv else ["argv is empty: name the program"]
    for before, argument in itertools.pairwise(argv):
        word = argument.partition("=")[0] if argument.startswith("-") else argument
        # A word behind a flag is that flag's value.
        if word in _REFUSED and (word.startswith("-") or not before.startswith("-")):
            problems.append(f"{argument}: {_REFUSED[word]}")
        if before in ("-c", "--config") and _OVERRIDES.match(argument):
            problems.append(f"{argument}: phoenixd passes its own hooks here; put yours into hooks.json")
        if before == "--disable" and argument == "hooks":
            problems.append("--disable hooks: phoenixd would see nothing; leave it out")
    return problems


def launch_flags(hook_program: str, trusted: str | None) -> list[str]:
    """What phoenixd adds to every start: no background server, its hooks, and trust in `trusted` if it is one."""
    flags = ["--no-daemon", "-c", f"hooks={inline(hooks(hook_program))}"]
    if trusted is not None:
        flags += ["-c", f"projects={inline({trusted: {'trust_level': 'trusted'}})}"]
    return flags


def hooks(hook_program: str) -> dict[str, Any]:
    """The table of our hooks, and below `state` the hashes by which the CLI trusts exactly these."""
    table: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for event, (label, kind, timeout) in EVENTS.items():
        command = f"{shlex.quote(hook_program)} {kind}"
        hook = {"type": "command", "command": command, "timeout": timeout}
        table[event] = [{"hooks": [hook]}]
        state[f"{_SOURCE}:{label}:0:0"] = {"trusted_hash": trusted_hash(label, hook)}
    return {**table, "state": state}


def trusted_hash(label: str, hook: Mapping[str, Any]) -> str:
    """What the CLI computes of a command hook without a matcher: a sum of its canonical JSON."""
    identity = {"event_name": label, "hooks": [{**hook, "async": False}]}
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(canonical.encode('utf-8', 'surrogateescape')).hexdigest()}"


def codex_home(environment: Mapping[str, str]) -> str:
    """Where the CLI keeps configuration, login and sessions."""
    return environment.get("CODEX_HOME") or f"{environment.get('HOME', '/')}/.codex"


def rollout_pattern(environment: Mapping[str, str], session_id: str) -> str:
    """A glob for the rollout of a session: it lies below the day on which the session began."""
    return f"{literal(codex_home(environment))}/sessions/*/*/*/rollout-*-{session_id}.jsonl"


def rollout_is_resumable(head: bytes) -> bool:
    """Whether a resume can work: the CLI needs the record about the session, and forgives whatever follows it."""
    return any(b'"session_meta"' in line[:512] for line in head.split(b"\n"))


def typed_prompt(text: str) -> Prompt:
    """A text as it can be pasted into the input line and come out unchanged: blanks around it would go."""
    if not text.strip():
        return Prompt("", problem="there is nothing in it")
    if text.lstrip().startswith("!"):
        return Prompt(text, problem="it begins with !, and would be run in a shell; put a word before it")
    return Prompt(text.strip(), is_command=re.match(r"/[A-Za-z][\w:-]*(\s|$)", text) is not None)
