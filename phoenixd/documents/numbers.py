"""Whole numbers in what shims and agents write: JSON has floats beside them, and in Python a bool is one too."""

from __future__ import annotations

LARGEST = 2**53
"""What every reader of JSON can hold exactly is smaller."""


def whole(value: object) -> int:
    """The number where it is a whole one above 0 and below LARGEST; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST else 0
