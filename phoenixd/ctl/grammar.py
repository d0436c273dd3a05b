"""phoenixctl's command line as argparse, derived from the table of operations."""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from phoenixd.api import exits
from phoenixd.api.operations import OPERATIONS, verbs
from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.core.nearest import did_you_mean, nearest
from phoenixd.ctl import pager, wire
from phoenixd.ctl.refusal import refuse
from phoenixd.ctl.spare_words import choose_agents

EXIT_CODES = "exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in exits.MEANINGS.items())
EPILOG_COLUMNS = 78
OF_EVERY_VERB = ("socket", "json", "color", "no_pager")
COLOURS = wire.COLOURS
SIGNED = re.compile(r"^#([0-9]+)$")
LONGEST_TEXT = 100
"""Characters of a text that a shown command repeats; of a longer one TEXT stands for it."""
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


HABITS = {
    "ps": "status", "ls": "status", "list": "status", "stat": "status", "kill": "stop", "halt": "stop",
    "rm": "remove", "delete": "remove", "del": "remove", "new": "add", "create": "add", "tail": "log", "say": "send",
    "tell": "send", "message": "send", "msg": "send", "reload": "apply", "check": "doctor", "open": "attach",
    "shell": "attach", "quit": "down", "exit": "down", "shutdown": "down",
}  # fmt: skip
"""Verbs as other tools call them, and what they are here."""


class Parser(argparse.ArgumentParser):
    """argparse whose complaints name the next thing to type, and whose help can be read from its first line. An option
    is written out: `down --agent` is a slip."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **keys})

    def print_help(self, file: Any = None) -> None:
        pager.show(self.format_help())

    def error(self, message: str) -> NoReturn:
        # What argparse adds is the list of all verbs, which is what --help is for.
        wrong = re.match(r"argument ([^:]+): invalid choice: '([^']*)' \(choose from (.*)\)", message, re.DOTALL)
        said = message
        if wrong is not None:
            known = [word.strip(" '") for word in wrong[3].split(",")]
            if wrong[1] in ("VERB", "WHAT"):
                habit = HABITS.get(wrong[2]) if wrong[1] == "VERB" else None
                close = f"; did you mean {habit}?" if habit in known else did_you_mean(wrong[2], known)
                said = f"there is no verb {wrong[2]!r}{close}"
            else:
                meant = did_you_mean(wrong[2], known)
                said = f"{wrong[1]} cannot be {wrong[2]!r}{meant or ';'} it is one of: {', '.join(known)}"
        raise SystemExit(refuse(exits.USAGE, f"{self.prog}: {said}", f"{self.prog} --help"))


def parse(arguments: Sequence[str]) -> Command:
    """Understand a command line; raises SystemExit for help (0) and for what makes no sense (2)."""
    words, rest = list(arguments), None
    if "--" in words and _takes_command(words):
        place = words.index("--")
        words, rest = words[:place], words[place + 1 :]
    grammar = parser(_verb(words))
    found, left = grammar.parse_known_args(words)
    namespace = vars(found)
    spoken: tuple[str, ...] = namespace.pop("words", ("status",))
    operations = verbs()[spoken]
    open_ended = next((one.name for one in _parameters(operations) if one.type == "words"), None)
    if left and (open_ended is None or any(word.startswith("-") for word in left)):
        raise SystemExit(_not_understood(spoken, operations, words, left, namespace))
    if open_ended is not None:
        # argparse takes no more words of a list after the first option that stands among them.
        namespace[open_ended] = [*(namespace.get(open_ended) or ()), *left]
    wire.show(colour=namespace.get("color"), pager=not namespace.get("no_pager"))
    given = {name: value for name, value in namespace.items() if value is not None and name not in OF_EVERY_VERB}
    if any(one.names == "items" for one in _parameters(operations)):
        _take_signs(given)
    if rest is not None:
        given["argv"] = rest
    return Command(
        spoken, _meant(operations, given), given, namespace.get("socket"), bool(namespace.get("json", False))
    )


def _take_signs(given: dict[str, Any]) -> None:
    """Numbers of items without the # with which they are shown."""
    if "id" in given:
        given["id"] = SIGNED.sub(r"\1", given["id"])
    if "which" in given:
        given["which"] = [SIGNED.sub(r"\1", word) for word in given["which"]]


