"""The kinds of alerts: what raises each, what proves it over, and who is told.

docs/how-to/get-told.md is made from this table, and the sentences may hold links as that page writes them. Where a
watch outside the core, or the fleet, says when an alert is over, `cure` is None. A kind is found
in the module of its subject, and what proves it over in `cures.py`.
"""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures, ends, files, fleet, progress, questions, reporting, sessions, turns
from phoenixd.core.alert_kinds.kind import AlertKind

TABLE: tuple[AlertKind, ...] = (
    *questions.KINDS,
    *ends.KINDS,
    *turns.KINDS,
    *sessions.KINDS,
    *progress.KINDS,
    *reporting.KINDS,
    *files.KINDS,
    *fleet.KINDS,
)

KINDS = {kind.name: kind for kind in TABLE}

OUTAGE_OF = "outage: "
"""How the kinds of the fleet's alerts of outages begin; the group's name follows."""
SHARED_OUTAGE = f"{OUTAGE_OF}..."
"""Their row."""


def of(kind: str) -> AlertKind:
    """The row of a kind; that of an outage bears its group behind a colon. One that is not known needs a person."""
    known = KINDS.get(kind)
    if known is None and kind.startswith(OUTAGE_OF):
        return KINDS[SHARED_OUTAGE]
    return known or AlertKind(kind, "", "", cures.is_back)
