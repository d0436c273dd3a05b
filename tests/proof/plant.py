"""What a planted bug is; the tables of plants are made of these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plant:
    """One bug: texts that are replaced in files, and tests; at least one of them must see it."""

    name: str
    edits: tuple[tuple[str, str, str], ...]
    """Path, what stands there, what stands there instead."""
    tests: tuple[str, ...]
