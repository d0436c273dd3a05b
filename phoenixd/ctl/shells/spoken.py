"""What can be typed after `phoenixctl`, as a shell needs to know it: verbs, their options, and what values name."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.api.operations import verbs
from phoenixd.api.operations.operation import Named, Operation, Parameter
from phoenixd.clis import NAMES as CLIS
from phoenixd.core.selection import CLOSED
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.grammar import COLOURS, COMMON

NAMES = "phoenixctl status --json 2>/dev/null | tr '{' '\\n' | sed -n 's/^\"name\": \"\\([a-z0-9_-]*\\)\".*/\\1/p'"
NUMBERS = "phoenixctl inbox --json 2>/dev/null | tr '{' '\\n' | sed -n 's/^\"id\": \\([0-9][0-9]*\\),.*/\\1/p'"
ANSWERED = (
    "phoenixctl inbox --json 2>/dev/null | tr '{' '\\n'"
    ' | sed -nE \'s/^"id": ([0-9]+),.*"kind": "(permission|question|plan|proposal)",.*/\\1/p\''
)
"""The numbers of what an answer is given to: a quarantine is ended by a command."""
TASKS = "phoenixctl task status --json 2>/dev/null | tr '{' '\\n' | sed -n 's/^\"id\": \"\\(t[0-9]*\\)\".*/\\1/p'"
CASES = "phoenixctl clinic list --json 2>/dev/null | tr '{' '\\n' | sed -n 's/^\"id\": \"\\(c[0-9]*\\)\".*/\\1/p'"
ASKED: dict[Named, str] = {"agents": NAMES, "items": NUMBERS, "answered": ANSWERED, "tasks": TASKS, "cases": CASES}
"""What a shell runs to learn what there is: each prints words of a-z, 0-9, _ and -, which need no quoting."""


SELECTORS = " ".join(
    [*(f"{key}:{value}" for key, values in CLOSED.items() for value in values), *(f"h:{name}" for name in CLIS)]
)
"""Words that choose agents, of the keys whose values are known beforehand."""
GROUPED = (
    "phoenixctl status --json 2>/dev/null | tr '{' '\\n' | sed -n"
    ' -e h -e \'s/.*"project": "\\([A-Za-z0-9._-]*\\)".*/p:\\1/p\''
    ' -e g -e \'s/.*"labels": \\[\\([A-Za-z0-9._", -]*\\)\\].*/\\1/p\''
    " | tr -s ', ' '\\n' | sed -n -e '/^p:/p' -e 's/^\"\\(.*\\)\"$/l:\\1/p' | sort -u"
)
"""What a shell runs to learn the words for the projects and the labels of its agents."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a shell offers for a value: the words of a closed set, or what is of a kind; else nothing.

    selects: agents may be chosen by more than their names; that is offered behind a colon alone, so as to hide no name.
    """

    words: tuple[str, ...] = ()
    kind: Named | None = None
    selects: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option. value: None where it takes none."""

    flag: str
    help: str
    short: str | None = None
    value: Value | None = None
    repeats: bool = False
    metavar: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.flag, self.short) if self.short is not None else (self.flag,)


@dataclass(frozen=True, slots=True)
class Place:
    """A word without an option before it. repeats: any number of such words may follow."""

    name: str
    help: str
    value: Value
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of one word or of two. runs: a command goes last, after --."""

    words: tuple[str, ...]
    summary: str
    options: tuple[Option, ...]
    places: tuple[Place, ...]
    runs: bool = False

    @property
    def name(self) -> str:
        return " ".join(self.words)


COMMON_OPTIONS = (
    Option("--json", COMMON["--json"]),
    Option("--socket", COMMON["--socket"], value=Value(kind="files"), metavar="PATH"),
    Option("--color", COMMON["--color"], value=Value(COLOURS)),
    Option("--no-pager", COMMON["--no-pager"]),
    Option("--help", "what the verb does and takes", "-h"),
)


def spoken() -> tuple[Verb, ...]:
    """Every verb, in the order of the table."""
    return tuple(_verb(words, operations) for words, operations in verbs().items())


def groups() -> dict[str, tuple[Verb, ...]]:
    """The verbs by their first words; a verb of one word is alone in its group."""
    found: dict[str, tuple[Verb, ...]] = {}
    for verb in spoken():
        found[verb.words[0]] = (*found.get(verb.words[0], ()), verb)
    return found


def summary(members: tuple[Verb, ...]) -> str:
    """A group in a line: what its verb does, or which verbs it has."""
    return members[0].summary if len(members[0].words) == 1 else ", ".join(verb.words[1] for verb in members)


def _verb(words: tuple[str, ...], operations: tuple[Operation, ...]) -> Verb:
    taken = {one.name: one for operation in operations for one in operation.parameters if not one.hidden}
    plain = [one for one in taken.values() if one.type != "strings"]
    options = tuple(_option(one) for one in plain if one.flag is not None)
    own = COMMON_OPTIONS if words[0] not in PASSED_ON else COMMON_OPTIONS[-1:]
    # What is a path parameter comes first on the command line, as in the grammar.
    selects = any(one.names == "agents" and one.type == "words" for one in plain)
    places = tuple(
        Place(one.name, one.help, _value(one, selects=selects), repeats=one.type == "words")
        for one in plain
        if one.flag is None
    )
    return Verb(words, operations[0].summary, (*options, *own), places, len(plain) < len(taken))


def _option(parameter: Parameter) -> Option:
    value = None if parameter.type == "boolean" else _value(parameter)
    return Option(
        parameter.flag or "", parameter.told, parameter.short, value, parameter.type == "pairs", parameter.metavar
    )


def _value(parameter: Parameter, *, selects: bool = False) -> Value:
    return Value(parameter.choices, parameter.names, selects and parameter.names == "agents")
