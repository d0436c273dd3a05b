"""Command lines of claims and of runs, taken apart so that two of them can be compared."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from phoenixd.memory.brief.loops.check import Check, check_of, program_name
from phoenixd.memory.brief.loops.commands import bare, inner_line
from phoenixd.memory.brief.loops.shell import Simple, simple_commands, without_documents
from phoenixd.memory.brief.loops.wrappers import SHELLS

Likeness = Literal["same", "kin", "other"]
"""kin: one may be a shortened form of the other, or looked at more, so that neither proves nor disproves it."""

MOST_NESTED = 4
LINE_LIMIT, MOST_DOCUMENTS = 100_000, 20
SETUP = frozenset(
    """
    cd pushd popd export set source . echo printf mkdir true exit false return sleep pwd activate : unset ulimit umask
    shopt alias test [ date which command type wait
""".split()
)
"""Commands that only prepare another one, or tell of it."""
FILTERS = frozenset("tail head tee grep egrep rg sed awk cat less more wc sort uniq cut tr column ts jq fold".split())
"""Commands at the end of a pipe that show another one's output."""


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command of a line, without wrappers. if_zero, if_not: as in `Simple`."""

    words: tuple[str, ...]
    where: str | None
    check: Check | None
    if_zero: bool | None
    if_not: bool | None

    @property
    def program(self) -> str:
        return self.check.key.split(" ", 1)[0] if self.check is not None else program_name(self.words[0])

    @property
    def key(self) -> str:
        """What it is called where its arguments do not matter."""
        return self.check.key if self.check is not None else self.program

    @property
    def signs(self) -> frozenset[tuple[object, ...]]:
        """What equal commands share at least one of."""
        if self.check is None:
            return frozenset({(self.program, tuple(sorted(self.words[1:])))})
        key, options = self.check.key, self.check.options
        return frozenset({(key, options, _paths(self.check)), (key, options, _placed(self.check))})

    @property
    def is_setup(self) -> bool:
        return program_name(self.words[0]) in SETUP

    @property
    def is_filter(self) -> bool:
        return program_name(self.words[0]) in FILTERS


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line. text: with single blanks. commands: none where the line is not understood."""

    text: str
    commands: tuple[Command, ...]

    @property
    def is_understood(self) -> bool:
        return bool(self.commands)

    @property
    def told(self) -> tuple[Command, ...]:
        """The commands that a report would tell of: not what prepares them, nor what shows their output."""
        found = tuple(one for one in self.commands if not one.is_setup)
        first = tuple(one for one in found if not one.is_filter)
        return first or found or self.commands


def parsed(line: str, root: str) -> Parsed:
    """A line as it is compared: paths below the workspace are relative to it."""
    plain = _relative(line.strip().strip("`").removeprefix("$ "), root)
    # What begins a text within a line is looked for from each of its signs to the end.
    is_short = len(plain) <= LINE_LIMIT and plain.count("<<") <= MOST_DOCUMENTS
    commands = _commands(without_documents(plain), MOST_NESTED) if is_short else []
    return Parsed(" ".join(plain.split()), tuple(commands))


def alone(line: str) -> Command:
    """The first word of a line as a command."""
    return Command((line.split(" ", 1)[0] or "?",), None, None, None, None)


def likeness(claimed: Command, ran: Command) -> Likeness:
    """Whether a run is the claimed one."""
    if _is_elsewhere(claimed, ran):
        return "other"
    mine, other = claimed.check, ran.check
    if mine is not None and other is not None:
        return _of_checks(claimed, mine, ran, other)
    if mine is not None or other is not None or claimed.program != ran.program:
        return "other"
    if claimed.signs == ran.signs:
        return "same"
    return "kin" if _is_near(claimed, ran) else "other"


def _is_near(claimed: Command, ran: Command) -> bool:
    """Whether only options differ, or the claim leaves words out, or a word stands for what nobody can know."""
    if set(claimed.words[1:]) <= set(ran.words[1:]) or _positional(claimed) == _positional(ran):
        return True
    return any("$" in word or "`" in word for word in (*claimed.words, *ran.words))


def _positional(command: Command) -> list[str]:
    return [word for word in command.words[1:] if not word.startswith("-")]


def covers(ran: Command, claimed: Command) -> bool:
    """Whether a success of this run proves that the claimed one would succeed."""
    if ran.check is None or claimed.check is None or _is_elsewhere(claimed, ran):
        return False
    return _bare_place(ran.check).covers(_bare_place(claimed.check))


def _of_checks(claimed: Command, mine: Check, ran: Command, other: Check) -> Likeness:
    if mine.key != other.key:
        return "other"
    is_same_place = _paths(mine) == _paths(other) or _placed(mine) == _placed(other)
    if is_same_place and mine.options == other.options:
        return "same"
    if is_same_place or covers(ran, claimed) or covers(claimed, ran) or _is_near(claimed, ran):
        return "kin"
    # A path may be given from the directory in which an earlier call left the shell.
    pairs = ((one, two) for one in _paths(mine) for two in _paths(other))
    return (
        "kin" if any(f"/{one}".endswith(f"/{two}") or f"/{two}".endswith(f"/{one}") for one, two in pairs) else "other"
    )


def _commands(line: str, depth: int) -> list[Command]:
    found: list[Command] = []
    for simple in simple_commands(line):
        words = bare(simple.words)
        if not words:
            continue
        if len(words) > 1 and program_name(words[0]) in SHELLS and not words[1].startswith("-"):
            words = words[1:]
        inner = inner_line(words)
        if inner is not None and depth > 0:
            found += [_within(one, simple) for one in _commands(inner, depth - 1)]
        else:
            found.append(_made(words, simple))
    return found


def _made(words: tuple[str, ...], simple: Simple) -> Command:
    check = check_of(words, simple.where)
    # A directory that an option names (`go -C app test`) is one that the command was sent to.
    where = check.where if check is not None else simple.where
    return Command(words, where, check, simple.if_zero, simple.if_not)


def _within(one: Command, outer: Simple) -> Command:
    """A command of a line that a shell was given: what the outer line's code says of the shell it says of that line."""
    where = one.where if outer.where is None else os.path.join(outer.where, one.where or "")
    if_zero = one.if_zero if outer.if_zero else None
    if_not = one.if_not if outer.if_not is False else None
    return Command(one.words, where, one.check, if_zero, if_not)


def _relative(line: str, root: str) -> str:
    """A line without the workspace's own path."""
    if len(root) < 2:
        return line
    return line.replace(f"{root.rstrip('/')}/", "").replace(root.rstrip("/"), ".")


@lru_cache(maxsize=4096)
def _paths(check: Check) -> frozenset[str]:
    return frozenset(one.removeprefix("./").rstrip("/") for one in check.paths)


@lru_cache(maxsize=4096)
def _placed(check: Check) -> frozenset[str]:
    return frozenset(os.path.normpath(os.path.join(check.where or "", one)) for one in check.paths)


def _is_elsewhere(one: Command, other: Command) -> bool:
    """Whether both say where, and differ. Where a line says nothing, an earlier call may have gone there."""
    if one.where is None or other.where is None or one.where == other.where:
        return False
    return os.path.normpath(one.where) != os.path.normpath(other.where)


def _bare_place(check: Check) -> Check:
    return Check(check.key, _paths(check), check.options, None)