def spelled(command: Command, *more: str, without: Sequence[str] = ()) -> str:
    """The command as a shell takes it, with all that was given and these words more. without: arguments left out."""
    left_out = {*without, *(word.removeprefix("--").replace("-", "_") for word in more if word.startswith("--"))}
    words, flags = [], []
    for parameter in _parameters((command.operation,)):
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


def _verb(words: Sequence[str]) -> str | None:
    """The first word of the verb, where nothing stands before it but options of every verb; None for whatever else."""
    rest = iter(words)
    for word in rest:
        if word in ("--socket", "--color"):
            next(rest, None)
        elif word.partition("=")[0] not in COMMON:
            return word if any(spoken[0] == word for spoken in verbs()) else None
    return None


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
        epilog=_wrapped(EXIT_CODES),
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
                group = branches.add_parser(words[0], help=_group_help(words[0]))
                groups[words[0]] = group.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
            leaf = groups[words[0]].add_parser(words[1], parents=[common], **_help(operations))
        leaf.set_defaults(words=words)
        for parameter in _parameters(operations):
            _add(leaf, parameter, required=all(parameter in one.parameters for one in operations))
    return root


def _not_understood(
    spoken: tuple[str, ...], operations: tuple[Operation, ...], words: list[str], left: list[str], found: dict[str, Any]
) -> int:
    """Why words that are left over cannot be taken: options that there are not, and a command without its --."""
    verb = f"phoenixctl {' '.join(spoken)}"
    option = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
    if option is not None:
        flags = [one.flag for one in _parameters(operations) if one.flag is not None]
        # Two dashes make any two options alike.
        known = [flag.removeprefix("--") for flag in (*flags, *COMMON, "--help")]
        close = nearest(option.lstrip("-"), known)
        why = f"{verb}: there is no option {option}{f'; did you mean --{close}?' if close else ''}"
        return refuse(exits.USAGE, why, f"{verb} --help")
    if any(one.type == "strings" for operation in operations for one in operation.parameters):
        before = " ".join(words[: words.index(left[0])])
        why = f"{verb}: {left[0]!r} stands where no argument can; the command to run goes last, after --"
        return refuse(exits.USAGE, why, f"phoenixctl {before} -- {' '.join(left)}")
    if spoken == ("send",) and choose_agents([found["text"], *left], found.get("socket")):
        typed = [found["name"], found["text"], *left]
        options = list(words)
        for word in typed:
            options.remove(word)
        why = f"{verb}: {len(typed) - 1} words choose agents; before the text stands one word, which may hold several"
        again = [*options, " ".join(typed[:-1]), typed[-1]]
        return refuse(exits.USAGE, why, f"phoenixctl {' '.join(map(shlex.quote, again))}")
    if any(one.name == "text" for one in _parameters(operations)):
        at = words.index(left[0])
        again = [*words[: at - 1], " ".join([words[at - 1], *left])]
        why = f"{verb}: {left[0]!r} is one word too many; a text of several words is quoted"
        return refuse(exits.USAGE, why, f"phoenixctl {' '.join(map(shlex.quote, again))}")
    return refuse(exits.USAGE, f"{verb}: unrecognized arguments: {' '.join(left)}", f"{verb} --help")


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


def _parameters(operations: tuple[Operation, ...]) -> list[Parameter]:
    found = {parameter.name: parameter for operation in operations for parameter in operation.parameters}
    return [parameter for parameter in found.values() if not parameter.hidden and parameter.type != "strings"]


def _add(leaf: argparse.ArgumentParser, parameter: Parameter, *, required: bool) -> None:
    keys: dict[str, Any] = {"help": parameter.help.replace("%", "%%"), "default": None}
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
