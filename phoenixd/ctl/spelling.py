"""A command as a shell takes it: what a remedy tells to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from phoenixd.api.operations.operation import parameters
from phoenixd.ctl.grammar import Command

LONGEST_TEXT = 100
"""Characters of a text that a shown command repeats; of a longer one TEXT stands for it."""


def spelled(command: Command, *more: str, without: Sequence[str] = ()) -> str:
    """The command as a shell takes it, with all that was given and these words more. without: arguments left out."""
    left_out = {*without, *(word.removeprefix("--").replace("-", "_") for word in more if word.startswith("--"))}
    words, flags = [], []
    for parameter in parameters((command.operation,)):
        value = command.given.get(parameter.name)
        if value is None or value is False or parameter.name in left_out:
            continue
        given = [str(one) for one in value] if isinstance(value, list) else [str(value)]
        if parameter.flag is None:
            words += [one if parameter.name != "text" or _fits(one) else "TEXT" for one in given]
        elif parameter.type == "boolean":
            flags.append(parameter.flag)
        else:
            flags += [word for one in given for word in (parameter.flag, one)]
    flags += ["--socket", command.socket] if command.socket is not None else []
    flags += ["--json"] if command.as_json else []
    if any(word.startswith("-") and word != "-" for word in words):
        told = [*flags, *more, "--", *words]
    else:
        told = [*words, *flags, *more]
    return " ".join(("phoenixctl", *command.words, *map(shlex.quote, told)))


def _fits(text: str) -> bool:
    """Whether a text is short and plain enough to stand in a command that is shown."""
    return len(text) <= LONGEST_TEXT and text.isprintable()
