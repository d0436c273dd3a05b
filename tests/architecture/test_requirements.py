"""A requirement's code that stands in a test can be looked up, and no row outlives its last citation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "requirements.md"
SOURCES = [path for room in ("phoenixd", "tests") for path in sorted((ROOT / room).rglob("*.py"))]
FAILURE = r"F-[A-Z]+-\d+"
ROW = r"[PECRGX]\d+[bc]?"


def test_every_requirement_that_is_cited_is_explained() -> None:
    missing = {code: place for code, place in cited() if code not in explained()}

    assert missing == {}


def test_every_requirement_that_is_explained_is_cited() -> None:
    words = {word for path in SOURCES for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}
    named = {code for code, _ in cited()}

    assert explained() - words - named == set()


@cache
def explained() -> frozenset[str]:
    return frozenset(re.findall(rf"^\| ({ROW}|{FAILURE}) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@cache
def cited() -> tuple[tuple[str, str], ...]:
    return tuple(citations())


def citations() -> Iterator[tuple[str, str]]:
    """Each citation with its file; a letter and a number are a code only where a test names or explains itself."""
    for path in SOURCES:
        text, place = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        yield from ((code, place) for code in re.findall(rf"\b{FAILURE}\b", text))
        # To parse them all takes longer than all else here.
        for said in spoken(list(ast.walk(ast.parse(text)))) if re.search(rf"\b{ROW}\b", text) else ():
            yield from ((code, place) for code in re.findall(rf"\b{ROW}\b", said))
        names = " ".join(re.findall(r"^ *(?:async )?def (test\w*)", text, re.MULTILINE))
        for code in re.findall(r"(?<=_)(?:f_[a-z]+_\d+|[pecrgx]\d+[bc]?)(?=_|\b)", names):
            yield as_written(code), place


def is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def spoken(nodes: list[ast.AST]) -> Iterator[str]:
    """What tests say of themselves, and the short labels of their cases."""
    for node in nodes:
        if is_test(node):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(rf"(?:{ROW}|{FAILURE})\b[A-Za-z0-9_ ,.:-]{{0,36}}", node.value):
                yield node.value


def as_written(name: str) -> str:
    code = name.upper().replace("_", "-")
    return code[:-1] + code[-1].lower() if code[0] == "X" else code
