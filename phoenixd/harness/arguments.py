"""What may stand on a command line, what a stranger's command line says, and what stands for itself in a glob."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from phoenixd.core.spec import AgentSpec

MAX_ARGUMENT_BYTES = 131_071
"""Linux takes no longer single argument (MAX_ARG_STRLEN, less its NUL); a longer prompt belongs into the brief."""


def single_argument(text: str) -> str:
    """The text unchanged; ValueError when no program could be started with it."""
    if "\0" in text or len(text.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT_BYTES:
        raise ValueError(f"the prompt does not fit into one argument ({MAX_ARGUMENT_BYTES} bytes, no NUL)")
    return text


def literal(path: str) -> str:
    """The path as a part of a glob in which it stands for itself."""
    return re.sub(r"([*?[])", r"[\1]", path)


def program_names(spec: AgentSpec, *usual: str) -> frozenset[str]:
    """What the agent's program may be called: as usual, or as the operator calls it."""
    return frozenset({*usual, *(word.rpartition("/")[2] for word in spec.argv[:1])})


def runs_program(argv: Sequence[str], names: Collection[str]) -> bool:
    """Whether a command line is that of one of these programs, run by itself or by an interpreter.

    A terminal multiplexer or a shell that was told to start the program is not the program.
    """
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return any(word.rpartition("/")[2].removesuffix(".js") in names for word in (*argv[:1], script))


def has_value(argv: Sequence[str], flags: Collection[str], value: str) -> bool:
    """Whether one of the flags is given this value, behind it or behind an equals sign."""
    for number, argument in enumerate(argv):
        flag, equals, given = argument.partition("=")
        if flag in flags and (given if equals else "".join(argv[number + 1 : number + 2])) == value:
            return True
    return False
