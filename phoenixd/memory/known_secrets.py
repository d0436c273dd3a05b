"""What is secret of an agent, kept apart from its papers: it outlives a handoff, and a change of the value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

MOST = 500
"""Values of one agent, the newest first: one that was replaced still stands in transcripts and on screens."""


@dataclass(slots=True)
class KnownSecrets:
    """Of an agent, or of all generations of a seat. values: the longest first; the same tuple until one is new."""

    values: tuple[str, ...] = ()
    _newest: tuple[str, ...] = ()
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def take(self, values: Iterable[str]) -> None:
        """Know these too."""
        found = tuple(dict.fromkeys(values))
        with self._lock:
            newest = (*found, *(value for value in self._newest if value not in found))[:MOST]
            if set(newest) != set(self._newest):
                self.values = tuple(sorted(newest, key=lambda value: (-len(value), value)))
            self._newest = newest
