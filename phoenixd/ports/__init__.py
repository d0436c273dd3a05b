"""What the runtime needs of the outside, as Protocols, and the plain values that cross them.

Drivers implement these, tests and the simulation put fakes in their place, the core knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from phoenixd.core.events import Event
from phoenixd.core.moment import Instant, Moment
from phoenixd.ports.clinic import FailureReader
from phoenixd.ports.evidence import Evidence, Transcripts
from phoenixd.ports.journal import Journal
from phoenixd.ports.papers import Handover, Jobs, Markers, Notifier, Papers
from phoenixd.ports.processes import Cleaner, ProcessTable
from phoenixd.ports.shims import Records, ShimLinks, Starter
from phoenixd.ports.terminal import Screens, Terminal
from phoenixd.ports.work import Work


class Clock(Protocol):
    """Supervised time, and the only sleep in the runtime."""

    def now(self) -> Moment:
        """Read the instant of a decision; draws a new chance and nonce each time."""
        ...

    def at(self) -> Instant:
        """Read supervised time alone, for what is measured and not decided on."""
        ...

    async def sleep_until(self, at: Instant) -> None:
        """Return at or shortly after `at`; may return early."""
        ...


@dataclass(slots=True)
class Outside:
    """All ports together, as the composition root fills them."""

    clock: Clock
    journal: Journal
    terminal: Terminal
    shims: ShimLinks
    processes: ProcessTable
    starter: Starter
    papers: Papers
    screens: Screens
    records: Records
    evidence: Evidence
    transcripts: Transcripts
    notifier: Notifier
    work: Work
    cleaner: Cleaner
    handover: Handover
    jobs: Jobs
    markers: Markers | None = None
    """None: nothing can be planted, and that is told."""
    reader: FailureReader | None = None
    """None: nobody reads failures here, and that is told."""


Sink = Callable[[Event], None]
