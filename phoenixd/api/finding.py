"""What doctor finds. Standard library alone: phoenixctl says the same where no daemon answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that doctor looked at. A remedy is a command, or a sentence; every finding that is not ok has one.

    agent: whom it concerns, empty for the daemon. together: the detail in words that are the same of each agent.
    """

    level: Literal["ok", "warning", "problem"]
    title: str
    detail: str = ""
    remedy: str = ""
    agent: str = ""
    together: str = ""
