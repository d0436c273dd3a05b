"""What is wrong with a command line that cannot be understood, and what to type in its place."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from phoenixd.api.operations import verbs
from phoenixd.api.operations.operation import Operation, parameters
from phoenixd.core.durations import is_duration
from phoenixd.core.nearest import VERB, did_you_mean, nearest
from phoenixd.ctl.spare_words import choose_agents
from phoenixd.ctl.typed_times import in_one_word

HABITS = {
    "ps": "status", "ls": "status", "list": "status", "stat": "status", "kill": "stop", "halt": "stop",
    "rm": "remove", "delete": "remove", "del": "remove", "new": "add", "create": "add", "tail": "log", "say": "send",
    "tell": "send", "message": "send", "msg": "send", "reload": "apply", "check": "doctor", "open": "attach",
    "shell": "attach", "agents": "status", "alerts": "inbox", "quit": "down", "exit": "down", "shutdown": "down",
}  # fmt: skip
"""Verbs as other tools call them, and what they are here."""
ELSEWHERE = frozenset({"daemon", "init", "kill-server"})
"""Verbs of other tools that mean nothing here, however like one of ours they look."""
OPTIONS = {"v": "version", "V": "version"}
"""Options as other tools call them, where no verb is typed."""
LISTED = {
    "agents": "phoenixctl status --all", "items": "phoenixctl inbox", "answered": "phoenixctl inbox",
    "tasks": "phoenixctl task status", "cases": "phoenixctl clinic list",
}  # fmt: skip
"""By what is named the command that lists it."""
ALL_AGENTS = "*"
A_NUMBER = "20"
"""What a remedy has where a number is meant."""
OF_THE_DAEMON = {"up": ("starts", "start"), "down": ("ends", "stop")}
"""Verbs that are about phoenixd itself: what they do with it, and the verb for an agent."""
CHOICE = re.compile(r"argument ([^:]+): invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)
NUMBER = re.compile(r"argument ([^:]+): invalid int value: '(.*)'", re.DOTALL)
NO_VALUE = re.compile(r"argument ([^:]+): expected one argument")
A_VALUE = re.compile(r"argument ([^:]+): ignored explicit argument '(.*)'", re.DOTALL)
LACKS = re.compile(r"the following arguments are required: (.+)")
"""How argparse complains, in every Python from 3.11 on."""


class Slip(Exception):
    """A command line that cannot be understood: why, and what to type."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


class Complaint(Exception):
    """What argparse says of a command line. prog: of the verb that it was at."""

    def __init__(self, prog: str, message: str) -> None:
        super().__init__(message)
        self.prog = prog
        self.message = message


def in_words(complaint: Complaint, words: Sequence[str], understands: Callable[[Sequence[str]], bool]) -> Slip:
    """A complaint of argparse as a person reads it. words: all that was typed; understands: whether a line makes
    sense."""
    prog, message = complaint.prog, complaint.message
    remedy = f"{prog} --help"
    if found := CHOICE.fullmatch(message):
        known = [word.strip(" '") for word in found[3].split(",")]
        if found[1] in ("VERB", "WHAT"):
            return _no_verb(prog, found[2], known, words, understands, is_first=found[1] == "VERB")
        meant = did_you_mean(found[2], known)
        return Slip(f"{prog}: {found[1]} cannot be {found[2]!r}{meant or ';'} it is one of: {', '.join(known)}", remedy)
    if found := NUMBER.fullmatch(message):
        again = _command(A_NUMBER if word == found[2] else word for word in words)
        why = f"{prog}: {_flag(found[1])} is a number, and cannot be {found[2]!r}"
        return Slip(why, again if found[2] in words else remedy)
    if found := NO_VALUE.fullmatch(message):
        return Slip(f"{prog}: {_flag(found[1])} stands without its value", remedy)
    if found := A_VALUE.fullmatch(message):
        with_value = f"{_flag(found[1])}={found[2]}"
        again = _command(_flag(found[1]) if word == with_value else word for word in words)
        why = f"{prog}: {_flag(found[1])} takes no value, and {found[2]!r} is one"
        return Slip(why, again if with_value in words else remedy)
    if found := LACKS.fullmatch(message):
        if found[1] == "WHAT":
            members = dict.fromkeys(spoken[1] for spoken in verbs() if f"phoenixctl {spoken[0]}" == prog)
            return Slip(f"{prog}: the word after it is missing; it is one of: {', '.join(members)}", remedy)
        if "--all" in words and _chooses(verbs().get(tuple(prog.split()[1:]), ())):
            return _all_agents(prog, words)
        return _missing(prog, found[1].split(", "), remedy)
    return Slip(f"{prog}: {message}", remedy)


