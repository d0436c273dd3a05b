"""What an operation and its arguments are. Standard library only, because phoenixctl reads the table too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Place = Literal["path", "query", "body", "local"]
Type = Literal["string", "integer", "boolean", "duration", "strings", "words", "pairs"]
Rights = Literal["agent", "own", "seat", "read", "operate", "admin"]
Method = Literal["GET", "POST", "DELETE"]
Value = str | int | bool | None
Named = Literal["agents", "items", "answered", "tasks", "cases", "verbs", "files", "directories"]

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}$"
NAME_SHAPE = "1 to 32 of a-z, 0-9, - and _, and begins with neither sign"
PROJECT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
PLAN_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
PROJECT_SHAPE = PLAN_SHAPE = "1 to 64 of A-Z, a-z, 0-9, ., - and _, and begins with a letter or digit"
KIBIBYTE = 1024
BODY_LIMIT = 64 * KIBIBYTE
SEND_LIMIT = 2 * KIBIBYTE * KIBIBYTE


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operation. `flag` is how phoenixctl spells it; without one it is positional.

    Type `strings` is a list; on the command line it is what follows `--`. `words` is one too, of what follows the
    other arguments. `pairs` is a table, given as repeated K=V.
    A hidden parameter is set by the client itself and has no spelling. minimum, maximum: of a number; maximum of a
    list is how many texts it may hold, where that differs from what lists may hold in general.
    names: what its value is the name of, which a shell can complete; fixed values are `choices`. shape: `pattern` in
    words, for people: "a value is ...". listed: the command that lists the values.
    """

    name: str
    place: Place
    type: Type
    help: str
    flag: str | None = None
    short: str | None = None
    required: bool = False
    default: Value = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    hidden: bool = False
    names: Named | None = None
    shape: str = ""
    listed: str = ""

    @property
    def metavar(self) -> str:
        """What stands for its value where the command line is explained."""
        return {"integer": "N", "duration": "TIME", "pairs": "K=V"}.get(self.type, self.name.upper())

    @property
    def told(self) -> str:
        """What it is, for who types it: with its default, and with the words that a place takes."""
        words = f": {', '.join(self.choices)}" if self.choices and self.flag is None else ""
        has_one = self.default is not None and self.default != "" and self.type != "boolean"
        return f"{self.help}{words}{f'; default: {self.default}' if has_one and 'default' not in self.help else ''}"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked. `rights` is the least that a caller needs.

    agent: an agent about itself, or a caller that may read. own: an agent about itself, or a caller that may operate.
    seat: an orchestrator about its own project, or a caller that may operate.

    idempotent: asking again changes nothing more, also without an Idempotency-Key.
    stream: also served as server-sent events. response: name of a schema in `schemas`, None for none.
    lasts: its answer may take minutes (where it has `wait`, with it). What brings something to rest is never put off
    for want of a place, and so does not count as such.
    exits: what phoenixctl's exit codes mean here, beyond 0, 1, 2, 4, 5 and 7, which mean the same everywhere.
    """

    name: str
    words: tuple[str, ...]
    summary: str
    parameters: tuple[Parameter, ...] = ()
    method: Method = "GET"
    path: str | None = None
    rights: Rights = "read"
    response: str | None = None
    idempotent: bool = True
    stream: bool = False
    lasts: bool = False
    text: bool = True
    exits: tuple[tuple[int, str], ...] = ()
    body_limit: int = BODY_LIMIT

    def at(self, place: Place) -> tuple[Parameter, ...]:
        """The parameters that travel in this place."""
        return tuple(parameter for parameter in self.parameters if parameter.place == place)


def parameters(operations: Iterable[Operation]) -> list[Parameter]:
    """What is typed for a verb, but for the command after --: the arguments of the operations behind it, each once."""
    found = {parameter.name: parameter for operation in operations for parameter in operation.parameters}
    return [parameter for parameter in found.values() if not parameter.hidden and parameter.type != "strings"]
