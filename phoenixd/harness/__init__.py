"""One module for each agent CLI: how it is started and resumed, and what its screen says. Pure: data and functions.

The modules differ as their CLIs do; `Harness` is what the rest of the daemon needs of each, and `HARNESSES` names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.harness import claude, claude_transcript, command
from phoenixd.harness.prompts import Prompt as Prompt

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_session_id(text: str) -> bool:
    """Whether a session id, which the agent itself may have named, can be part of a path and be an argument."""
    return _SESSION_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class LaunchPlaces:
    """Where a launch finds its files: the brief, and the settings file of harnesses that take one."""

    brief: str
    settings: str


class Harness(Protocol):
    """One agent CLI."""

    @property
    def default_argv(self) -> tuple[str, ...]:
        """The program when the operator names none."""
        ...

    def problems(self, spec: AgentSpec) -> list[str]:
        """What of the operator's command cannot be supervised, one sentence each."""
        ...

    def takes_prompt(self, spec: AgentSpec) -> bool:
        """Whether the prompt is told by an argument."""
        ...

    def command_line(
        self,
        spec: AgentSpec,
        mode: Literal["fresh", "resume"],
        session_id: str,
        prompt: str | None,
        places: LaunchPlaces,
    ) -> list[str]:
        """The whole argv; raises ValueError when the prompt does not fit."""
        ...

    def settings(self, spec: AgentSpec, hook_url: str, token: str, hook_program: str) -> dict[str, Any] | None:
        """The content of the settings file; None for a harness without one."""
        ...

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        """Path or glob of the session's transcript; `cwd` without symbolic links. None where there is none to know."""
        ...

    @property
    def needs_transcript(self) -> bool:
        """Whether a resume is refused where no good transcript is."""
        ...

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        """Whether a transcript with these first and last bytes can be resumed."""
        ...

    def trust_file(self, environment: Mapping[str, str]) -> str | None:
        """The CLI's own file that remembers which directories are trusted; None where there is none."""
        ...

    def trusted(self, existing: Mapping[str, Any], cwd: str, environment: Mapping[str, str]) -> dict[str, Any]:
        """That file's content with `cwd` trusted; raises ValueError for a content of another shape."""
        ...

    def screen_says(self, screen: str) -> str: ...

    def input_line(self, screen: str) -> str | None:
        """What stands in the input line, unsent; None where no input line is to be seen."""
        ...

    def prompt(self, text: str) -> Prompt:
        """What the CLI makes of a text that is typed into it."""
        ...

    def queued_prompt(self, record: Mapping[str, Any]) -> str | None:
        """The prompt that this transcript record says was put off until the CLI has time for it."""
        ...

    @property
    def transcript_form(self) -> TranscriptForm | None:
        """How transcripts are read; None where what they hold is not known."""
        ...


class ClaudeCode:
    """Claude Code."""

    default_argv = ("claude",)

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
        return compose(spec.argv, session_id, prompt, places.settings)

    def settings(self, spec: AgentSpec, hook_url: str, token: str, hook_program: str) -> dict[str, Any] | None:
        # An orchestrator is handed over before its context is full; a compaction of the CLI's own would come first.
        extra = {"DISABLE_AUTO_COMPACT": "1"} if spec.kind is Kind.ORCHESTRATOR else {}
        bypasses = "--dangerously-skip-permissions" in spec.argv
        return claude.settings(hook_url, token, hook_program, extra, skip_bypass_warning=bypasses)

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        if not is_session_id(session_id):
            return None
        home = environment.get("HOME", "/")
        return claude.transcript_path(home, cwd, session_id, environment.get("CLAUDE_CONFIG_DIR"))

    needs_transcript = True

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return claude.transcript_is_resumable(head, tail, size)

    def trust_file(self, environment: Mapping[str, str]) -> str | None:
        return f"{environment.get('CLAUDE_CONFIG_DIR') or environment.get('HOME', '/')}/.claude.json"

    def trusted(self, existing: Mapping[str, Any], cwd: str, environment: Mapping[str, str]) -> dict[str, Any]:
        key = environment.get("ANTHROPIC_API_KEY")
        return claude.trust_seed(existing, cwd, claude.api_key_tail(key) if key else None)

    def screen_says(self, screen: str) -> str:
        return claude.screen_says(screen)

    def input_line(self, screen: str) -> str | None:
        return claude.input_line(screen)

    def prompt(self, text: str) -> Prompt:
        return claude.typed_prompt(text)

    def queued_prompt(self, record: Mapping[str, Any]) -> str | None:
        return claude.queued_prompt(record)

    @property
    def transcript_form(self) -> TranscriptForm:
        return claude_transcript


class AnyCommand:
    """Any program, by the open contract."""

    default_argv = ()

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

    def settings(self, spec: AgentSpec, hook_url: str, token: str, hook_program: str) -> dict[str, Any] | None:
        return None

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        if spec.transcript is None or not is_session_id(session_id):
            return None
        return spec.transcript.replace("{session_id}", session_id)

    needs_transcript = False

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        return True

    def trust_file(self, environment: Mapping[str, str]) -> str | None:
        return None

    def trusted(self, existing: Mapping[str, Any], cwd: str, environment: Mapping[str, str]) -> dict[str, Any]:
        return dict(existing)

    def screen_says(self, screen: str) -> str:
        return "unknown"

    def input_line(self, screen: str) -> str | None:
        return None

    def prompt(self, text: str) -> Prompt:
        return Prompt(text, is_seen=False)

    def queued_prompt(self, record: Mapping[str, Any]) -> str | None:
        return None

    transcript_form = None


HARNESSES: Mapping[str, Harness] = {"claude": ClaudeCode(), "command": AnyCommand()}
"""The harnesses of this version."""


def _line(spec: AgentSpec) -> command.CommandLine:
    return command.CommandLine(spec.argv, spec.fresh_args, spec.resume_args)


def _declared(spec: AgentSpec) -> command.PromptVia | None:
    match spec.prompt_via:
        case "argv" | "paste" | "none" as declared:
            return declared
        case _:
            return None
