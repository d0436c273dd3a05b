"""The page on which the figures stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/clinic.md"


def written(page: str, half: str, told: Sequence[str]) -> str:
    """The page with the table of that half put in the place of the one before."""
    begin, end = f"<!-- {half} -->", f"<!-- end of {half} -->"
    head, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise ValueError(f"{PAGE.name} has no place for the {half} half: {begin} ... {end}")
    return f"{head}{begin}\n\n" + "\n".join(told) + f"\n\n{end}{rest.partition(end)[2]}"
