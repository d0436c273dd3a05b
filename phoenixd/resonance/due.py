"""When a check is due: at the start, after a number of turns, after a compaction or an error."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_DEFERRED = 3
"""Turns. A turn that ended with a question is left alone, and not for ever."""


@dataclass(frozen=True, slots=True)
class Due:
    """since: turns since the last check. because: why one is due before the interval is over; empty: it is not."""

    interval: int
    since: int = 0
    because: str = "start"
    deferred: int = 0

    def turned(self) -> Due:
        return replace(self, since=self.since + 1)

    def called_for(self, reason: str) -> Due:
        return replace(self, because=self.because or reason)

    def checked(self, again: str = "") -> Due:
        """The same after a check. again: why the next turn's end needs one more."""
        return Due(self.interval, because=again)

    def at_end(self, answer: str) -> tuple[Due, str]:
        """Whether a check is made at the end of a turn: why, or empty words."""
        why = self.because or ("interval" if self.since >= self.interval else "")
        if why and answer.rstrip().endswith(("?", "？")) and self.deferred < MOST_DEFERRED:
            return replace(self, deferred=self.deferred + 1), ""
        return self, why
