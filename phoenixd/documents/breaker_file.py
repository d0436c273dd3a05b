"""`.circuit_breaker.json`: a loop's breaker for people. The journal is the truth; what somebody writes here is a wish.

The file carries a seal over what the daemon wrote, so that an edit can be told from a file that a crash left behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from pydantic_core import from_json

from phoenixd.core.behind.world import KeptBreaker
from phoenixd.core.breaker import Breaker, Open, Word, reason_of
from phoenixd.documents.numbers import whole
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.times import timestamp

NAME = ".circuit_breaker.json"
SIZE_LIMIT = 64 * 1024
WORDS: tuple[Word, ...] = ("CLOSED", "HALF_OPEN", "OPEN")
MOST = 1_000_000
MOST_REASON = 200
OURS = (
    "state", "no_progress_count", "last_progress_iteration", "iteration", "reason", "opened_at", "fingerprint",
    "total_opens", "notes_count", "last_verdict", "shared_with", "seal",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BreakerFile:
    """What stands in the file. by: whose words they are. others: keys that are not ours, and are kept."""

    state: Word
    no_progress: int
    by: Literal["daemon", "hand"]
    others: Mapping[str, Any] = field(default_factory=dict)


def render_breaker(breaker: Breaker, others: Mapping[str, Any] | None = None) -> bytes:
    """Write the document (seed G: state; ref: the counts, why, and when it opened)."""
    tally = breaker.tally
    plain: dict[str, Any] = {
        "state": breaker.name,
        "no_progress_count": tally.no_progress,
        "last_progress_iteration": tally.last_progress,
        "iteration": tally.iterations,
        "reason": reason_of(breaker),
        "opened_at": timestamp(breaker.opened_wall) if isinstance(breaker, Open) else None,
        "fingerprint": tally.seen[-1] if tally.seen else None,
        "total_opens": tally.opens,
        "notes_count": tally.notes,
        "last_verdict": tally.verdict,
        "shared_with": list(tally.shared),
    }
    kept = {key: value for key, value in (others or {}).items() if key not in OURS}
    document = {**plain, "seal": _seal(plain), **kept}
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read_breaker(content: bytes) -> BreakerFile | str:
    """Read the document, or say why it is none."""
    try:
        found = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        return f"not JSON: {str(error)[:80]}"
    if not isinstance(found, dict):
        return "no object"
    state, count = found.get("state"), found.get("no_progress_count", 0)
    if state not in WORDS:
        return "its state is none of CLOSED, HALF_OPEN and OPEN"
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST:
        return "its no_progress_count is no count"
    others = {key: value for key, value in found.items() if key not in OURS}
    # An older phoenixd wrote fewer keys, and sealed those.
    sealed = found.get("seal") == _seal({key: found[key] for key in OURS if key in found and key != "seal"})
    return BreakerFile(state, count, "daemon" if sealed else "hand", others)


def kept_breaker(content: bytes) -> KeptBreaker | None:
    """The breaker as its file tells it, for a daemon whose journal does not; None for anything that is no such file."""
    reading = read_breaker(content)
    if isinstance(reading, str):
        return None
    found = from_json(content, allow_inf_nan=False)
    names = ("iteration", "last_progress_iteration", "total_opens", "notes_count")
    iterations, last_progress, opens, notes = (min(whole(found.get(name)), MOST) for name in names)
    reason = found.get("reason")
    why = one_line(reason, MOST_REASON) if isinstance(reason, str) else ""
    return KeptBreaker(reading.state, reading.no_progress, iterations, last_progress, opens, notes, why)


def _seal(plain: Mapping[str, Any]) -> str:
    return sha256(json.dumps(plain, sort_keys=True).encode("utf-8", "replace")).hexdigest()[:16]
