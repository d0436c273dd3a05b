"""Any program as an agent: the open contract that others build on (design section 3). Pure functions.

`{session_id}`, `{prompt}` and `{brief}` (the brief's path) stand for whole arguments: never a part of one, never read
by a shell. Each gives exactly one argument, an empty one where there is nothing to say, so that a flag before it cannot
swallow what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.core.armed_answer import On
from phoenixd.harness.arguments import single_argument
from phoenixd.harness.armed import ArmedBody
from phoenixd.harness.claude.armed import armed as claude_armed

PromptVia = Literal["argv", "paste", "none"]

PLACEHOLDERS = ("{session_id}", "{prompt}", "{brief}")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The configured argv with what is added to it. `resume_args` None: a resume runs the same line as a fresh start,
    and the program goes by PHOENIX_MODE and PHOENIX_SESSION_ID."""

    argv: tuple[str, ...]
    fresh_args: tuple[str, ...] = ()
    resume_args: tuple[str, ...] | None = None


def fresh_argv(line: CommandLine, session_id: str, prompt: str | None, brief: str) -> list[str]:
    """The command line of a new session."""
    return _filled((*line.argv, *line.fresh_args), session_id, prompt, brief)


def resume_argv(line: CommandLine, session_id: str, prompt: str | None, brief: str) -> list[str]:
    """The command line that goes on with a session."""
    added = line.fresh_args if line.resume_args is None else line.resume_args
    return _filled((*line.argv, *added), session_id, prompt, brief)


def prompt_via(line: CommandLine, declared: PromptVia | None) -> PromptVia:
    """How the prompt reaches the program: as declared, else by argv if an argument asks for it, else not at all."""
    if declared is not None:
        return declared
    return "argv" if _takes_prompt(line) else "none"


def check_argv(line: CommandLine, declared: PromptVia | None = None) -> list[str]:
    """What cannot work in this command line, one sentence each; empty when all is well."""
    problems = [] if line.argv else ["argv is empty: name the program"]
    if line.argv and not line.argv[0].strip():
        problems.append("argv begins with an empty word: name the program")
    for argument in _arguments(line):
        inside = [name for name in PLACEHOLDERS if name in argument and name != argument]
        if inside:
            problems.append(f"{argument}: {inside[0]} is filled in as a whole argument only; make it one of its own")
    if line.argv and line.argv[0] in PLACEHOLDERS:
        problems.append(f"{line.argv[0]}: the program itself cannot be a placeholder")
    if declared == "argv" and not _takes_prompt(line):
        problems.append('prompt_via = "argv" needs an argument {prompt}')
    if declared in ("paste", "none") and _takes_prompt(line):
        problems.append(f'prompt_via = "{declared}" contradicts the argument {{prompt}}')
    return problems


def armed(on: On, text: str) -> ArmedBody:
    """An answer that stands ready, in the words of the open contract, which are Claude Code's."""
    return replace(claude_armed(on, text), named=None)


def _takes_prompt(line: CommandLine) -> bool:
    return "{prompt}" in _arguments(line)


def _arguments(line: CommandLine) -> tuple[str, ...]:
    return (*line.argv, *line.fresh_args, *(line.resume_args or ()))


def _filled(arguments: Sequence[str], session_id: str, prompt: str | None, brief: str) -> list[str]:
    values = {"{session_id}": session_id, "{prompt}": single_argument(prompt or ""), "{brief}": brief}
    return [values.get(argument, argument) for argument in arguments]
