"""phoenixctl's command line as argparse, derived from the table of operations."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from phoenixd import __version__
from phoenixd.api import exits
from phoenixd.api.operations import GROUPS, OPERATIONS, verbs
from phoenixd.api.operations.operation import Operation, Parameter, parameters
from phoenixd.ctl import pager, wire
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.slips import Complaint, Slip, empty_word, in_words, left_over, value_of_wait

EXIT_CODES = "exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in exits.MEANINGS.items())
BEGIN = """\
to begin with:
  phoenixctl demo                see agents die and come back, in a place apart
  phoenixctl run NAME -- claude  start the daemon and an agent, and attach
  phoenixctl status              what needs you, and what to type about it
  phoenixctl help VERB           what a verb takes; help select: whom it means"""
EPILOG_COLUMNS = 78
OF_EVERY_VERB = ("socket", "json", "color", "no_pager")
COLOURS = wire.COLOURS
SIGNED = re.compile(r"^#([0-9]+)$")
NEGATIVE = re.compile(r"-[0-9.]+[a-z]")
COMMON = {
    "--socket": "the daemon's socket",
    "--json": "print JSON, whose keys are stable",
    "--color": "colour signs and names: auto (on a terminal), always or never",
    "--no-pager": "print what is longer than the terminal straight away",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What was typed: which verb, with which arguments (only those that were given), and how to answer."""

    words: tuple[str, ...]
    operation: Operation
    given: dict[str, Any] = field(default_factory=dict)
    socket: str | None = None
    as_json: bool = False


class Parser(argparse.ArgumentParser):
    """argparse whose complaints name the next thing to type, and whose help can be read from its first line. An option
    is written out: `down --agent` is a slip."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **keys})
        self.takes_command = False

    def format_help(self) -> str:
        """The usage names the command too, which is cut off before argparse reads the line."""
        usage, blank, rest = super().format_help().partition("\n\n")
        return f"{usage}{' -- ARGV...' if self.takes_command else ''}{blank}{rest}"

    def print_help(self, file: Any = None) -> None:
        pager.show(self.format_help())

    def error(self, message: str) -> NoReturn:
        raise Complaint(self.prog, message)


def parse(arguments: Sequence[str]) -> Command:
    """Understand a command line; raises SystemExit for help (0) and for what makes no sense (2)."""
    try:
        namespace = _read(arguments)
    except Slip as slip:
        raise SystemExit(refuse(exits.USAGE, slip.why, slip.remedy)) from None
    spoken = namespace.pop("words", ("status",))
    operations = verbs()[spoken]
    wire.show(colour=namespace.get("color"), pager=not namespace.get("no_pager"), socket=namespace.get("socket"))
    given = {name: value for name, value in namespace.items() if value is not None and name not in OF_EVERY_VERB}
    if any(one.names in ("items", "answered") for one in parameters(operations)):
        _take_signs(given)
    return Command(
        spoken, _meant(operations, given), given, namespace.get("socket"), bool(namespace.get("json", False))
    )


def _read(arguments: Sequence[str]) -> dict[str, Any]:
    """The values of a command line by name, and under `words` its verb where one was typed; raises Slip."""
    words, rest = list(arguments), None
    if "--" in words and _takes_command(words):
        place = words.index("--")
        words, rest = words[:place], words[place + 1 :]
    try:
        found, left = parser(_verb(words)).parse_known_args(_with_signs(words))
    except Complaint as complaint:
        raise in_words(complaint, arguments, _makes_sense) from None
    namespace = vars(found)
    operations = verbs()[namespace.get("words", ("status",))]
    if (slip := value_of_wait(namespace.get("words", ("status",)), operations, words)) is not None:
        raise slip
    open_ended = next((one.name for one in parameters(operations) if one.type == "words"), None)
    if left and (open_ended is None or any(word.startswith("-") for word in left)):
        raise left_over(namespace.get("words"), operations, words, left, namespace, tuple(COMMON))
    if open_ended is not None:
        # argparse takes no more words of a list after the first option that stands among them.
        namespace[open_ended] = [*(namespace.get(open_ended) or ()), *left]
    if (slip := empty_word(namespace.get("words"), operations, namespace)) is not None:
        raise slip
    if rest is not None:
        namespace["argv"] = rest
    return namespace


def _makes_sense(words: Sequence[str]) -> bool:
    """Whether a command line can be understood, and lacks no command to run."""
    if "-h" in words or "--help" in words:
        return False
    try:
        namespace = _read(words)
    except Slip:
        return False
    takes = any(one.type == "strings" for of_verb in verbs()[namespace["words"]] for one in of_verb.parameters)
    return bool(namespace.get("argv")) or not takes


def _with_signs(words: Sequence[str]) -> list[str]:
    """The words with a value such as -1h bound to its option: argparse takes it for an option of its own."""
    told: list[str] = []
    for word in words:
        if NEGATIVE.match(word) and told and told[-1].startswith("--") and "=" not in told[-1]:
            told[-1] = f"{told[-1]}={word}"
        else:
            told.append(word)
    return told


def _take_signs(given: dict[str, Any]) -> None:
    """Numbers of items without the # with which they are shown."""
    if "id" in given:
        given["id"] = SIGNED.sub(r"\1", given["id"])
    if "which" in given:
        given["which"] = [SIGNED.sub(r"\1", word) for word in given["which"]]


