"""How phoenixctl refuses: what and why on one line, what to do on the next, both on standard error."""

from __future__ import annotations

import sys


def refuse(code: int, why: str, remedy: str) -> int:
    """Say it, and return the exit code."""
    print(f"{why}\ndo: {remedy}", file=sys.stderr)
    return code
