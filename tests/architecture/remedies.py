"""What the package tells people to do: every command, key and option that stands in a text of its code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "7"
"""What an f-string's value is taken for: it may be a name as well as a number."""
STANDS_FOR = {"ID": "7", "N": "3", "TIME": "8h", "T": "8h"}
END = re.compile(r" && |[;,()`|]|\. |\.$|: |:$| - |  |\n|$")
COMMAND = re.compile(r"phoenixctl (?=[a-z])")
KEY = re.compile(r"\[([a-z]+)(?:\.[^\]\s]+)?\]\s+([a-z_]+)|\b([a-z]+)\.([a-z]+_[a-z_]+|[a-z]+)\b(?!\()")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the code, with SAMPLE in the place of what is put in when it is said."""

    path: Path
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.words[:120]!r}"


def texts() -> tuple[Text, ...]:
    """Every text of the package but docstrings and parts of f-strings that were told whole."""
    return _found()[0]


def remedies() -> tuple[Text, ...]:
    """The texts that are given as what to do."""
    return _found()[1]


@cache
def _found() -> tuple[tuple[Text, ...], tuple[Text, ...]]:
    """Both at once: to parse the package is most of what it takes to find either."""
    told: list[Text] = []
    given: list[Text] = []
    for path in sorted((ROOT / "phoenixd").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        told += _texts(path, nodes)
        given += _remedies(path, nodes)
    return tuple(told), tuple(given)


def _texts(path: Path, nodes: list[ast.AST]) -> Iterator[Text]:
    skipped = set(_docstrings(nodes))
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield from (Text(path, node.lineno, words) for words in _said(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield Text(path, node.lineno, node.value)


def _remedies(path: Path, nodes: list[ast.AST]) -> Iterator[Text]:
    for call in nodes:
        if not isinstance(call, ast.Call):
            continue
        given = [word.value for word in call.keywords if word.arg == "remedy"]
        given += call.args[PLACES[name] :][:1] if (name := _name(call.func)) in PLACES else []
        for value in given:
            for node in ast.walk(value):
                if isinstance(node, ast.JoinedStr):
                    yield from (Text(path, node.lineno, words) for words in _said(node))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield Text(path, node.lineno, node.value)


PLACES = {"Refusal": 2, "Problem": 2, "Finding": 3, "_refuse": 2, "refuse": 2, "Slip": 1}
"""In which place these calls take a remedy."""


def commands(words: str) -> Iterator[list[str]]:
    """The words of each phoenixctl command of a text, up to where prose goes on or punctuation stands."""
    for found in COMMAND.finditer(words):
        rest = words[found.end() :]
        end = END.search(rest)
        assert end is not None
        spoken = re.findall(r'"[^"]*"|\S+', rest[: end.start()])
        yield [STANDS_FOR.get(word, word.strip('"')) for word in spoken if word != "..."]


def _said(node: ast.JoinedStr) -> list[str]:
    """What an f-string may say. A value that stands next to a letter brings its own space, or is empty."""
    said = [""]
    for part in node.values:
        options = _options(part)
        said = [before + option for before in said for option in options]
    return [re.sub(r"(?<=[a-z])\x00|\x00(?=[a-z])", "", words).replace("\x00", SAMPLE) for words in said]


def _options(part: ast.expr) -> list[str]:
    match part:
        case ast.Constant(value=str() as words):
            return [words]
        case ast.FormattedValue(value=value):
            return _options(value)
        case ast.IfExp(body=body, orelse=orelse):
            return [*_options(body), *_options(orelse)]
        case ast.JoinedStr():
            return _said(part)
        case _:
            return ["\x00"]


def _docstrings(nodes: list[ast.AST]) -> Iterator[int]:
    """The texts that stand for themselves: nobody is told them."""
    for node in nodes:
        if isinstance(node, ast.Expr):
            yield id(node.value)


def _name(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))
