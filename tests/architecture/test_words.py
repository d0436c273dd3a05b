"""What people read keeps to the words that CONTRIBUTING asks for: messages, pages, the configuration and the units."""

from __future__ import annotations

import ast
import re
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


def test_no_message_has_a_word_that_few_know() -> None:
    modules = sorted((ROOT / "phoenixd").rglob("*.py"))

    assert [one for module in modules for text in messages(module) for one in unusual(module, text)] == []


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
