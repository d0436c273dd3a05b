"""What a change has to touch, by the recipes of docs/architecture.md, and how long the files of the package are."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = "docs/architecture.md"
MOST = 3
"""Files that a recipe may name."""
_RECIPE = re.compile(r"^(?:###\s+|[-*]\s+\*\*|\d+\.\s+\*\*|\|\s*\**)(?P<name>[^*|:\n]+)", re.MULTILINE)
_FILE = re.compile(r"`([\w./*<>-]+\.(?:py|toml|md|json|sh))`")


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lines of the package's files."""

    files: int
    median: float
    longest: str
    most: int


def recipes(page: str) -> dict[str, tuple[str, ...]]:
    """The recipes of the page, and the files that each names: below a heading with "recipe" in it.

    Each begins with a heading of its own, a bold name in a list, or a row of a table.
    """
    section = re.search(r"^##\s[^\n]*recipe[^\n]*\n(.*?)(?=^##\s|\Z)", page, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    if section is None:
        return {}
    begins = list(_RECIPE.finditer(section[1]))
    ends = [one.start() for one in begins[1:]] + [len(section[1])]
    found = {}
    for one, end in zip(begins, ends, strict=True):
        files = tuple(dict.fromkeys(_FILE.findall(section[1][one.start() : end])))
        if files:
            found[one["name"].strip()] = files
    return found


def lengths(package: Path = ROOT / "phoenixd") -> Lengths:
    """How long the package's files are; empty ones are no rooms."""
    lines = {file: len(file.read_text().splitlines()) for file in sorted(package.rglob("*.py"))}
    full = {file: count for file, count in lines.items() if count}
    longest = max(full, key=lambda file: full[file])
    return Lengths(len(full), statistics.median(full.values()), str(longest.relative_to(package.parent)), full[longest])
