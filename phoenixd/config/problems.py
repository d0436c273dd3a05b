"""What is wrong with a configuration, in words that name the file, the key and the remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from phoenixd.config.duration import Duration, format_duration
from phoenixd.config.layers import KeyPath, Layer, Origin, Stack
from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.agent import AgentTable
from phoenixd.config.tables.values import CredentialTable
from phoenixd.core.nearest import nearest

Location = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. An error makes the configuration unusable, a warning does not."""

    message: str
    key: str = ""
    file: str = ""
    line: int | None = None
    severity: Literal["error", "warning"] = "error"
    agent: str | None = None
    """The agent that it concerns."""
    is_conflict: bool = False
    """It is right by itself, and another declaration stands against it."""
    is_twice: bool = False
    """It is declared by `add` as well, which wins."""
    is_unread: bool = False
    """It is about a place whose declarations nobody can know."""
    together: str = ""
    """The message in words that are the same of each agent that it concerns."""

    @property
    def place(self) -> str:
        """File and line."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def below(self) -> str:
        """The key below the agent's table."""
        return self.key.removeprefix(f"agent.{self.agent}").removeprefix(".") if self.agent else self.key

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.key, self.message) if part)


def problem_at(stack: Stack, path: KeyPath, message: str, severity: Literal["error", "warning"] = "error") -> Problem:
    """A finding about a key, with the file and line that set it."""
    origin = stack.origin(path) or Origin("")
    agent = path[1] if path[:1] == ("agent",) and len(path) > 1 else None
    return Problem(message, ".".join(path), origin.file, origin.line, severity, agent)


def declared_twice(layers: Iterable[Layer], declarations: Path) -> Iterator[Problem]:
    """Agents that a file declares and `add` as well: the file of `add` lies above, and wins key by key."""
    below: dict[str, Layer] = {}
    for layer in layers:
        agents = layer.tables.get("agent")
        for name in agents if isinstance(agents, Mapping) else ():
            if Path(layer.file).parent != declarations:
                below.setdefault(name, layer)
            elif (other := below.get(name)) is not None:
                file = shlex.quote(layer.file)
                message = (
                    f"{name} was made by phoenixctl add as well: of what both say {file} wins. "
                    f"To keep this one alone: rm {file} && phoenixctl apply"
                )
                key = ("agent", name)
                yield Problem(message, ".".join(key), other.file, other.lines.get(key), "warning", name, is_twice=True)


def problems_of(error: ValidationError, stack: Stack) -> Iterator[Problem]:
    """Translate what pydantic found. Values are never quoted, because they may be secrets."""
    either: dict[Location, list[ErrorDetails]] = {}
    for finding in error.errors(include_url=False, include_input=False):
        if (place := _of_either(finding["loc"])) is not None:
            either.setdefault(place, []).append(finding)
            continue
        path = _key_path(finding["loc"])
        if not _is_inherited(path, stack):  # Else it is reported once, where `[defaults]` has it.
            yield problem_at(stack, path, _told(finding, path))
    for place, findings in either.items():
        path, message = _of_members(place, findings)
        if not _is_inherited(path, stack):
            yield problem_at(stack, path, message)


def _told(finding: ErrorDetails, path: KeyPath) -> str:
    match finding["type"]:
        case "extra_forbidden":
            return _unknown_key(path)
        case "model_type" | "model_attributes_type" | "dict_type":
            is_agent = path[:1] == ("agent",) and len(path) <= 2
            return "must be a table" + (": the keys of an agent stand below [agent.NAME]" if is_agent else "")
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than" if _is_length(path):
            words, _, number = _sentence(finding["msg"]).rpartition(" ")
            return f"{words} {format_duration(float(number))}"
        case _:
            return _sentence(finding["msg"])


EITHER = "must be a text, or { file = ... } that names a file"


