"""What people read keeps to the words that CONTRIBUTING asks for: messages, docstrings, comments, pages, the
configuration and the units."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNUSUAL = re.compile(r"\b(whoever|whomever|nobody's|of which|so many|mend(?:s|ed|ing)?)\b", re.IGNORECASE)
"""For each of them there is a more usual word, and a shorter sentence."""
JOINT = re.compile(r"""["']\s*(?:(?:\\|\#[^\n]*)\s*)*[rbfu]{0,2}["']""", re.IGNORECASE)
"""What stands between two parts of one text."""
QUOTES = {"CONTRIBUTING.md", "CHANGELOG.md", "docs/requirements.md"}
"""Pages that name these words, or that keep what others wrote."""
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "config").glob("*"),
    *(ROOT / "systemd").rglob("*.*"),
]


def unusual(path: Path, text: str) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {line.strip()[:100]}" for line in text.splitlines() if UNUSUAL.search(line)]


def messages(module: Path) -> list[str]:
    """The texts of a module that are no docstrings: what it says to people, to a model, or writes down.

    Those of a module without such a word are left out, for to parse all modules takes a second.
    """
    source = module.read_text(encoding="utf-8")
    if not UNUSUAL.search(JOINT.sub("", source)):
        return []
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return [node.value for node in texts if isinstance(node.value, str)]


def docstrings(source: str) -> Iterator[str]:
    """Every string that stands as a statement of its own, so those of constants and fields too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def comments(source: str) -> Iterator[str]:
    """Every comment; one that goes on over several lines is one text."""
    text, below = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != below:
                yield text
                text = ""
            text, below = f"{text} {token.string.lstrip('#')}", token.start[0] + 1
    yield text


def unusual_in_remarks(path: Path, source: str) -> list[str]:
    """As `unusual`, of what a module says to its readers. A line break within a phrase does not hide it."""
    if not UNUSUAL.search(re.sub(r"[\s#]+", " ", source)):
        return []  # To take all modules apart would take seconds.
    remarks = (*docstrings(source), *comments(source))
    return [one for text in remarks for one in unusual(path, " ".join(text.split()))]


def test_no_message_has_a_word_that_few_know() -> None:
    modules = sorted((ROOT / "phoenixd").rglob("*.py"))

    assert [one for module in modules for text in messages(module) for one in unusual(module, text)] == []


def test_no_docstring_and_no_comment_has_a_word_that_few_know() -> None:
    modules = sorted((ROOT / "phoenixd").rglob("*.py"))

    assert [one for module in modules for one in unusual_in_remarks(module, module.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "planted",
    [
        '"""A module.\n\nWhoever reads it."""',
        'def f() -> None:\n    """Rows of\n    which none is left."""',
        'MOST = 3\n"""So many are kept."""',
        "x = 1  # It is nobody's.",
        "# There are so\n# many of them.\nx = 1",
    ],
    ids=["module", "function", "constant", "comment", "comment of two lines"],
)
def test_a_planted_word_is_found(planted: str) -> None:
    assert len(unusual_in_remarks(ROOT / "phoenixd" / "planted.py", planted)) == 1


def test_a_word_is_found_in_a_text_of_several_parts(tmp_path: Path) -> None:
    module = tmp_path / "told.py"
    module.write_text(
        'SAID = (\n    "Who"  # The sheet.\n    "ever looks "\n    f"sees so "\n    f"many of {len(ALL)}"\n)\n'
    )

    assert len([text for text in messages(module) if UNUSUAL.search(text)]) == 1
    assert UNUSUAL.findall(messages(module)[0]) == ["Whoever", "so many"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_word_that_few_know(page: Path) -> None:
    if str(page.relative_to(ROOT)) not in QUOTES:
        assert unusual(page, page.read_text(encoding="utf-8")) == []
