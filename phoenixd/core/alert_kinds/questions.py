"""An agent waits for a person, and an answer lets it go on."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "permission",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "question",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "plan",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "dialog",
        "an agent waits for a person",
        "it was answered, or the dialog has left the screen",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "login",
        "its account has to be seen to",
        "it works again, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "billing",
        "its account has to be seen to",
        "it works again, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
)
