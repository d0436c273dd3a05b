"""What a key may hold: texts, paths, lists of words; and how one is refused."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

AGENT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
RESERVED_VARIABLES = ("PHOENIX_", "TMUX")


def refuse(message: str) -> PydanticCustomError:
    """An error whose text reaches the operator as it stands."""
    return PydanticCustomError("refused", "{reason}", {"reason": message})


def text(value: str) -> str:
    if "\0" in value:
        raise refuse("must not contain a zero byte")
    return value


def _absolute_path(value: str) -> str:
    expanded = os.path.expanduser(text(value))
    if not os.path.isabs(expanded):
        raise refuse(f'"{value}" is a relative path; the daemon has no directory to take it from, so write it from /')
    return os.path.normpath(expanded)


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """An agent's argv, whose program may lie in a home directory, as its cwd may: no shell is there to say where."""
    if not words or not words[0].startswith("~") or "/" not in words[0]:
        return words
    expanded = os.path.expanduser(words[0])
    if not os.path.isabs(expanded):
        raise refuse(f'"{words[0]}": there is no such home directory; write the program from /')
    return (expanded, *words[1:])


def list_to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Text = Annotated[str, AfterValidator(text)]
AbsolutePath = Annotated[str, AfterValidator(_absolute_path)]
Words = Annotated[tuple[Text, ...], BeforeValidator(list_to_tuple)]
CommandWords = Annotated[Words, AfterValidator(_command)]
Label = Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,31}$")]
Labels = Annotated[tuple[Label, ...], Field(max_length=16), BeforeValidator(list_to_tuple)]
"""Words by which agents are chosen and shown."""
Mark = Annotated[Text, Field(min_length=3, max_length=64)]
"""What secrets begin with; shorter ones would blot out ordinary words."""


class Table(BaseModel):
    # The tables that hold others build them along: each by itself would be built twice.
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False, defer_build=True
    )


class CredentialTable(Table):
    """A value of `env` that is read from a file at every start."""

    file: AbsolutePath
