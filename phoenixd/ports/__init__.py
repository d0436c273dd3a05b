"""What the runtime needs of the outside, as Protocols, and the plain values that cross them.

Drivers implement these, tests and the simulation put fakes in their place, the core knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from phoenixd.core.events import Event
from phoenixd.core.moment import Instant, Moment
from phoenixd.ports.evidence import Evidence, Transcripts
from phoenixd.ports.journal import Journal
from phoenixd.ports.papers import FailureReader, Handover, Jobs, Markers, Notifier, Papers
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

Saved = Callable[[], None]
"""Called once an event is durable."""
Tell = Callable[[Event, Saved | None], None]
"""As Sink, with what is called once the event is durable; None where nobody waits for that."""
Later = Callable[[float, Callable[[], None]], object]
"""Calls back after that many seconds, at the event loop's convenience."""
HearHook = Callable[[str, str, dict[str, Any]], None]
"""Hears a hook as it came: the agent's name, the hook's kind on the wire, and its payload."""
