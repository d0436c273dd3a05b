"""What of the simulated seats outlives every process: transcripts, packages on disk, plans, and texts that arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.tasks import TaskRequested

WINDOW = 200_000
FRESH = 20_000
"""Tokens that a session holds with nothing but its first prompt."""


@dataclass(slots=True)
class Package:
    """What stands in a package file, and in the plan as it stands. tampered: somebody wrote into it afterwards."""

    hash: str
    word: str
    facts: tuple[tuple[str, str], ...]
    tampered: bool = False


@dataclass(slots=True)
class Project:
    """All of it, for every seat of the host."""

    packages: dict[str, Package] = field(default_factory=dict)
    written: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    """How much each session holds, by its id: a transcript outlives its process."""
    asked: Counter[str] = field(default_factory=Counter)
    """How many tasks of its plan each seat's sessions have asked for."""
    taken: set[str] = field(default_factory=set)
    """Requests for tasks that were acknowledged."""
    typed: dict[str, list[float]] = field(default_factory=dict)
    """When each text was submitted."""
    spent: Callable[[str, int, str], None] = lambda agent, incarnation, session: None
    """Tells the daemon that lives now that a transcript has grown."""
    acknowledge: Callable[[HandoffAcked], None] = lambda event: None
    """`phoenixctl handoff ack`, as far as a daemon answers."""
    ask: Callable[[TaskRequested], None] = lambda event: None
    """`phoenixctl task run`."""

    def write(self, seat: str) -> Package:
        """Another package stands on disk."""
        self.written += 1
        facts = (("phase", "phase-01"), ("pending", str(self.asked[seat])))
        self.packages[seat] = Package(f"{self.written:064x}", f"word-{self.written}", facts)
        return self.packages[seat]
