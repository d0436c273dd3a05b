"""The Gemini CLI: how it is started and resumed, how its hooks come, where its sessions are kept. Pure functions.

Measured with 0.61.0. The traps that this module owns:
- hooks can be given neither by an argument nor by a file of one's own choice. They come by an extension, a directory
  below the user's own, which holds ours alone and does nothing in sessions that phoenixd did not start;
- a prompt that begins with a dash is read as a flag, unless it stands behind an equals sign;
- what a hook says to a session that begins by /clear is dropped; what one says before a prompt is not;
- terminated or hung up it exits 0, exactly as when a person leaves, and its hook of the session's end gives the same
  reason. Its screen tells them apart: to a person it says goodbye, and how to resume the session;
- PreCompress fires at every turn, even where nothing is compressed: it is not asked for;
- an API error ends the turn without a hook, and a daily limit opens a dialog instead;
- without a terminal it exits with the status of HTTP modulo 256 only where its output is JSON: 429 as 173, 401 as 145,
  400 as 144, 403 as 147. As text it exits with 1 for all of them, and so it does for a model that is not there;
- it starts itself again as a child with more memory, unless told not to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from phoenixd.core.armed_answer import On
from phoenixd.core.causes import Told
from phoenixd.core.spec import AgentSpec
from phoenixd.core.traits import Traits
from phoenixd.documents.plain_text import utf16_units
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.harness.arguments import has_value, literal, program_names, runs_program, single_argument
from phoenixd.harness.armed import ArmedBody
from phoenixd.harness.gemini import armed as gemini_armed
from phoenixd.harness.gemini import screens as gemini_screens
from phoenixd.harness.gemini import transcript as gemini_transcript
from phoenixd.harness.gemini.headless import GeminiHeadless
from phoenixd.harness.login import Login
from phoenixd.harness.pins import PINS
from phoenixd.harness.prompts import Prompt
from phoenixd.harness.shape import Harness, LaunchPlaces
from phoenixd.harness.trust import Read, gemini_asks

EVENTS: Mapping[str, str] = {
    "SessionStart": "session-start",
    "SessionEnd": "session-end",
    "BeforeAgent": "prompt-submit",
    "AfterAgent": "stop",
    "BeforeTool": "tool-start",
    "AfterTool": "tool-end",
    "Notification": "notification",
}
"""The hook program's word for each event of the CLI that says something."""

EXITS: tuple[tuple[int, Told], ...] = (
    (41, "login"), (44, "configuration"), (52, "configuration"), (53, "usage_limit"), (55, "configuration"),
)  # fmt: skip
"""Its own exit codes: no login, sandbox, settings, turns of a session, a directory that nobody trusts."""
HOOK_TIMEOUT_MS = 5000
EXTENSION = "phoenixd"

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OURS = "phoenixd chooses the session; leave the flag out"
_PROMPT = "give the prompt as `prompt`"
_REFUSED: Mapping[str, str] = {
    "--session-id": _OURS,
    "--resume": _OURS,
    "-r": _OURS,
    "--session-file": _OURS,
    "--prompt": f"it ends after one turn; {_PROMPT}",
    "-p": f"it ends after one turn; {_PROMPT}",
    "--prompt-interactive": _PROMPT,
    "-i": _PROMPT,
    "--acp": 'it is no terminal program; use harness = "command" for it',
    "--experimental-acp": 'it is no terminal program; use harness = "command" for it',
    "--worktree": "the session would live in another directory; set cwd to the worktree",
    "-w": "the session would live in another directory; set cwd to the worktree",
    "--list-sessions": "it returns at once and leaves nothing to supervise; leave the flag out",
    "--list-extensions": "it returns at once and leaves nothing to supervise; leave the flag out",
    "-l": "it returns at once and leaves nothing to supervise; leave the flag out",
    "--": "phoenixd's own arguments come last; give the prompt as `prompt`",
}
_SUBCOMMANDS = frozenset({"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"})


