"""`add` and `run`: an agent from a command line, as the person who types it means it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import termios
from typing import Any, TextIO

from phoenixd.api import exits
from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.api.pages.layout import wrap
from phoenixd.clis import NAMES
from phoenixd.ctl import absence, attach, calls, daemon_start, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching, refuse
from phoenixd.runs import ASK
from phoenixd.terrain import TERRAIN

HARNESSES = frozenset(NAMES) - {"command"}

QUESTION = (
    "What a session leaves open is found without a model. {cli} itself can look through its words as well: once in a "
    "while, without tools, with its smallest model and your login. It costs tokens: "
    "see, once {name} is declared, phoenixctl brief show {name}."
)


def add(command: Command) -> int:
    """Declare an agent; paths are those of this shell."""
    given = declaration(command.given)
    if given is None or (given := with_writer(command, given)) is None:
        return exits.USAGE
    return calls.told(command, calls.ask(command, command.operation, given))


def run(command: Command) -> int:
    """A daemon, an agent, its start, and a seat at its terminal."""
    given = dict(command.given)
    detached = given.pop("detached", False) or not at_a_terminal()
    if not given.get("argv"):
        return refuse(exits.USAGE, "say what to run", _with_command(str(given.get("name", ""))))
    name = given.setdefault("name", _name_from(given["argv"][0]))
    if not re.fullmatch(NAME_PATTERN, name):
        why = f"{name[:40]!r} can be no agent's name: a-z, 0-9, _ and -, at most 32"
        return refuse(exits.USAGE, why, "phoenixctl run NAME -- COMMAND")
    declared = declaration(given)
    if declared is None or (declared := with_writer(command, declared)) is None:
        return exits.USAGE
    if (forbidden := daemon_start.of_this_run(command)) is not None:
        return refuse(exits.CONFLICT, forbidden, ASK)
    answer = calls.ask(command, calls.operation("health"), {}, as_json=True)
    if answer is None and (code := daemon_start.start(command)) != 0:
        return code
    hindrance = attach.hindrance(command, name) if not detached else None
    if not detached:
        told = (
            "waiting for its first sign of life" if hindrance else "its terminal opens here at its first sign of life"
        )
        print(f"{name}: {told}", file=sys.stderr)
    for operation, arguments in (
        (calls.operation("add_agent"), declared),
        (calls.operation("start_agent"), {"name": name, "wait": not detached, **({} if detached else _size())}),
    ):
        is_added = operation.name == "add_agent"
        answer = calls.ask(command, operation, arguments, as_json=is_added or None)
        if answer is not None and answer.exit == exits.USAGE and "columns" in arguments:
            # A daemon of before an upgrade starts it all the same, at its own size.
            answer = calls.ask(command, operation, {"name": name, "wait": True})
        if answer is None:
            return absence.explain(calls.places(command))
        if is_added and answer.exit == 0:
            # The next person at its terminal has to know what the dialog there is about.
            for warning in json.loads(answer.body)["warnings"]:
                print(f"warning: {warning}", file=sys.stderr)
        if answer.exit != 0:
            code = calls.tell(command, answer)
            if code == exits.CONFLICT and operation.name == "add_agent":
                told = f"or go on with the one that is there: phoenixctl start {name}; phoenixctl attach {name}"
                print(reaching(told), file=sys.stderr)
            return code
    if detached:
        return calls.tell(command, answer) if answer is not None else 0
    forget_typed(sys.stdin)
    if hindrance is not None:
        code = calls.tell(command, answer) if answer is not None else exits.OK
        print(reaching(f"its terminal does not open here: {hindrance[0]}. {hindrance[1]}"), file=sys.stderr)
        return code
    return attach.sit_down(command, name)


def forget_typed(terminal: TextIO) -> None:
    """Drop what was typed while an agent started: it was meant for this shell, and would answer a dialog there."""
    with contextlib.suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)


def declaration(given: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of a declaration: argv[0] found on this shell's PATH, the directory whole, the harness guessed."""
    argv, harness = list(given.get("argv", [])), given.get("harness")
    if not argv and harness not in HARNESSES:
        refuse(exits.USAGE, "say what it runs", f"phoenixctl add {given.get('name', 'NAME')} -- claude")
        return None
    if argv and not argv[0].strip():
        refuse(exits.USAGE, "an empty word is no command", f"phoenixctl add {given.get('name', 'NAME')} -- claude")
        return None
    if argv and os.sep in argv[0] and os.path.isdir(os.path.expanduser(argv[0])):
        why = f"{argv[0]} is a directory, and no command; where an agent works is said by --cwd"
        refuse(exits.USAGE, why, f"phoenixctl add {given.get('name', 'NAME')} --cwd {shlex.quote(argv[0])} -- claude")
        return None
    try:
        told = {**given, "cwd": os.path.abspath(os.path.expanduser(given.get("cwd", ".")))}
    except FileNotFoundError:
        why = "the directory that this shell is in was removed"
        refuse(exits.USAGE, why, f"phoenixctl add {given.get('name', 'NAME')} --cwd DIRECTORY -- COMMAND")
        return None
    is_directory = TERRAIN.is_directory(told["cwd"])
    if is_directory is None:
        why = f"{told['cwd']} does not answer: its file system hangs"
        refuse(exits.USAGE, why, f"phoenixctl add {given.get('name', 'NAME')} --cwd ANOTHER_DIRECTORY")
        return None
    if not is_directory:
        yet = "" if os.path.lexists(told["cwd"]) else " yet"
        print(f"warning: {told['cwd']} is no directory{yet}", file=sys.stderr)
    if not argv:
        return told
    guessed = os.path.basename(argv[0])
    if harness is None:
        told["harness"] = guessed if guessed in HARNESSES else "command"
    # Where it is not found here, the daemon warns, which knows the agent's own PATH.
    if (found := shutil.which(argv[0])) is not None:
        argv[0] = os.path.abspath(found)
    return {**told, "argv": argv}


