"""One module for each agent CLI: how it is started and resumed, and what its screen says. Pure: data and functions.

The modules differ as their CLIs do; `Harness` is what the rest of the daemon needs of each, and `HARNESSES` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.harness import claude, command


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

    def screen_says(self, screen: str) -> str: ...


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
        home = environment.get("HOME", "/")
        return claude.transcript_path(home, cwd, session_id, environment.get("CLAUDE_CONFIG_DIR"))

    def screen_says(self, screen: str) -> str:
        return claude.screen_says(screen)


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
        return spec.transcript.replace("{session_id}", session_id) if spec.transcript else None

    def screen_says(self, screen: str) -> str:
        return "unknown"


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
