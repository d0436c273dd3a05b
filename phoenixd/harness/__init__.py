"""One folder for each agent CLI: how it is started and resumed, and what its screen says. Pure: data and functions.

The folders differ as their CLIs do; `Harness` is what the rest of the daemon needs of each, and `HARNESSES` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from phoenixd.core.armed_answer import On
from phoenixd.core.spec import AgentSpec
from phoenixd.core.traits import Traits, learn
from phoenixd.documents.plain_text import utf16_units
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.harness import command
from phoenixd.harness.arguments import program_names, runs_program
from phoenixd.harness.armed import ArmedBody
from phoenixd.harness.claude import armed as claude_armed
from phoenixd.harness.claude import launch as claude
from phoenixd.harness.claude import screens as claude_screens
from phoenixd.harness.claude import status_line as claude_status_line
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.harness.claude.headless import ClaudeHeadless
from phoenixd.harness.codex.harness import Codex
from phoenixd.harness.gemini.harness import Gemini
from phoenixd.harness.login import Login
from phoenixd.harness.pins import PINS
from phoenixd.harness.prompts import Prompt as Prompt
from phoenixd.harness.shape import Harness as Harness
from phoenixd.harness.shape import LaunchPlaces as LaunchPlaces
from phoenixd.harness.shape import PermissionTold, ProcessInSession
from phoenixd.harness.shape import is_session_id as is_session_id
from phoenixd.harness.trust import Read, claude_asks


class ClaudeCode(Harness):
    """Claude Code."""

    default_argv = ("claude",)
    tested_versions = PINS["claude"]
    traits = Traits(
        holds_permissions=True, writes_briefs=True, takes_armed=("stop", "tool", "compaction"),
        one_turn_flags=("-p", "--print"), escape_ends_turn=True, resumes_one_turn=True,
    )  # fmt: skip
    login_variables = (
        "CLAUDE_CONFIG_DIR",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
    )

    def problems(self, spec: AgentSpec) -> list[str]:
        return claude.check_argv(spec.argv)

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
        compose = claude.resume_argv if mode == "resume" else claude.fresh_argv
        base = (*spec.argv, "-p", "--add-dir", places.out) if spec.task else spec.argv
        return compose(base, session_id, prompt, places.settings)

    def settings(self, spec: AgentSpec, hook_url: str, token: str, hook_program: str) -> dict[str, Any] | None:
        # Compaction stays on, also for an orchestrator, which is handed over before: with it off, the CLI refuses every
        # prompt of a context that is not yet full enough for that, and no hook tells. An armed answer forbids it.
        # What stands in the settings goes before the environment: the operator's own limits would be lost.
        own = {name: value for name, value in spec.env if name in {**claude.BASH_TIMEOUTS, **claude.NO_MEMORY}}
        extra = {**(claude.NO_MEMORY if spec.task else {}), **own}
        bypasses = "--dangerously-skip-permissions" in spec.argv
        return claude.settings(
            hook_url, token, hook_program, extra, skip_bypass_warning=bypasses, acknowledges=spec.generation > 1
        )

    def status_line(self, spec: AgentSpec, hook_program: str, version: str | None) -> dict[str, Any]:
        is_passed = spec.context.status_line and claude_status_line.is_readable(version)
        return {"statusLine": claude_status_line.ours(hook_program)} if is_passed else {}

    def own_status_line(self, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        return claude_status_line.operators(environment, cwd, read)

    def window_of(self, model: str) -> int | None:
        return claude_status_line.window_of(model)

    def armed(self, on: On, text: str) -> ArmedBody:
        return claude_armed.armed(on, text)

    def variables(self) -> dict[str, str]:
        return dict(claude.VARIABLES)

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        if not is_session_id(session_id):
            return None
        home = environment.get("HOME", "/")
        return claude.transcript_path(home, cwd, session_id, environment.get("CLAUDE_CONFIG_DIR"))

    needs_transcript = True

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return claude.transcript_is_resumable(head, tail, size)

    def runs_session(self, spec: AgentSpec, argv: Sequence[str], session_id: str) -> bool:
        return runs_program(argv, program_names(spec, "claude")) and claude.works_in(argv, session_id)

    def session_files(self, environment: Mapping[str, str]) -> str | None:
        return claude.session_files(environment)

    def process_in_session(self, record: Mapping[str, Any]) -> ProcessInSession | None:
        return claude.process_in_session(record)

    def trust_file(self, environment: Mapping[str, str]) -> str | None:
        return f"{environment.get('CLAUDE_CONFIG_DIR') or environment.get('HOME', '/')}/.claude.json"

    def trusted(self, existing: Mapping[str, Any], cwd: str, environment: Mapping[str, str]) -> dict[str, Any]:
        key = environment.get("ANTHROPIC_API_KEY")
        return claude.trust_seed(existing, cwd, claude.api_key_tail(key) if key else None)

    def asks_at_start(self, spec: AgentSpec, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        key, path = environment.get("ANTHROPIC_API_KEY"), self.trust_file(environment)
        if spec.seed_trust or path is None:
            return None
        return claude_asks(path, cwd, claude.api_key_tail(key) if key else None, read)

    def needed_login(self, environment: Mapping[str, str]) -> Login | None:
        return claude.needed_login(environment)

    def call_limit(self, spec: AgentSpec, tool: str) -> float | None:
        return claude.call_limit(tool, dict(spec.env))

    tells_failures = True

    def told_length(self, text: str) -> int:
        return utf16_units(text)

    dismissible = ("renderer", "auto-mode")

    def screen_says(self, screen: str) -> str:
        return claude_screens.screen_says(screen)

    def input_line(self, screen: str) -> str | None:
        return claude_screens.input_line(screen)

    def prompt(self, text: str) -> Prompt:
        return claude.typed_prompt(text)

    def queued_prompt(self, record: Mapping[str, Any]) -> str | None:
        return claude.queued_prompt(record)

    def permission_told(self, record: Mapping[str, Any]) -> tuple[PermissionTold, ...]:
        return claude.permission_told(record)

    headless = ClaudeHeadless()

    @property
    def transcript_form(self) -> TranscriptForm:
        return claude_transcript


class AnyCommand(Harness):
    """Any program, by the open contract."""

    default_argv = ()
    tested_versions = ()
    traits = Traits(has_hooks=False, takes_armed=("stop", "tool", "compaction"), is_prompted=False, resumes_empty=True)
    login_variables = ()
    reads_brief_at_once = True

    def problems(self, spec: AgentSpec) -> list[str]:
        return command.check_argv(_line(spec), _declared(spec))

    def takes_prompt(self, spec: AgentSpec) -> bool:
        return command.prompt_via(_line(spec), _declared(spec)) == "argv"

    def command_line(
        self,
        spec: AgentSpec,
        mode: Literal["fresh", "resume"],
        session_id: str,
        prompt: str | None,
        places: LaunchPlaces,
    ) -> list[str]:
        compose = command.resume_argv if mode == "resume" else command.fresh_argv
        return compose(_line(spec), session_id, prompt, places.brief)

    def armed(self, on: On, text: str) -> ArmedBody:
        return command.armed(on, text)

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        if spec.transcript is None or not is_session_id(session_id):
            return None
        return spec.transcript.replace("{session_id}", session_id)

    needs_transcript = False

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return True

    def runs_session(self, spec: AgentSpec, argv: Sequence[str], session_id: str) -> bool:
        return session_id in argv and runs_program(argv, program_names(spec))

    tells_failures = True

    def told_length(self, text: str) -> int:
        return utf16_units(text)

    def screen_says(self, screen: str) -> str:
        return "unknown"

    def input_line(self, screen: str) -> str | None:
        return None

    def prompt(self, text: str) -> Prompt:
        return Prompt(text, is_seen=False)


HARNESSES: Mapping[str, Harness] = {
    "claude": ClaudeCode(),
    "codex": Codex(),
    "gemini": Gemini(),
    "command": AnyCommand(),
}
"""The harnesses of this version."""

for _name, _harness in HARNESSES.items():
    learn(_name, _harness.traits)


def _line(spec: AgentSpec) -> command.CommandLine:
    return command.CommandLine(spec.argv, spec.fresh_args, spec.resume_args)


def _declared(spec: AgentSpec) -> command.PromptVia | None:
    match spec.prompt_via:
        case "argv" | "paste" | "none" as declared:
            return declared
        case _:
            return None
