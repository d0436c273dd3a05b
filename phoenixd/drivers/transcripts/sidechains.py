"""The transcripts that a session's subagents write, beside its own. Blocking; never raises."""

from __future__ import annotations

from phoenixd.listings import names_in

MOST_ENTRIES = 10_000
"""Names that are looked through: an agent can write there."""


def sidechains(path: str, most: int) -> list[str]:
    """Up to `most` transcripts of subagents of the session with this transcript, by name."""
    stem = path.removesuffix(".jsonl")
    if stem == path:
        return []
    try:
        names = names_in(f"{stem}/subagents", MOST_ENTRIES)
    except (OSError, ValueError):
        return []
    found = sorted(name for name in names if name.endswith(".jsonl") and not name.startswith("."))
    return [f"{stem}/subagents/{name}" for name in found[:most]]
