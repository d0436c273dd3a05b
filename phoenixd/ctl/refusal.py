"""How phoenixctl refuses: what and why on one line, what to do on the next, both on standard error."""

from __future__ import annotations

import sys

from phoenixd.ctl import wire
from phoenixd.runs import advice

STARTS = ("phoenixctl up", "start phoenixd", "phoenixd --state-dir", "recover --take")
"""How a remedy begins to own a fleet. Inside a run that is not told: an agent that obeys would take the fleet."""


def refuse(code: int, why: str, remedy: str) -> int:
    """Say it, and return the exit code."""
    if any(words in remedy for words in STARTS):
        remedy = advice(remedy)
    remedy = reaching(remedy)
    try:
        print(f"{why}\ndo: {remedy}", file=sys.stderr)
    except OSError:
        pass  # Where nothing can be said, the exit code still says it.
    return code


def reaching(remedy: str) -> str:
    """A remedy whose commands reach the daemon that --socket named."""
    return wire.reaching(remedy.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
