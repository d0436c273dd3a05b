"""A command line as a POSIX shell takes it apart: simple commands, and how their exit codes make up that of the line.

No shell is imitated beyond that. What this does not understand (loops, conditions, substitutions that stand bare) is
told as not understood, and decides nothing.
"""

from __future__ import annotations

import functools
import os.path
import re
from dataclasses import dataclass, replace

LIMIT = 500
"""Characters of a line that a ledger keeps; a longer one has lost its end."""
CACHED = 4096
"""Lines that are remembered: each turn's reading has nearly all of those of the one before."""

_HERE_DOCUMENT = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w{1,40})\1([^\n]*)\n.*?(?:\n[ \t]*\2(?=[ \t]*(?:\n|$|[)\"]))|\Z)", re.DOTALL
)
_WORD_OR_SIGN = re.compile(
    r"""(?P<blank>[ \t]+|\\\n|\#[^\n]*)
    |(?P<redirection>(?:\d{1,2}|&)?(?:>>|>\||<<<|<>|[<>])&?[ \t]*(?:\d{1,2}(?![\w.])|-)?)
    |(?P<sign>&&|\|\||\|&|;;|[|;&\n()])""",
    re.VERBOSE,
)
_KEYWORDS = frozenset({"if", "for", "while", "until", "case", "function", "select", "{", "[[", "!"})


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words without quotes, redirections taken out. where: the directory it was sent to.

    if_zero, if_not: what the exit code of the whole line says of this command's success when it is 0, and when it is
    another; None: nothing. Where several commands of a line say so of another code, one of them failed, or more.
    """

    words: tuple[str, ...]
    where: str | None
    if_zero: bool | None
    if_not: bool | None


_PASSED_ON = frozenset({"exit", "return", "false"})


def simple_commands(line: str) -> tuple[Simple, ...]:
    """The commands of a line in its order; none where the line is not understood."""
    return _commands(line) if len(line) < LIMIT else ()


@functools.lru_cache(CACHED)
def _commands(line: str) -> tuple[Simple, ...]:
    tokens = _tokens(without_documents(line))
    if tokens is None:
        return ()
    tokens = _trimmed(tokens)
    if "(" in tokens or ")" in tokens:
        return ()
    return tuple(_joined(tokens))


def without_documents(line: str) -> str:
    """A line without the texts that it gives to its commands (`<<EOF`)."""
    return _HERE_DOCUMENT.sub(lambda found: found[3], line) if "<<" in line else line


Token = str | tuple[str]
"""A sign as it stands, or a word, alone in a tuple."""


def _trimmed(tokens: list[Token]) -> list[Token]:
    """Without what stands around the whole line: ends of commands, and one pair of parentheses."""
    while tokens and tokens[-1] in (";", "\n"):
        tokens = tokens[:-1]
    while tokens and tokens[0] == "\n":
        tokens = tokens[1:]
    if len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")" and tokens.count("(") == 1:
        return _trimmed(tokens[1:-1])
    return tokens


def _tokens(line: str) -> list[Token] | None:
    """Words and signs; None where a quotation mark has no partner, or a substitution stands bare."""
    tokens: list[Token] = []
    word: str | None = None
    skip_next = False
    at = 0

    def end_word() -> None:
        nonlocal word, skip_next
        if word is not None:
            if not skip_next:
                tokens.append((word,))
            word, skip_next = None, False

    while at < len(line):
        character = line[at]
        found = _WORD_OR_SIGN.match(line, at)
        if found is not None and found.lastgroup == "blank" and (character != "#" or word is None):
            end_word()
            at = found.end()
        elif found is not None and found.lastgroup == "redirection" and (word is None or not character.isdigit()):
            end_word()
            skip_next = not found[0].rstrip()[-1:].isdigit() and not found[0].rstrip().endswith("-")
            at = found.end()
        elif found is not None and found.lastgroup == "sign":
            end_word()
            tokens.append(found[0])
            at = found.end()
        elif character in "'\"":
            piece = _quoted(line, at)
            if piece is None:
                return None
            word, at = (word or "") + piece[0], piece[1]
        elif character == "`" or line.startswith("$(", at):
            return None
        elif character == "\\" and at + 1 < len(line):
            word, at = (word or "") + line[at + 1], at + 2
        else:
            word, at = (word or "") + character, at + 1
    end_word()
    return tokens


def _quoted(line: str, at: int) -> tuple[str, int] | None:
    """The text of a quotation that begins here, and where the line goes on."""
    mark, text, at = line[at], "", at + 1
    while at < len(line):
        character = line[at]
        if character == mark:
            return text, at + 1
        if mark == '"' and character == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            text, at = text + line[at + 1], at + 2
        else:
            text, at = text + character, at + 1
    return None


def _joined(tokens: list[Token]) -> list[Simple]:
    """The commands, each with what the line's code says of it.

    The line is a list of pipelines. After `;` only the last list counts; in `a && b` a zero says that all did well, and
    another code that one did not. After `|` the last one's code counts, unless the line set pipefail. A command behind
    `||` hides the one before it, but for one that only passes its failure on.
    """
    lists: list[tuple[list[list[tuple[str, ...]]], list[str], bool]] = []
    pipelines: list[list[tuple[str, ...]]] = [[]]
    signs: list[str] = []
    words: list[str] = []

    def end_command() -> None:
        nonlocal words
        if words:
            pipelines[-1].append(tuple(words))
        words = []

    def end_list(sign: str) -> None:
        nonlocal pipelines, signs
        end_command()
        if any(pipelines):
            lists.append((pipelines, signs, sign == "&"))
        pipelines, signs = [[]], []

    for token in tokens:
        if isinstance(token, tuple):
            words.append(token[0])
        elif token in ("|", "|&"):
            end_command()
        elif token in ("&&", "||"):
            end_command()
            pipelines.append([])
            signs.append(token)
        else:
            end_list(token)
    end_list("")
    return _judged(lists)


def _judged(lists: list[tuple[list[list[tuple[str, ...]]], list[str], bool]]) -> list[Simple]:
    found: list[Simple] = []
    where: str | None = None
    is_pipefail = False
    for number, (pipelines, signs, in_background) in enumerate(lists):
        is_last = number == len(lists) - 1 and not in_background
        here: list[Simple] = []
        for place, commands in enumerate(pipelines):
            for index, words in enumerate(commands):
                if words[0] in _KEYWORDS:
                    return []
                if words[0] == "set" and "pipefail" in words:
                    is_pipefail = True
                if words[0] in ("cd", "pushd") and len(words) > 1:
                    where = os.path.join(where or "", words[-1])
                counts = is_last and (index == len(commands) - 1 or (is_pipefail and len(commands) > 1))
                here.append(Simple(words, where, True if counts else None, False if counts else None))
            here = _beside(here, pipelines, signs, place)
        found += here
    return found


def _beside(here: list[Simple], pipelines: list[list[tuple[str, ...]]], signs: list[str], place: int) -> list[Simple]:
    """The same, after `||`: what stands behind it hides how what stands before it ended."""
    if place == 0 or signs[place - 1] != "||":
        return here
    size = len(pipelines[place])
    before, behind = here[:-size], here[-size:]
    behind = [replace(one, if_zero=None, if_not=one.if_not) for one in behind]
    if all(words[0] in _PASSED_ON for words in pipelines[place]):
        return before + behind
    return [replace(one, if_zero=None) for one in before] + behind
