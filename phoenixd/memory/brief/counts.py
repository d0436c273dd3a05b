"""Counts and measures in a line, whoever said or printed it."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.memory.brief.number_formats import SAID


def counts(text: str) -> Iterator[tuple[str, str]]:
    """Names, which are ours, and values, kind by kind, in the order of the text."""
    for shape, name in SAID:
        for match in shape.finditer(text):
            parts = [part.replace(" ", "") for part in match.groups() if part]
            yield name or f"{match[0].split()[-1].lower()}_done", "/".join(parts)