def _missing(prog: str, lacking: Sequence[str], remedy: str) -> Slip:
    """What a line lacks, and what that is."""
    operations = verbs().get(tuple(prog.split()[1:]), ())
    known = {one.flag or one.name.upper(): one for one in parameters(operations)}
    if len(lacking) > 1 or (one := known.get(_flag(lacking[0]))) is None:
        return Slip(f"{prog}: {', '.join(lacking)} {'are' if len(lacking) > 1 else 'is'} missing", remedy)
    values = f": {', '.join(one.choices)}" if one.choices and one.flag is not None else ""
    return Slip(f"{prog}: {lacking[0]} is missing: {one.told}{values}", remedy)


def _no_verb(
    prog: str,
    typed: str,
    known: Sequence[str],
    words: Sequence[str],
    understands: Callable[[Sequence[str]], bool],
    *,
    is_first: bool,
) -> Slip:
    """A verb that there is not; the remedy is the same line with the verb that was meant, where that makes sense."""
    after = words[list(words).index(typed) + 1 :]
    if is_first and typed not in HABITS and after and after[0] in known:
        swapped = [*words[: len(words) - len(after) - 1], after[0], typed, *after[1:]]
        if understands(swapped):
            return Slip(f"{prog}: there is no verb {typed!r}; the verb stands first", _command(swapped))
    habit = HABITS.get(typed) if is_first else None
    close = None if typed in ELSEWHERE else nearest(typed, known, VERB)
    meant = habit if habit in known else close
    if meant is None:
        return Slip(f"{prog}: there is no verb {typed!r}", "phoenixctl help" if is_first else f"{prog} --help")
    at = list(words).index(typed)
    again = [*words[:at], meant, *words[at + 1 :]]
    # What acts is not to be typed on a guess.
    is_safe = meant == habit or _only_looks(verbs().get((*prog.split()[1:], meant), ()))
    remedy = _command(again) if is_safe and understands(again) else f"{prog} {meant} --help"
    return Slip(f"{prog}: there is no verb {typed!r}; did you mean {meant}?", remedy)


def left_over(
    spoken: tuple[str, ...] | None,
    operations: tuple[Operation, ...],
    words: Sequence[str],
    left: Sequence[str],
    found: dict[str, Any],
    common: Sequence[str],
) -> Slip:
    """Why words that are left over cannot be taken. spoken: the verb, None where none was typed; common: the options
    of every verb."""
    verb = f"phoenixctl {' '.join(spoken)}" if spoken is not None else "phoenixctl"
    option = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
    if option is not None:
        return _no_option(verb, operations, words, option, common, is_verb_typed=spoken is not None)
    if any(one.type == "strings" for operation in operations for one in operation.parameters):
        before = " ".join(words[: words.index(left[0])])
        why = f"{verb}: {left[0]!r} stands where no argument can; the command to run goes last, after --"
        # Of `run sleep 5` the name may have been left out, and the first word be the command.
        is_command = bool(found.get("name")) and shutil.which(found["name"]) and not shutil.which(left[0])
        argv = [found["name"], *left] if is_command else left
        return Slip(why, f"phoenixctl {before} -- {' '.join(argv)}")
    if spoken == ("send",) and choose_agents([found["text"], *left], found.get("socket")):
        typed = [found["name"], found["text"], *left]
        options = list(words)
        for word in typed:
            options.remove(word)
        why = f"{verb}: {len(typed) - 1} words choose agents; before the text stands one word, which may hold several"
        return Slip(why, _command([*options, " ".join(typed[:-1]), typed[-1]]))
    if any(one.name in ("text", "prompt") and one.flag is None for one in parameters(operations)):
        at = words.index(left[0])
        why = f"{verb}: {left[0]!r} is one word too many; a text of several words is quoted"
        return Slip(why, _command([*words[: at - 1], " ".join([words[at - 1], *left])]))
    return _too_many(verb, spoken or (), operations, words, left, found.get("socket"))


def value_of_wait(spoken: tuple[str, ...], operations: tuple[Operation, ...], words: Sequence[str]) -> Slip | None:
    """A length after --wait, which would be taken for an agent; None where there is none."""
    flags = {one.flag for one in parameters(operations)}
    if "--wait" not in words or not {"--wait", "--timeout"} <= flags:
        return None
    typed = in_one_word(words) or list(words)
    after = typed.index("--wait") + 1
    if after >= len(typed) or not (typed[after][:1].isdigit() and is_duration(typed[after])):
        return None
    why = f"phoenixctl {' '.join(spoken)}: --wait takes no value; how long is said by --timeout"
    return Slip(why, _command([*typed[:after], "--timeout", *typed[after:]]))