def _of_either(location: Location) -> Location | None:
    """The key whose value may be a text or a table, where pydantic tells of one of both; else None.

    It puts behind the key which of them it tried.
    """
    for place in range(2, len(location)):
        word = str(location[place])
        if (word in ("str", CredentialTable.__name__) or "(" in word) and location[place - 1] != "env":
            return location[:place]
    return None


def _of_members(place: Location, findings: Sequence[ErrorDetails]) -> tuple[KeyPath, str]:
    """Where and what is told of such a key: what is wrong with its text or its file, else what it may be."""
    key = tuple(map(str, place))
    for finding in findings:
        if finding["loc"][len(place) + 1 :] == ("file",) and finding["type"] != "missing":
            return (*key, "file"), _sentence(finding["msg"])
    refused = next((_sentence(finding["msg"]) for finding in findings if finding["type"] == "refused"), EITHER)
    return key, refused


def _is_length(path: KeyPath) -> bool:
    """Whether the key is a length of time."""
    model = _model_at(path[:-1])
    field = model.model_fields.get(path[-1]) if model is not None else None
    return field is not None and any(mark in field.metadata for mark in get_args(Duration)[1:])


def _is_inherited(path: KeyPath, stack: Stack) -> bool:
    while path[:1] == ("agent",) and len(path) > 2:
        if path in stack.origins:
            return False
        if ("defaults", *path[2:]) in stack.origins:
            return True
        path = path[:-1]
    return False


OTHER_NAMES = {"command": "argv", "cmd": "argv"}
"""Keys as other tools call them."""
MEANT_OFTEN = {"cooldown": "loop.pause"}
"""Keys of one table that other tools have for what another table sets here."""


def _unknown_key(path: KeyPath) -> str:
    model = _model_at(path[:-1]) or ConfigurationTable
    key, names = path[-1], sorted(model.model_fields)
    below = {leaf[-1]: ".".join(leaf) for leaf in _leaves(model) if len(leaf) > 1}
    if key in OTHER_NAMES and OTHER_NAMES[key] in names:
        return f"unknown key; did you mean {OTHER_NAMES[key]}?"
    if key in MEANT_OFTEN and MEANT_OFTEN[key] in map(".".join, _leaves(model)):
        return f"unknown key; did you mean {MEANT_OFTEN[key]}, or {below[key]}?"
    if key in below:
        return f"unknown key; did you mean {below[key]}?"
    if (close := nearest(key, [*names, *below])) is not None:
        return f"unknown key; did you mean {below.get(close, close)}?"
    return f"unknown key; known here: {', '.join(names)}"


def _model_at(path: Sequence[str]) -> type[BaseModel] | None:
    model: type[BaseModel] = ConfigurationTable
    names = iter(path)
    for name in names:
        if name == "agent" and model is ConfigurationTable:
            if next(names, None) is None:
                return None
            model = AgentTable
            continue
        field = model.model_fields.get(name)
        nested = _nested_model(field.annotation) if field else None
        if nested is None:
            return None
        model = nested
    return model


def _nested_model(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _leaves(model: type[BaseModel]) -> Iterator[KeyPath]:
    for name, field in model.model_fields.items():
        yield (name,)
        nested = _nested_model(field.annotation)
        if nested is not None and name != "agent":
            yield from ((name, *rest) for rest in _leaves(nested))


def _key_path(location: Location) -> KeyPath:
    return tuple(map(str, location))


WORDS = {
    "a valid tuple": 'a list, as in ["one", "two"]', "a valid string": "a text",
    "a valid boolean": "true or false, without quotes", "a valid integer": "a whole number, without quotes",
    "a valid number": "a number, without quotes",
}  # fmt: skip
"""What pydantic calls a value, and what people write."""


def _sentence(message: str) -> str:
    if message == "Input is not a valid path":
        return "must be a text"
    expected = "Input should be "
    if not message.startswith(expected):
        return message
    told = message.removeprefix(expected)
    return f"must be {WORDS.get(told, told)}"
