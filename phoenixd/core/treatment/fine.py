"""What is no failure: a table that triage asks before the rules."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.rules import SET_UP, When

COMPLAINTS = SET_UP | {"login", "resume-picker", "in-use", "limit", "model"}
"""What a screen shows of a run that cannot go on."""


@dataclass(frozen=True, slots=True)
class Fine:
    """A row of what is no failure."""

    name: str
    rests_on: tuple[str, ...]
    when: When


INTERRUPTED, SIGINT = 130, 2


def _has_no_complaint(e: Evidence) -> bool:
    """No turn failed, nothing is cut for good, and no dialog of a start stands there."""
    is_cut = e.cut != "" and not e.went_on
    asks = e.screen in COMPLAINTS or (e.screen == "dialog" and e.turn_open)
    return e.failure == "" and e.status is None and e.obstacle == "" and not is_cut and not asks


FINE: tuple[Fine, ...] = (
    Fine("somebody asked for its end", ("asked",), lambda e: e.asked and _has_no_complaint(e)),
    Fine("it ended by itself, as it should", ("code", "turn_open"),
         lambda e: e.code == 0 and e.cause in ("", "exit") and not e.is_alive and not e.turn_open
         and not e.disk_full and _has_no_complaint(e)),
    Fine("somebody pressed Ctrl-C", ("code", "signal"),
         lambda e: e.cause in ("", "exit") and (e.code == INTERRUPTED or e.signal == SIGINT) and _has_no_complaint(e)),
    Fine("it lives, and nothing failed", ("is_alive",),
         lambda e: e.is_alive and e.occasion == "end" and _has_no_complaint(e)),
)  # fmt: skip
"""What is no failure, asked before the rules."""
