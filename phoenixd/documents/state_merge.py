"""Two hands on one state.json: the daemon's and an operator's, merged against what the daemon wrote last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from phoenixd.documents.state import OpenLoop, ResolvedLoop, StateDocument
from phoenixd.documents.times import read_time

T = TypeVar("T")


def merge_states(base: StateDocument, theirs: StateDocument, ours: StateDocument) -> StateDocument:
    """Merge what stands in the file with what the daemon would write.

    base: what the daemon wrote last. Where only one side changed something, that change holds; where both did, the
    operator's does (F-ST-5). `agent` and `status` are the daemon's alone, and `last_active` is the later one (P66).
    """
    open_loops = _merge_items(base.open_loops, theirs.open_loops, ours.open_loops, _loop_id)
    resolved = _merge_items(base.resolved, theirs.resolved, ours.resolved, _resolved_id)
    still_open = {loop.id for loop in open_loops}
    return StateDocument(
        agent=ours.agent,
        status=ours.status,
        current_task=_merge_value(base.current_task, theirs.current_task, ours.current_task),
        last_active=later(theirs.last_active, ours.last_active),
        open_loops=open_loops,
        # A loop that the operator wrote back in is open again.
        resolved=tuple(item for item in resolved if item.id not in still_open),
        numbers=_merge_tables(base.numbers, theirs.numbers, ours.numbers),
        **_merge_tables(base.extras, theirs.extras, ours.extras),
    )


def later(one: str | None, other: str | None) -> str | None:
    """The later of two times as text; what is no time counts as none."""
    times = {text: read_time(text) for text in (one, other)}
    known = [(when, text) for text, when in times.items() if when is not None]
    return max(known)[1] if known else None


def _merge_value(base: T, theirs: T, ours: T) -> T:
    return ours if theirs == base else theirs


def _merge_tables(base: Mapping[str, Any], theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    absent = object()
    merged = {
        key: _merge_value(base.get(key, absent), theirs.get(key, absent), ours.get(key, absent))
        for key in [*theirs, *(key for key in ours if key not in theirs)]
    }
    return {key: value for key, value in merged.items() if value is not absent}


def _merge_items(
    base: Iterable[T], theirs: Iterable[T], ours: Iterable[T], identify: Callable[[T], str]
) -> tuple[T, ...]:
    """The same for lists whose items have ids; the order is the file's, new items of ours come last."""
    before, there, here = ({identify(item): item for item in items} for items in (base, theirs, ours))
    merged = [
        _merge_value(before.get(key), there.get(key), here.get(key))
        for key in [*there, *(key for key in here if key not in there)]
    ]
    return tuple(item for item in merged if item is not None)


def _loop_id(loop: OpenLoop) -> str:
    return loop.id


def _resolved_id(item: ResolvedLoop) -> str:
    return item.id
