"""One simple command as a check: its key, and what it looks at.

The key is its program and subcommand, and the name of the target where a project names its own (make TARGET, npm run
NAME). What else stands in the command narrows the run and makes no other key.
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, replace

from phoenixd.documents.ledger_rows import digest
from phoenixd.memory.brief.loops.programs import PROGRAMS, Program
from phoenixd.memory.brief.loops.wrappers import (
    ASKED_ONLY,
    DEMANDING,
    DRY,
    INTERPRETERS,
    LEFT_OUT_TARGETS,
    NARROWING,
    NARROWING_OF,
    NO_RUN,
    NPM_SCRIPTS,
    OF_PLACES,
    PLAIN_OPTIONS,
    PLAIN_VALUES,
    SAME,
    SAYS_MORE,
    SCRIPT_RUNNERS,
    SCRIPT_VERBS,
    SERVERS,
    WHOLE_PATHS,
)

MOST_INTERPRETED = 4
_NAME = re.compile(r"[\w:./-]{1,40}")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|sh|phar|py)\Z|(?<=python)[23](?:\.\d{1,2})?\Z")
_DIRECTORY_OPTIONS = frozenset({"-C", "--prefix", "--cwd", "--dir", "-chdir", "--directory", "--project-dir"})


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a line. paths: what it was pointed at, and looks at whole; options: what else changes it.

    where: the directory it was sent to; None: it says none, and so it is the workspace itself.
    is_of_places: a path is one thing of its own, as a build's context is, and no part of what lies above it.
    """

    key: str
    paths: frozenset[str]
    options: frozenset[str]
    where: str | None
    is_of_places: bool = False

    def covers(self, other: Check) -> bool:
        """Whether a pass of this one proves that the other would pass: it looked at as much, or at more."""
        if self.key != other.key or self.where != other.where:
            return False
        if not all(other._narrows(one) for one in other.options - self.options):
            return False
        if not all(_name(one) in DEMANDING for one in self.options - other.options):
            return False
        if self.is_of_places:
            return self.paths == other.paths
        if not self.paths:
            return True
        return bool(other.paths) and all(any(_holds(mine, one) for mine in self.paths) for one in other.paths)

    def placed(self, directory: str) -> Check:
        """The same with the directory that it ran in, for a session that works in that one."""
        return replace(self, where=os.path.normpath(os.path.join(directory, self.where or "")))

    def _narrows(self, option: str) -> bool:
        name = _name(option)
        return name in NARROWING or name in NARROWING_OF.get(self.key.split(" ", 1)[0], ())


def program_name(word: str) -> str:
    """A program by its name, wherever it lies."""
    name = _SUFFIX.sub("", word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]) or word
    return SAME.get(name, name)


def check_of(words: tuple[str, ...], where: str | None) -> Check | None:
    for _ in range(MOST_INTERPRETED):
        if not words:
            return None
        name = program_name(words[0])
        if name in INTERPRETERS and name not in PROGRAMS:
            script = next((at for at, one in enumerate(words[1:], 1) if not one.startswith("-")), None)
            if script is None or not _is_program(words[script]):
                return None
            words = words[script:]
            continue
        if name == "php" and len(words) > 1 and not words[1].startswith("-"):
            words = words[1:]
            continue
        if name in SCRIPT_RUNNERS:
            return _script(name, words[1:], where)
        break
    name = "manage.py" if words[0].endswith("manage.py") else program_name(words[0])
    if name == "cargo" and len(words) > 1 and words[1].startswith("+"):
        words = (words[0], *words[2:])
    program = PROGRAMS.get(name)
    if " " in name:
        first, second = name.split(" ", 1)
        program, name, words = PROGRAMS.get(first), first, (first, second, *words[1:])
    return _of_program(name, program, words[1:], where) if program is not None else None


def _tells_only(name: str, program: Program, words: tuple[str, ...], paths: list[str]) -> bool:
    """Whether a command checks nothing, for it was asked for its version, its usage or what it would do."""
    given = set(words[: words.index("--")] if "--" in words else words)
    if given & NO_RUN:
        return True
    if program.is_runner and (given & DRY or (name == "make" and given & ASKED_ONLY)):
        return True
    if paths or program.needs:
        return False
    return bool(given & {"-h", "-V"} and name != "ctest") or ("-v" in given and name not in SAYS_MORE)


def _name(option: str) -> str:
    """An option without its value: `-k EXPRESSION`, `--filter=NAME`, `-only-testing:NAME`."""
    return re.split(r"[ =:]", option, maxsplit=1)[0]


def _is_program(word: str) -> bool:
    return word.endswith("manage.py") or program_name(word) in PROGRAMS


