"""Pages of the documentation that hold measured tables: each between its two marks, written anew by what measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PERFORMANCE = DOCS / "performance.md"
CLINIC = DOCS / "explanation/clinic.md"


def write(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put the table of this name into the page; raises ValueError where the page has no place for it."""
    page.write_text(written(page.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def written(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with this table in the place of the one before."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise ValueError(f"the page has no place for the table: {begin} ... {end}")
    return f"{head}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{rest.partition(end)[2]}"
