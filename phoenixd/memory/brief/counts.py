"""Counts and measures in the formats that test runners, compilers and coverage tools print; formats, not language."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OF = r"(\d{1,6})\s*(?:/|of|out of)\s*(\d{1,6})"
_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?\s?%)"
_FORMATS = tuple(
    (re.compile(shape, re.IGNORECASE), name)
    for shape, name in (
        (
            rf"\b{_OF}\s+(?:\w+\s)?tests?\b(?:\s+\w+)?\s+(?:pass|passing|passed|green)"
            rf"|\btests?(?: \w+)?(?::| =| passing:?| passed:?)\s*{_OF}",
            "tests_passing",
        ),
        (r"\b(\d{1,6}) passed\b(?!\w)|\ball (\d{1,6}) tests? pass(?:ed)?\b", "tests_passed"),
        (r"\b(\d{1,6}) failed\b(?!\w)", "tests_failed"),
        (rf"\bcoverage\b[^\d\n]{{0,20}}{_PERCENT}|\b{_PERCENT} (?:test )?coverage", "coverage"),
        (r"\b(\d{1,6}) errors?\b", "errors"),
        (r"\b(\d{1,6}) warnings?\b", "warnings"),
        (rf"\b{_OF}\s+(?:files|modules|endpoints|pages|tables|tasks|steps)\b", ""),
    )
)
"""An empty name is the noun that the number counts."""


def counts(text: str) -> Iterator[tuple[str, str]]:
    """Names, which are ours, and values, kind by kind, in the order of the text."""
    for shape, name in _FORMATS:
        for match in shape.finditer(text):
            parts = [part.replace(" ", "") for part in match.groups() if part]
            yield name or f"{match[0].split()[-1].lower()}_done", "/".join(parts)
