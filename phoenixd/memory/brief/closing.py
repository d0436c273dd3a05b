"""Which loops are open after a reading: known ones that stay or are proven closed, and new ones that are proven open.

Nothing but this and the guard changes the open loops. An operator's own loop is not touched here at all. What is proven
neither open nor closed stays, and is unconfirmed once ten sessions went by without a sign of it, or once a session
spoke of what is known from words alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phoenixd.documents.loop_origin import KIND, LAST_SEEN, SOURCE, extra, is_number, kind_of
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.state import UNCONFIRMED, OpenLoop, ResolvedLoop, StateDocument
from phoenixd.documents.times import timestamp
from phoenixd.memory.brief.closed_before import BY_HAND, CLOSED_AT, ClosedBefore
from phoenixd.memory.brief.left_out import LeftOut, numbers
from phoenixd.memory.brief.loops import KINDS, kind_named
from phoenixd.memory.brief.loops.alike import normal, same
from phoenixd.memory.brief.loops.names import loop_id
from phoenixd.memory.brief.loops.seen import Found, Seen, source_in, source_of
from phoenixd.memory.brief.names import free_id

MOST_OF_KIND, MOST_LOOPS, MOST_RESOLVED = 30, 100, 200
"""Bounds of what sessions leave; an operator's loops are never dropped."""
UNSEEN = 10
"""Sessions after which a loop that none of them saw is unconfirmed."""
DOUBTED = "doubted"
"""The key of a loop that says when it became doubtful last: what confirms it later stands until there is news of it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """state: with the loops as they stand. resolved: those that this reading closed, with the proof. proven: ids of
    loops that are proven open now, so that no writer's claim closes them."""

    state: StateDocument
    resolved: tuple[tuple[str, str], ...] = ()
    proven: frozenset[str] = frozenset()


def settle(
    state: StateDocument,
    seen: Seen,
    resolutions: Sequence[Resolution] = (),
    gone_texts: Mapping[str, str] | None = None,
) -> Settled:
    """Settle what is open. gone_texts: the texts of loops that were known and are open no longer, by id."""
    gone = dict(gone_texts or {})
    seen = replace(seen, known=state.open_loops)
    return _Reading(state, seen, gone, ClosedBefore(state.resolved, tuple(resolutions), gone, seen.now)).settled()


@dataclass(slots=True)
class _Standing:
    """A loop that stays; at: when what proves it open now came about. is_proven: something does."""

    loop: OpenLoop
    at: float = -math.inf
    is_proven: bool = False


