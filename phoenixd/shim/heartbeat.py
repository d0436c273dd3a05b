"""heartbeat.json: the last sign of life; at most one write a second, and the last one lands."""

from __future__ import annotations

import time

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reactor import Reactor

INTERVAL = 1.0


class Heartbeat:
    """Not durable on purpose: a beat from before a power failure says nothing about an agent after it."""

    def __init__(self, path: str, reactor: Reactor) -> None:
        self._path = path
        self._reactor = reactor
        self._waiting: dict[str, Any] | None = None
        self._next_write = 0.0

    def beat(self, record: dict[str, Any]) -> None:
        self._waiting = record
        if time.monotonic() >= self._next_write:
            self.flush()
        elif not self._reactor.waits_for("heartbeat"):
            self._reactor.at("heartbeat", self._next_write, self.flush)

    def flush(self) -> None:
        """Write the beat that waits, if one does."""
        if self._waiting is None:
            return
        record, self._waiting = self._waiting, None
        self._reactor.cancel("heartbeat")
        self._next_write = time.monotonic() + INTERVAL
        try:
            records.write(self._path, record, durable=False)
        except OSError:
            # A full disk must not cost the agent its life; the missing file is what the daemon will notice.
            return
