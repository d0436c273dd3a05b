"""When loops were closed: by resolved.jsonl, by what state.json keeps of it, and never later than now.

A line of a clock that ran ahead closes what it names, and nothing that comes about after the first reading of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from phoenixd.documents.loop_origin import KIND
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.state import ResolvedLoop
from phoenixd.documents.times import read_time, timestamp
from phoenixd.memory.brief.loops.alike import same
from phoenixd.memory.brief.loops.names import is_named
from phoenixd.memory.brief.loops.seen import Found

DAY = 86_400.0
BY_HAND = "a person took it out of state.json"
CLOSED_AT = "closed_at"
"""The key of a resolved loop that tells when it was closed; or first read, where its time lay in the future then."""


@dataclass(frozen=True)
class ClosedBefore:
    """All that was closed. gone_texts: the texts of loops that are open no longer, by id."""

    resolved: tuple[ResolvedLoop, ...]
    resolutions: tuple[Resolution, ...]
    gone_texts: Mapping[str, str]
    now: float

    @cached_property
    def ids(self) -> set[str]:
        return {made.id for made in self.resolutions} | {item.id for item in self.resolved}

    def newest(self, found: Found, base: str) -> float | None:
        """When the loop that was found was closed last; None: never."""
        # What a kind's own proof closed was over then: proof that it is open is newer, whatever its time.
        told = [(name, at) for name, at in self._told if name not in self._by_proof]
        return max((self._capped(name, at) for name, at in told if self._is_of(name, found, base)), default=None)

    @cached_property
    def _by_proof(self) -> set[str]:
        return {one.id for one in self.resolved if KIND in (one.model_extra or {}) and one.reason != BY_HAND}

    def dated(self) -> Iterator[ResolvedLoop]:
        """What state.json keeps, with the time of this reading where a time lies behind it."""
        ahead = {name for name, at in self._told if at > self.now}
        for item in self.resolved:
            if item.id in ahead and item.id not in self._known:
                yield ResolvedLoop.model_validate({**item.model_dump(), CLOSED_AT: timestamp(self.now)})
            else:
                yield item

    @cached_property
    def _told(self) -> tuple[tuple[str, float], ...]:
        """Ids with the time of their closing; a day ends it where the log has no line of it."""
        told: list[tuple[str, float]] = []
        followed_at = math.inf
        for made in reversed(self.resolutions):
            if (at := read_time(made.ts)) is None:
                told.append((made.id, -math.inf))
                continue
            # Lines are appended: one of the future was written before those that follow it.
            told.append((made.id, min(at, followed_at) if at > self.now else at))
            followed_at = min(followed_at, at)
        logged = {made.id for made in self.resolutions}
        for item in self.resolved:
            if item.id not in logged:
                day = read_time(f"{item.resolved_date}T00:00:00Z")
                told.append((item.id, self._known.get(item.id, -math.inf if day is None else day + DAY)))
        return tuple(told)

    @cached_property
    def _known(self) -> dict[str, float]:
        """When loops were closed, by id, as state.json says."""
        told = ((item.id, (item.model_extra or {}).get(CLOSED_AT)) for item in self.resolved)
        return {name: at for name, text in told if isinstance(text, str) and (at := read_time(text)) is not None}

    def _capped(self, name: str, at: float) -> float:
        return min(at, self._known.get(name, at), self.now)

    def _is_of(self, closed_id: str, found: Found, base: str) -> bool:
        text = self.gone_texts.get(closed_id)
        if text is not None and same(text, found.text):
            return True
        return is_named(closed_id, base) and (text is None or found.is_same)
