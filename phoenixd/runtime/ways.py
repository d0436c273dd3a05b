"""The ways by which alerts are told: one that an earlier daemon did not have is told what stands, once."""

from __future__ import annotations

import json
from collections.abc import Mapping

import structlog

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Journal

KEY = "alert_ways"

log = structlog.get_logger()


async def new_ways(journal: Journal, ways: Mapping[str, str]) -> frozenset[str]:
    """Those of these ways that are new, by name, as they are now; and remember all of them.

    ways: what tells each from another of its name. Where an older version remembered nothing, none is taken for new:
    people would be told twice.
    """
    try:
        kept = await journal.recall(KEY)
        if kept is None or json.loads(kept) != ways:
            await journal.remember(KEY, json.dumps(ways))
    except JournalFailed as failure:
        log.warning("ways_unknown", reason=failure.message)
        return frozenset()
    known = json.loads(kept) if kept is not None else ways
    return frozenset(name for name, mark in ways.items() if known.get(name) != mark)