def _verb(words: Sequence[str]) -> str | None:
    """The first word of the verb, where nothing stands before it but options of every verb; None for whatever else."""
    rest = iter(words)
    for word in rest:
        if word in ("--socket", "--color"):
            next(rest, None)
        elif word.partition("=")[0] not in COMMON:
            return word if any(spoken[0] == word for spoken in verbs()) else None
    return None


def without_common(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without the options of every verb, and the names of these, each once."""
    left, found, rest = [], [], iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in COMMON:
            left.append(word)
            continue
        found.append(name)
        if name in ("--socket", "--color") and not equals:
            next(rest, None)
    return left, list(dict.fromkeys(found))


def parser(only: str | None = None) -> Parser:
    """The whole grammar; only: of the verbs that begin with this word alone, which is most of what a verb costs."""
    common = Parser(add_help=False)
    common.add_argument("--socket", metavar="PATH", default=argparse.SUPPRESS, help=COMMON["--socket"])
    common.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=COMMON["--json"])
    common.add_argument("--color", choices=COLOURS, default=argparse.SUPPRESS, help=COMMON["--color"])
    common.add_argument("--no-pager", action="store_true", default=argparse.SUPPRESS, help=COMMON["--no-pager"])
    root = Parser(
        prog="phoenixctl",
        description="See and steer the agents that phoenixd keeps at work.",
        epilog=f"{BEGIN}\n\n{_wrapped(EXIT_CODES)}",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument(
        "--version", action="version", version=f"phoenixctl {__version__}", help="the version of this one"
    )
    branches = root.add_subparsers(metavar="VERB", title="verbs", parser_class=Parser)
    groups: dict[str, Any] = {}
    for words, operations in verbs().items():
        if only not in (None, words[0]):
            continue
        if len(words) == 1:
            leaf = branches.add_parser(words[0], parents=[common], **_help(operations))
        else:
            if words[0] not in groups:
                told = f"{GROUPS[words[0]]}: {_group_help(words[0])}"
                group = branches.add_parser(words[0], help=told, description=GROUPS[words[0]])
                groups[words[0]] = group.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
            leaf = groups[words[0]].add_parser(words[1], parents=[common], **_help(operations))
        leaf.set_defaults(words=words)
        leaf.takes_command = any(one.type == "strings" for of_verb in operations for one in of_verb.parameters)
        for parameter in parameters(operations):
            _add(leaf, parameter, required=all(parameter in one.parameters for one in operations))
    return root


def _takes_command(words: Sequence[str]) -> bool:
    """Whether what follows -- is a command to run; for other verbs -- only ends the options."""
    first_words = {operation.words[0] for operation in OPERATIONS if operation.words}
    verb = next((word for word in words if word in first_words), None)
    return any(
        parameter.type == "strings"
        for operation in OPERATIONS
        if operation.words[:1] == (verb,)
        for parameter in operation.parameters
    )


def _meant(operations: tuple[Operation, ...], given: dict[str, Any]) -> Operation:
    """Of the operations behind a verb, the one whose path the arguments fill."""
    fitting = [one for one in operations if all(parameter.name in given for parameter in one.at("path"))]
    return max(fitting, key=lambda one: len(one.at("path"))) if fitting else operations[0]


def _add(leaf: argparse.ArgumentParser, parameter: Parameter, *, required: bool) -> None:
    keys: dict[str, Any] = {"help": parameter.told.replace("%", "%%"), "default": None}
    if parameter.choices:
        keys["choices"] = parameter.choices
    if parameter.type == "boolean":
        keys["action"] = "store_true"
    elif parameter.type == "integer":
        keys["type"] = int
    elif parameter.type == "pairs":
        keys["action"] = "append"
    elif parameter.type == "words":
        keys["nargs"] = "*"
    if parameter.flag is None:
        if parameter.type != "words" and not (parameter.required and required):
            keys["nargs"] = "?"
        leaf.add_argument(parameter.name, metavar=parameter.name.upper(), **keys)
        return
    if parameter.type != "boolean" and not parameter.choices:
        keys["metavar"] = parameter.metavar
    spellings = [parameter.flag, *([parameter.short] if parameter.short else [])]
    leaf.add_argument(*spellings, dest=parameter.name, required=parameter.required, **keys)


def _help(operations: tuple[Operation, ...]) -> dict[str, Any]:
    summary = operations[0].summary
    exits = dict(pair for operation in operations for pair in operation.exits)
    told = "; ".join(f"{code}: {meaning}" for code, meaning in sorted(exits.items()))
    takes_command = any(parameter.type == "strings" for one in operations for parameter in one.parameters)
    example = "the command to run goes last, after --\n" if takes_command else ""
    if any(parameter.name == "kind" for one in operations for parameter in one.parameters):
        example += "what ends when its work is done is a job: --kind ephemeral -- make deploy\n"
    return {
        "help": summary,
        "description": summary,
        "epilog": example + _wrapped(f"exit codes here: {told}" if told else EXIT_CODES),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _wrapped(text: str) -> str:
    return textwrap.fill(text, EPILOG_COLUMNS, subsequent_indent="  ")


def _group_help(word: str) -> str:
    members = (operation.words[1] for operation in OPERATIONS if operation.words[:1] == (word,))
    return ", ".join(dict.fromkeys(members))
