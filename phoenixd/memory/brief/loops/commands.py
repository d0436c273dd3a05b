"""What a command line checks, and what its exit code says of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from phoenixd.documents.ledger_rows import STOPPED_CODES
from phoenixd.memory.brief.loops.check import Check, check_of, program_name
from phoenixd.memory.brief.loops.shell import CACHED, LIMIT, Simple, simple_commands
from phoenixd.memory.brief.loops.wrappers import PLAIN_VARIABLES, SHELLS, WRAPPERS

MOST_NESTED = 4
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,80}\+?=")
_SHELL_SCRIPT = re.compile(r"-[a-zA-Z]{0,6}c")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one run says. Where it failed, one of the checks did, or more; where it passed, all did."""

    checks: tuple[Check, ...]
    passed: bool


def verdict(line: str, code: int | None, failed: bool | None) -> Verdict | None:
    """What a line that ended so says of the checks in it; None: nothing.

    code None: it is not known, and `failed` alone tells.
    """
    if failed is None or code in STOPPED_CODES or len(line) >= LIMIT:
        return None
    return _verdict(line, not failed, MOST_NESTED)


@functools.lru_cache(CACHED)
def _verdict(line: str, zero: bool, depth: int) -> Verdict | None:
    checks: list[Check] = []
    for simple in simple_commands(line):
        says = simple.if_zero if zero else simple.if_not
        if says is None:
            continue
        for check in _checks(simple, zero, depth):
            checks.append(check)
    return Verdict(tuple(checks), zero) if checks else None


def checks_in(line: str) -> tuple[Check, ...]:
    """The checks that a line would prove if it did well."""
    told = _verdict(line, zero=True, depth=MOST_NESTED) if len(line) < LIMIT else None
    return told.checks if told is not None else ()


def keys_in(line: str) -> tuple[str, ...]:
    """The keys of all checks that a line runs, whatever its exit code says of them."""
    return _keys_in(line) if len(line) < LIMIT else ()


@functools.lru_cache(CACHED)
def _keys_in(line: str) -> tuple[str, ...]:
    found = (check_of(words, None) for words in commands_in(line))
    return tuple(dict.fromkeys(check.key for check in found if check is not None))


def commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """The words of each simple command of a line, without what stands around it: assignments, wrappers."""
    for simple in simple_commands(line):
        words = bare(simple.words)
        inner = inner_line(words)
        if inner is None:
            yield words
        else:
            yield from (bare(one.words) for one in simple_commands(inner))


def _checks(simple: Simple, zero: bool, depth: int) -> tuple[Check, ...]:
    words = bare(simple.words)
    inner = inner_line(words)
    if inner is not None:
        within = _verdict(inner, zero, depth - 1) if depth > 0 else None
        return within.checks if within is not None else ()
    check = check_of(words, simple.where)
    if check is None:
        return ()
    settings = _settings(simple.words[: len(simple.words) - len(words)])
    return (replace(check, options=check.options | settings) if settings else check,)


def _settings(before: tuple[str, ...]) -> frozenset[str]:
    """The variables that a command is given by what stands before it, but for those that change nothing of it."""
    given = (word for word in before if _ASSIGNMENT.match(word))
    return frozenset(word for word in given if word.split("=", 1)[0].rstrip("+") not in PLAIN_VARIABLES)


def inner_line(words: tuple[str, ...]) -> str | None:
    """The line that a shell is given: bash -lc 'LINE'."""
    if not words or program_name(words[0]) not in SHELLS:
        return None
    return next((line for option, line in pairwise(words[1:]) if _SHELL_SCRIPT.fullmatch(option)), None)


def bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command without the assignments before it and the commands that only run it."""
    for _ in range(2 * MOST_NESTED):
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        rest = _unwrapped(words)
        if rest is None:
            return words
        words = rest
    return words


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...] | None:
    if not words:
        return None
    head = (program_name(words[0]), *words[1:3])
    for size in (3, 2, 1):
        wrapper = WRAPPERS.get(" ".join(head[:size])) if len(words) > size else None
        if wrapper is None:
            continue
        values, before = wrapper
        rest = words[size:]
        while (rest and rest[0].startswith("-")) or (rest and _ASSIGNMENT.match(rest[0])):
            takes_one = rest[0] in values
            rest = rest[2:] if takes_one else rest[1:]
        return rest[before:]
    return None