class Gemini(Harness):
    """The Gemini CLI."""

    default_argv = ("gemini",)
    traits = Traits(
        stops_either_way=True, writes_briefs=True, takes_armed=("stop", "tool"), one_turn_flags=("-p", "--prompt"),
        escape_ends_turn=True, leaves_in_silence=True, exits_with_status=True, exits_tell=EXITS, tells_cut=False,
    )  # fmt: skip
    login_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT")
    tested_versions = PINS["gemini"]

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
        line = [*spec.argv]
        if any(argument.partition("=")[0] in ("-e", "--extensions") for argument in spec.argv):
            line.append(f"--extensions={EXTENSION}")  # who names some leaves the others out, and ours with them
        if spec.seed_trust:
            line.append("--skip-trust")
        line.append(f"--{'resume' if mode == 'resume' else 'session-id'}={session_id}")
        if spec.task:
            line.append(f"--include-directories={places.out}")
            if not any(argument.partition("=")[0] in ("-o", "--output-format") for argument in spec.argv):
                line.append("--output-format=stream-json")  # as text, it exits with 1 whatever the API answered
        flag = "--prompt" if spec.task else "--prompt-interactive"
        return line if prompt is None else [*line, single_argument(f"{flag}={prompt}")]

    def armed(self, on: On, text: str) -> ArmedBody | None:
        return gemini_armed.armed(on, text)

    def variables(self) -> dict[str, str]:
        return {"GEMINI_CLI_NO_RELAUNCH": "true"}

    def own_files(self, environment: Mapping[str, str]) -> dict[str, str]:
        directory = f"{gemini_home(environment)}/extensions/{EXTENSION}"
        about = {"name": EXTENSION, "version": "1.0.0"}
        return {
            f"{directory}/gemini-extension.json": json.dumps(about, indent=2) + "\n",
            f"{directory}/hooks/hooks.json": json.dumps(hooks(), indent=2) + "\n",
        }

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        return chat_pattern(environment, session_id) if _UUID.fullmatch(session_id) else None

    needs_transcript = True

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return chat_is_resumable(head, tail)

    def runs_session(self, spec: AgentSpec, argv: Sequence[str], session_id: str) -> bool:
        flags = ("--session-id", "--resume", "-r")
        return runs_program(argv, program_names(spec, "gemini")) and has_value(argv, flags, session_id)

    def asks_at_start(self, spec: AgentSpec, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        return None if spec.seed_trust else gemini_asks(gemini_home(environment), cwd, spec.argv, read)

    def needed_login(self, environment: Mapping[str, str]) -> Login | None:
        if environment.get("GEMINI_API_KEY") or environment.get("GOOGLE_API_KEY"):
            return None
        home, remedy = gemini_home(environment), "run gemini once as the agent's user, and choose how to sign in"
        return Login((f"{home}/oauth_creds.json", f"{home}/settings.json"), remedy)

    tells_failures = False

    def told_length(self, text: str) -> int:
        return utf16_units(text)

    def screen_says(self, screen: str) -> str:
        return gemini_screens.screen_says(screen)

    def takes_leave(self, screen: str, session_id: str) -> bool:
        return gemini_screens.takes_leave(screen, session_id)

    def input_line(self, screen: str) -> str | None:
        return gemini_screens.input_line(screen)

    def holds(self, screen: str, text: str) -> bool:
        return gemini_screens.holds(screen, text)

    def prompt(self, text: str) -> Prompt:
        return typed_prompt(text)

    headless = GeminiHeadless()

    @property
    def transcript_form(self) -> TranscriptForm:
        return gemini_transcript


def check_argv(argv: Sequence[str]) -> list[str]:
    """What of an operator's base command cannot be supervised, one sentence each; empty when all is well."""
    problems = [] if argv else ["argv is empty: name the program"]
    for argument in argv[1:]:
        flag = argument.partition("=")[0]
        if flag in _REFUSED:
            problems.append(f"{argument}: {_REFUSED[flag]}")
    if len(argv) > 1 and argv[1] in _SUBCOMMANDS:
        problems.append(f"{argv[1]}: it returns at once and leaves nothing to supervise; leave it out")
    return problems


def hooks() -> dict[str, Any]:
    """The extension's hooks. The program is named by the environment of the run, so that an upgrade changes no file."""
    made: dict[str, list[dict[str, Any]]] = {event: [{"hooks": [_hook(kind)]}] for event, kind in EVENTS.items()}
    # What a hook says after /clear the CLI drops: the brief comes with the next prompt instead.
    made["SessionStart"].append({"matcher": "clear", "hooks": [_hook("session-start --owe")]})
    made["BeforeAgent"] = [{"hooks": [_hook("prompt-submit --owed")]}]
    return {"hooks": made}


def _hook(arguments: str) -> dict[str, Any]:
    command = f'[ -z "$PHOENIX_HOOK" ] || "$PHOENIX_HOOK" {arguments}'
    return {"type": "command", "name": EXTENSION, "command": command, "timeout": HOOK_TIMEOUT_MS}


def gemini_home(environment: Mapping[str, str]) -> str:
    """Where the CLI keeps settings, login, extensions and sessions."""
    return f"{environment.get('GEMINI_CLI_HOME') or environment.get('HOME', '/')}/.gemini"


def chat_pattern(environment: Mapping[str, str], session_id: str) -> str:
    """A glob for the file of a session: it lies below a name that the CLI gave the directory."""
    return f"{literal(gemini_home(environment))}/tmp/*/chats/session-*-{session_id[:8]}.jsonl"  # noqa: S108


def chat_is_resumable(head: bytes, tail: bytes) -> bool:
    """Whether a resume can work: the CLI needs the record that names the session, and a message."""
    return b'"sessionId"' in head and re.search(rb'"type": ?"(user|gemini)"', head + b"\n" + tail) is not None


def typed_prompt(text: str) -> Prompt:
    """A text as it can be pasted into the input line and come out unchanged: blanks around it would go.

    A leading slash makes a command of it, which no hook tells of, and a leading ! a line for the shell. An Enter right
    after a command picks whatever stands first in a list that is still that of all commands; a blank behind the command
    closes that list.
    """
    if not text.strip():
        return Prompt("", problem="there is nothing in it")
    if text.lstrip().startswith("!"):
        return Prompt(text, problem="it begins with !, and would be run in a shell; put a word before it")
    typed = text.strip()
    if re.match(r"/[a-z][\w-]*(\s|$)", typed):
        return Prompt(f"{typed} ", is_command=True)
    return Prompt(typed)
