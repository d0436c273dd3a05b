"""What is wrong with a configuration, in words that name the file, the key and the remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from phoenixd.config.layers import KeyPath, Layer, Origin, Stack
from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.agent import AgentTable
from phoenixd.core.nearest import nearest


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
    for finding in error.errors(include_url=False, include_input=False):
        path = _key_path(finding["loc"])
        if _is_inherited(path, stack):
            continue  # It is reported once, where `[defaults]` has it.
        match finding["type"]:
            case "extra_forbidden":
                yield problem_at(stack, path, _unknown_key(path))
            case "model_type" | "model_attributes_type" | "dict_type":
                yield problem_at(stack, path, "must be a table")
            case _:
                yield problem_at(stack, path, _sentence(finding["msg"]))


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


def _unknown_key(path: KeyPath) -> str:
    model = _model_at(path[:-1]) or ConfigurationTable
    key, names = path[-1], sorted(model.model_fields)
    below = {leaf[-1]: ".".join(leaf) for leaf in _leaves(model) if len(leaf) > 1}
    if key in OTHER_NAMES and OTHER_NAMES[key] in names:
        return f"unknown key; did you mean {OTHER_NAMES[key]}?"
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


def _key_path(location: tuple[int | str, ...]) -> KeyPath:
    """pydantic adds the member of a union that it tried (`str`, `CredentialTable`); the operator wrote no such key."""
    path = tuple(str(part) for part in location)
    if "env" in path:
        index = path.index("env")
        path = (*path[: index + 2], *(part for part in path[index + 2 :] if part == "file"))
    return path


def _sentence(message: str) -> str:
    if message == "Input is not a valid path":
        return "must be a text"
    expected = "Input should be "
    if not message.startswith(expected):
        return message
    told = f"must be {message.removeprefix(expected)}"
    return told.replace("a valid tuple", "a list").replace("a valid string", "a text")
