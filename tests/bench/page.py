"""The page of the documentation that holds measured tables: each between its two marks, written anew by its part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"


def write(name: str, lines: Sequence[str]) -> None:
    """Put the table of this name into the page; raises ValueError where the page has no place for it."""
    PAGE.write_text(written(PAGE.read_text(), name, lines))


def written(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with this table in the place of the one before."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise ValueError(f"{PAGE.name} has no place for the table: {begin} ... {end}")
    return f"{head}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{rest.partition(end)[2]}"
