"""Loops that there was no room for, told as one number of their kind.

Those that a session's own records prove open are counted anew at each of its readings; all others are added up, since
no reading will find them again. Such a number is closed by `phoenixctl resolve`, or is unconfirmed as any loop is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from phoenixd.documents.loop_origin import KIND, LAST_SEEN, MORE, SOURCE, extra, kind_of
from phoenixd.documents.state import UNCONFIRMED, OpenLoop
from phoenixd.memory.brief.names import free_id

COUNTS, EARLIER = "counts", "earlier"
"""The key of the numbers by session, and what stands in a session's place for those that nothing proves."""
MOST_SESSIONS, LARGEST = 8, 1_000_000


@dataclass(slots=True)
class LeftOut:
    """How many loops of each kind were left out: proven open by the session that is read, or not."""

    proven: Counter[str] = field(default_factory=Counter)
    unproven: Counter[str] = field(default_factory=Counter)


def numbers(
    before: Iterable[OpenLoop], left_out: LeftOut, head: str, number: int, today: str, taken: set[str]
) -> Iterator[tuple[OpenLoop, bool]]:
    """One loop for each kind that lacks some, and whether the session that is read proves some of them open.

    before: the numbers as they stood. head, number: what the sources of the session begin with, and which it is.
    """
    standing: dict[str, list[OpenLoop]] = {}
    for loop in before:
        standing.setdefault(kind_of(loop), []).append(loop)
    for kind in sorted({*standing, *left_out.proven, *left_out.unproven}):
        known = standing.get(kind, [])
        counts = _counts(known)
        counts.pop(head, None)
        counts += Counter({EARLIER: left_out.unproven[kind]})
        if left_out.proven[kind]:
            counts[head] = left_out.proven[kind]
        if not (total := counts.total()):
            continue
        plain: dict[str, Any] = known[0].model_dump() if known else {LAST_SEEN: number}
        if not known:
            plain |= {"id": free_id(f"{kind}-{MORE}", taken), "added": today, SOURCE: f"{head}: {MORE}"}
        plain |= {"text": f"and {total} more of the kind {kind}", KIND: kind, COUNTS: dict(_bounded(counts))}
        if left_out.proven[kind]:
            plain[LAST_SEEN] = number
            plain.pop(UNCONFIRMED, None)
        loop = OpenLoop.model_validate(plain)
        taken.add(loop.id)
        yield loop, bool(left_out.proven[kind])


def _counts(loops: Iterable[OpenLoop]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for loop in loops:
        found = (loop.model_extra or {}).get(COUNTS)
        for head, count in found.items() if isinstance(found, Mapping) else ():
            if isinstance(head, str) and isinstance(count, int) and not isinstance(count, bool) and count > 0:
                counts[head] = min(counts[head] + count, LARGEST)
        if not isinstance(found, Mapping):
            # Its keys were taken from it: it stands for one loop at least.
            counts[extra(loop, SOURCE).partition(": ")[0] or EARLIER] += 1
    return counts


def _bounded(counts: Counter[str]) -> Counter[str]:
    """Without the sessions that were counted longest ago; their numbers are added up."""
    kept = Counter(counts)
    for head in [one for one in kept if one != EARLIER][:-MOST_SESSIONS]:
        kept[EARLIER] += kept.pop(head)
    return kept