@dataclass(slots=True)
class _Reading:
    state: StateDocument
    seen: Seen
    gone_texts: dict[str, str]
    before: ClosedBefore
    closed: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, reason, kind."""

    def settled(self) -> Settled:
        found = [one for kind in KINDS.values() for one in _distinct(kind.found(self.seen))]
        standing = list(self._known(found))
        standing += self._new(found, {one.loop.id for one in standing})
        kept, left_out = _bounded(standing)
        counted = list(self._counted(left_out, {one.loop.id for one in kept}))
        loops = [one.loop for one in (*kept, *counted)]
        today = self.seen.today.isoformat()
        when = {CLOSED_AT: timestamp(self.seen.now)}
        closed = tuple(
            ResolvedLoop.model_validate({"id": name, "reason": reason, "resolved_date": today, KIND: kind, **when})
            for name, reason, kind in self.closed
        )
        gone = {item.id for item in closed}
        open_now = {loop.id for loop in loops}
        resolved = [item for item in self.before.dated() if item.id not in gone | open_now]
        settled = self.state.model_copy(
            update={"open_loops": tuple(loops), "resolved": _newest_resolved((*resolved, *closed))}
        )
        proven = frozenset(one.loop.id for one in kept if one.is_proven)
        return Settled(settled, tuple((name, reason) for name, reason, _ in self.closed), proven)

    def _known(self, found: list[Found]) -> Iterator[_Standing]:
        """Known loops that stay; what was found of them is taken out of `found`. Numbers of loops are counted last."""
        for loop in map(self._named_anew, self.state.open_loops):
            if is_number(loop):
                continue
            kind = kind_of(loop)
            if not kind:
                yield _Standing(loop, math.inf)
                continue
            mine = source_in(loop, self.seen.session)
            match = next((one for one in found if one.kind == kind and _is_the_same(loop, mine, one)), None)
            if match is not None:
                found.remove(match)
                yield _Standing(self._renewed(loop, match), _when(match.at), is_proven=match.doubted is None)
            elif (reason := kind_named(kind).closed(loop, self.seen)) is not None:
                self.closed.append((loop.id, reason, kind))
            else:
                yield _Standing(self._aged(loop))

    def _new(self, found: Iterable[Found], taken: set[str]) -> Iterator[_Standing]:
        taken = taken | self.before.ids | {name for name, _, _ in self.closed}
        for one in found:
            base = loop_id(one)
            if self._is_resolved(one, base):
                continue
            name = free_id(base, taken)
            taken.add(name)
            extras = {KIND: one.kind, SOURCE: f"{self.seen.session}: {one.source}", LAST_SEEN: self.seen.around.number}
            loop = _loop(name, one.text, self.seen.today.isoformat(), {**one.extras, **extras})
            loop = self._doubted(loop, one.doubted)
            yield _Standing(loop, _when(one.at), is_proven=one.doubted is None)

    def _is_resolved(self, found: Found, base: str) -> bool:
        """Whether somebody closed it after what proves it open came about."""
        when = self.before.newest(found, base)
        if when is not None:
            return found.at is None or found.at <= when
        removed = next((name for name, text in self.gone_texts.items() if same(text, found.text)), None)
        if removed is not None and removed not in self.before.ids:
            self.closed.append((removed, BY_HAND, found.kind))
            return True
        return False

    def _renewed(self, loop: OpenLoop, found: Found) -> OpenLoop:
        plain = {**loop.model_dump(), **found.extras, KIND: found.kind, LAST_SEEN: self.seen.around.number}
        if found.doubted is None:
            plain.pop(UNCONFIRMED, None)
        if source_of(loop) and normal(loop.text) != normal(found.text):
            plain["text"] = found.text
        return self._doubted(_same_or(loop, plain), found.doubted)

    def _aged(self, loop: OpenLoop) -> OpenLoop:
        """The loop with the session that saw it last, and marked where that was long ago."""
        number = self.seen.around.number
        last = (loop.model_extra or {}).get(LAST_SEEN)
        if not isinstance(last, int) or isinstance(last, bool) or last > number:
            loop, last = _same_or(loop, {**loop.model_dump(), LAST_SEEN: number}), number
        in_doubt = self._doubted(loop, kind_named(kind_of(loop)).doubted(loop, self.seen))
        if in_doubt is not loop:
            return in_doubt
        if number - last >= UNSEEN and UNCONFIRMED not in (loop.model_extra or {}):
            return _same_or(loop, {**loop.model_dump(), UNCONFIRMED: self.seen.today.isoformat()})
        return loop

    def _doubted(self, loop: OpenLoop, when: float | None) -> OpenLoop:
        """The loop as one that is in doubt since then, unless that is on record and was confirmed after it."""
        if when is None or (at := timestamp(min(when, self.seen.now))) <= extra(loop, DOUBTED):
            return loop
        since = {UNCONFIRMED: self.seen.today.isoformat(), **loop.model_dump()}
        return _same_or(loop, {**since, DOUBTED: at})

    def _counted(self, left_out: LeftOut, taken: set[str]) -> Iterator[_Standing]:
        before = [loop for loop in self.state.open_loops if is_number(loop)]
        taken = taken | self.before.ids | {loop.id for loop in before}
        number, today = self.seen.around.number, self.seen.today.isoformat()
        for loop, is_proven in numbers(before, left_out, self.seen.session, number, today, taken):
            yield _Standing(loop if is_proven else self._aged(loop), is_proven=is_proven)

    def _named_anew(self, loop: OpenLoop) -> OpenLoop:
        """The loop with its session as sources name it now."""
        mine = source_in(loop, self.seen.before) if kind_of(loop) and self.seen.session else ""
        return _same_or(loop, {**loop.model_dump(), SOURCE: f"{self.seen.session}: {mine}"}) if mine else loop


def _is_the_same(loop: OpenLoop, mine: str, found: Found) -> bool:
    """Whether a loop was found again. mine: what it is within the session that is read, empty for one of another."""
    if mine:
        return mine == found.source
    return (found.is_same and source_of(loop) == found.source) or same(loop.text, found.text)


def _bounded(standing: list[_Standing]) -> tuple[list[_Standing], LeftOut]:
    """What there is room for: of each kind what is proven and newest first; and how many of each kind are left out."""
    ranked = sorted(
        (one for one in enumerate(standing) if kind_of(one[1].loop)),
        key=lambda one: (not one[1].is_proven, -one[1].at, one[0]),
    )
    room: dict[str, int] = {}
    chosen: set[int] = set()
    left_out = LeftOut()
    for place, one in ranked:
        kind = kind_of(one.loop)
        if room.get(kind, 0) < MOST_OF_KIND and len(chosen) < MOST_LOOPS:
            room[kind] = room.get(kind, 0) + 1
            chosen.add(place)
        else:
            (left_out.proven if one.is_proven else left_out.unproven)[kind] += 1
    return [one for place, one in enumerate(standing) if place in chosen or not kind_of(one.loop)], left_out


def _distinct(found: Iterable[Found]) -> Iterator[Found]:
    """Each source once: the newest of it, for what is said again is said anew."""
    yield from {one.source: one for one in found}.values()


def _newest_resolved(resolved: Sequence[ResolvedLoop]) -> tuple[ResolvedLoop, ...]:
    """Without the oldest of those that readings closed, where there are too many; resolved.jsonl keeps them all."""
    excess = len(resolved) - MOST_RESOLVED
    kept = []
    for item in resolved:
        if excess > 0 and KIND in (item.model_extra or {}):
            excess -= 1
        else:
            kept.append(item)
    return tuple(kept)


def _loop(name: str, text: str, added: str, extras: Mapping[str, Any]) -> OpenLoop:
    return OpenLoop.model_validate({"id": name, "text": text, "added": added, **extras})


def _same_or(loop: OpenLoop, plain: Mapping[str, Any]) -> OpenLoop:
    return loop if loop.model_dump() == plain else OpenLoop.model_validate(plain)


def _when(at: float | None) -> float:
    return -math.inf if at is None else at