def empty_word(spoken: tuple[str, ...] | None, operations: tuple[Operation, ...], found: dict[str, Any]) -> Slip | None:
    """An empty word where something is to be named, such as a script's variable without a value; None where there is
    none. The verb would take it for a missing word, and mean all, or this directory."""
    verb = f"phoenixctl {' '.join(spoken or ('status',))}"
    if found.get("socket") == "":
        return Slip(f"{verb}: --socket is empty", f"{verb} --help")
    for one in parameters(operations):
        value = found.get(one.name)
        words = value if isinstance(value, list) else [value]
        if not any(isinstance(word, str) and not word.strip() for word in words):
            continue
        if one.names in ("files", "directories"):
            return Slip(f"{verb}: {one.flag or one.name.upper()} is empty", f"{verb} --help")
        if one.names not in LISTED:
            continue
        what = "an agent" if one.names == "agents" else "a number or a name"
        is_many = any(other.name == "which" for other in parameters(operations))
        all_of_them = "; all of them are '*'" if one.names == "agents" and is_many else ""
        return Slip(f"{verb}: an empty word stands where {what} is named{all_of_them}", LISTED[one.names])
    return None


def _no_option(
    verb: str,
    operations: tuple[Operation, ...],
    words: Sequence[str],
    option: str,
    common: Sequence[str],
    *,
    is_verb_typed: bool,
) -> Slip:
    if not is_verb_typed:
        meant = OPTIONS.get(option.lstrip("-")) or nearest(option.lstrip("-"), ["version"])
        if meant is not None:
            return Slip(f"{verb}: there is no option {option}; did you mean --{meant}?", f"phoenixctl --{meant}")
    if option[1:2].isdigit() and is_verb_typed:
        why = f"{verb}: there is no option {option}; a length of time is written without a sign"
        return Slip(why, _command(word.lstrip("-") if word == option else word for word in words))
    flags = [one.flag for one in parameters(operations) if one.flag is not None]
    if option == "--all" and _chooses(operations):
        return _all_agents(verb, words)
    if option == "--tail" and "--lines" in flags:
        return Slip(f"{verb}: there is no option --tail; did you mean --lines?", f"{verb} --help")
    # Two dashes make any two options alike.
    known = [flag.removeprefix("--") for flag in (*flags, *common, "--help")]
    close = nearest(option.lstrip("-"), known)
    return Slip(f"{verb}: there is no option {option}{f'; did you mean --{close}?' if close else ''}", f"{verb} --help")


def _too_many(
    verb: str,
    spoken: tuple[str, ...],
    operations: tuple[Operation, ...],
    words: Sequence[str],
    left: Sequence[str],
    socket: str | None,
) -> Slip:
    """Words beyond those that a verb takes."""
    if (joined := in_one_word(words)) is not None:
        return Slip(f"{verb}: a length of time is one word, such as 3d", _command(joined))
    surplus, kept = left[0], list(words)
    for word in left:
        kept.remove(word)
    if any(one.flag == "--config" for one in parameters(operations)) and (os.sep in surplus or os.path.exists(surplus)):
        why = f"{verb}: {surplus!r} stands where no argument can; the configuration is named by --config"
        return Slip(why, _command([*kept, "--config", surplus]))
    if spoken[0] in OF_THE_DAEMON:
        does, of_agents = OF_THE_DAEMON[spoken[0]]
        why = f"{verb}: {surplus!r} is one word too many; it {does} phoenixd itself, and no agent is named"
        if spoken[0] == "down" and not choose_agents([surplus, ""], socket):
            return Slip(why, f"{verb} --help")
        first = "phoenixctl up && " if spoken[0] == "up" else ""
        return Slip(why, f"{first}phoenixctl {of_agents} {shlex.quote(surplus)}")
    takes = [one.name.upper() for one in parameters(operations) if one.flag is None]
    why = (
        f"{verb}: {surplus!r} is one word too many; it takes {' '.join(takes) or 'no name'}{' alone' if takes else ''}"
    )
    # A verb that acts on the whole does more than what was meant, where the word that narrows it is left out.
    is_safe = _only_looks(operations) and not any(one.flag == "--project" for one in parameters(operations))
    return Slip(why, _command(kept) if takes or is_safe else f"{verb} --help")


def _only_looks(operations: tuple[Operation, ...]) -> bool:
    """Whether a verb only asks the daemon; one that is phoenixctl's own may do more."""
    return bool(operations) and all(one.method == "GET" and one.path is not None for one in operations)


def _chooses(operations: tuple[Operation, ...]) -> bool:
    """Whether a verb takes selectors."""
    return any(one.name == "which" and one.names == "agents" for one in parameters(operations))


def _all_agents(verb: str, words: Sequence[str]) -> Slip:
    again = _command(ALL_AGENTS if word == "--all" else word for word in words)
    return Slip(f"{verb}: there is no option --all; all agents are chosen by a quoted '*'", again)


def _flag(name: str) -> str:
    """One spelling of an argument that argparse names by all of them."""
    return name.partition("/")[0]


def _command(words: Any) -> str:
    return " ".join(("phoenixctl", *map(shlex.quote, words)))