def with_writer(command: Command, declared: dict[str, Any]) -> dict[str, Any] | None:
    """The declaration with who writes the brief: as it was said, else as a person answers, else no model.

    Asked only of a person at a terminal, and of a CLI that can write: nobody pays for what he has not said yes to.
    """
    can = declared.get("harness") in HARNESSES
    if declared.get("brief_writer") == "cli" and not can:
        remedy = '--brief-writer plain, or name a program that writes: brief.writer = "command"'
        refuse(exits.USAGE, f"{declared.get('harness')} cannot write a brief", remedy)
        return None
    if "brief_writer" in declared or not can or command.as_json or not at_a_terminal():
        return declared
    if (argv := declared.get("argv")) and shutil.which(argv[0]) is None:
        # What is not there is told of next, and writes nothing until it is.
        return declared
    asked = QUESTION.format(cli=declared["harness"], name=declared.get("name", "NAME"))
    print("\n".join(wrap(asked, wire.width())), file=sys.stderr)
    try:
        word = input("let it write? [y/N] ").strip().lower()
    except EOFError:
        print()
        word = ""
    return {**declared, "brief_writer": "cli" if word in ("y", "yes") else "plain"}


def at_a_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _size() -> dict[str, int]:
    """The size of this terminal: what is drawn for it from the first line on needs not be drawn again."""
    try:
        size = os.get_terminal_size()
    except OSError:
        return {}
    return {"columns": size.columns, "lines": size.lines} if size.columns > 0 and size.lines > 0 else {}


def _with_command(typed: str) -> str:
    """The whole line where only one word was typed: a command that stands for the name, or the name alone."""
    name = _name_from(typed)
    if name and (os.sep in typed or typed in HARNESSES or shutil.which(typed)):
        return f"phoenixctl run {name} -- {shlex.quote(typed)}"
    return f"phoenixctl run {typed if re.fullmatch(NAME_PATTERN, typed) else 'NAME'} -- claude"


def _name_from(command: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", os.path.basename(command).lower()).strip("-_")[:32]