def _script(runner: str, words: tuple[str, ...], where: str | None) -> Check | None:
    """`npm run NAME`, `yarn NAME`: a script of the package's, or a program of its dependencies."""
    paths, options, where = _arguments(words, Program(), where)
    if not paths:
        return None
    verb, rest = paths[0], paths[1:]
    if verb in SCRIPT_VERBS:
        if not rest:
            return None
        name, rest = rest[0], rest[1:]
    elif runner == "npm":
        if verb not in NPM_SCRIPTS:
            return None
        name = NPM_SCRIPTS[verb]
    elif verb in SCRIPT_RUNNERS[runner]:
        return None
    else:
        name = verb
    if name in PROGRAMS and verb not in SCRIPT_VERBS:
        return check_of(words[words.index(name) :], where)
    if name.split(":")[0] in SERVERS or name.split(":")[-1] in SERVERS:
        return None
    name = _target(name)
    key = f"{runner} {name}" if runner != "npm" or name in NPM_SCRIPTS.values() else f"npm run {name}"
    return Check(key, frozenset(rest), frozenset(options), where)


def _of_program(name: str, program: Program, words: tuple[str, ...], where: str | None) -> Check | None:
    if program.needs and not program.needs & {word.split("=", 1)[0] for word in words}:
        return None
    paths, options, where = _arguments(words, program, where)
    if _tells_only(name, program, words, paths):
        return None
    if program.needs:
        needed = sorted(program.needs & {one.split("=", 1)[0].split(" ", 1)[0] for one in options})
        taken = [one.split(" ", 1)[1] for one in options if " " in one and one.split(" ", 1)[0] in needed]
        rest = frozenset(one for one in options if one.split(" ", 1)[0] not in needed)
        return _placed(Check(f"{name} {needed[0]}" if needed else name, _whole([*paths, *taken]), rest, where))
    if program.is_runner:
        named = [one for one in paths if "=" not in one]
        targets = [one for one in named if one not in LEFT_OUT_TARGETS]
        if (named and not targets) or (targets and targets[-1].split(":")[-1] in SERVERS):
            return None
        settings = {one for one in paths if "=" in one}
        return Check(" ".join([name, *map(_target, targets)]), frozenset(), frozenset(options) | settings, where)
    if program.subcommands is None:
        paths = paths[1:] if paths and paths[0] in program.modes else paths
        return _placed(Check(name, _whole(paths), frozenset(options), where))
    for subcommand, option in program.with_option:
        if paths and paths[0] == subcommand and option in words:
            rest = frozenset(one for one in options if one.split(" ", 1)[0] != option)
            taken = [one.split(" ", 1)[1] for one in options if one.startswith(f"{option} ")]
            return Check(f"{name} {subcommand} {option}", _whole([*paths[1:], *taken]), rest, where)
    for size in (2, 1):
        subcommand = " ".join(paths[:size])
        if len(paths) >= size and subcommand in program.subcommands:
            return _placed(Check(f"{name} {subcommand}", _whole(paths[size:]), frozenset(options), where))
    return None


def _placed(check: Check) -> Check:
    """The check as one of places, where its command means each path by itself: none is that of its directory."""
    if check.key not in OF_PLACES:
        return check
    paths = frozenset(os.path.normpath(path) for path in check.paths or {"."})
    return replace(check, paths=paths, is_of_places=True)


def _target(name: str) -> str:
    """A target as it stands in a key, which is shown as a name: any other text than a name is told by its hash."""
    return name if _NAME.fullmatch(name) else digest(name)[:8]


def _whole(paths: list[str]) -> frozenset[str]:
    return frozenset() if WHOLE_PATHS & set(paths) else frozenset(paths)


def _arguments(words: tuple[str, ...], program: Program, where: str | None) -> tuple[list[str], list[str], str | None]:
    """Words that are no options, options that change what is checked (with their value), and the directory."""
    paths: list[str] = []
    options: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        name, _, value = word.partition("=")
        following = words[at + 1] if at + 1 < len(words) else None
        at += 1
        if not word.startswith("-") or word == "-":
            paths.append(word)
        elif name in _DIRECTORY_OPTIONS and (value or following is not None):
            where = os.path.join(where or "", value or following or "")
            at += not value
        elif name in program.values and not value and following is not None:
            options.append(f"{word} {following}")
            at += 1
        elif name in PLAIN_VALUES or (name[:2] in PLAIN_VALUES and name[2:].isdigit()):
            at += not value and name in PLAIN_VALUES and following is not None and not following.startswith("-")
        elif name in PLAIN_OPTIONS:
            continue
        elif not value and following is not None and not following.startswith("-") and _takes_value(program, paths):
            options.append(f"{word} {following}")
            at += 1
        else:
            options.append(word)
    return paths, options, where


def _takes_value(program: Program, paths: list[str]) -> bool:
    """Whether a word behind an option that is not known may be its value. Before the subcommand stands, it may be the
    subcommand: `mvn -Pci verify`, `gradle --scan build`."""
    return bool(paths) or (program.subcommands is None and not program.is_runner)


def _holds(mine: str, other: str) -> bool:
    """Whether a path is the other one, or a directory above it."""
    if mine == other:
        return True
    above = mine.removesuffix("/...").removeprefix("./").rstrip("/")
    return other.removeprefix("./").startswith((f"{above}/", f"{above}::"))
