"""What a session has lost, and who else is in it."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "marker lost",
        (
            "two checks in a row failed: the front of its context is lost; it is restored in a new session, or handed "
            "over, and quarantined where that fails"
        ),
        "a check succeeded, or nobody wants it to run",
        cures.is_verified,
        needs_person=False,
    ),
    AlertKind(
        "resonance",
        (
            "a check proves nothing, since it used a tool; no codes could be planted; its footer names another role or "
            "says Degraded; somebody's unsent words keep it from being asked; its marker is lost, and its turn has not "
            "ended for an hour; or `resonance.restore` is off"
        ),
        "a check succeeded, or its run has ended",
        cures.is_checked,
    ),
    AlertKind(
        "background jobs lost",
        "background commands or wake-ups ended with its process",
        "a later run was told of it, and has ended a turn",
        cures.is_made_good,
    ),
    AlertKind(
        "session in use elsewhere",
        "another process is at work [in its session](../reference/harnesses.md#somebody-else-in-the-session)",
        "that process is gone",
        None,
    ),
)
