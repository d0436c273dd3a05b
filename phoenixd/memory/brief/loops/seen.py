"""What a kind of loop may look at, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from phoenixd.documents.brief.around import Around
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.loop_origin import HEAD, SOURCE, extra, head_of
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.times import utc_date
from phoenixd.documents.workspace import GitSummary

TEXT_LIMIT = 300
QUOTE_LIMIT = 240


@dataclass(frozen=True, slots=True)
class Seen:
    """All facts of one reading.

    session: what the sources of its loops begin with; before: what they once did. known: the loops that were open
    before this reading, of whichever session.
    """

    ledger: SessionLedger
    git: GitSummary | None
    around: Around
    now: float
    today: date
    session: str
    goal: str = ""
    before: str = ""
    known: tuple[OpenLoop, ...] = ()

    @classmethod
    def of(cls, material: BriefMaterial) -> Seen:
        ledger = material.ledger or SessionLedger()
        session = material.around.session or ledger.session_id or ""
        return cls(
            ledger,
            material.git,
            material.around,
            material.now,
            utc_date(material.now),
            head_of(session),
            material.goal or "",
            before=session[:HEAD],
        )

    @property
    def turn_open(self) -> bool | None:
        """Whether a turn is open; the hooks tell it where the transcript does not."""
        told = self.ledger.turn_open
        return self.around.turn_open if told is None else told

    def is_dead(self, began: float | None) -> bool:
        """Whether the process that something lived in, which began then, is gone."""
        process = self.around.process_began
        return process is None or (began is not None and began < process)


@dataclass(frozen=True, slots=True)
class Found:
    """A loop that its kind's own proof shows to be open.

    source: what it is within its session: `task 3`, `npm test`. at: when what proves it came about, None: unknown.
    is_same: whether another session's loop of the same source is the same one (a key, a place), not only one with the
    same text. extras: more keys of the loop, for the proof that it is closed.
    doubted: since when (wall) nobody can say whether it is still open; None: it is proven to be.
    """

    kind: str
    source: str
    text: str
    at: float | None = None
    is_same: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)
    doubted: float | None = None


def source_in(loop: OpenLoop, session: str) -> str:
    """What a loop is within that session; empty where it comes from another."""
    head, sign, rest = extra(loop, SOURCE).partition(": ")
    return rest if sign and session and head == session else ""


def source_of(loop: OpenLoop) -> str:
    """What a loop is within the session that it comes from, whichever that is."""
    head, sign, rest = extra(loop, SOURCE).partition(": ")
    return rest if sign and len(head) <= HEAD else ""


def quoted(text: str, limit: int = QUOTE_LIMIT) -> str:
    """Somebody's own words, as such. Of long ones the end is kept too: it often says what is wanted."""
    line = one_line(text, 100_000).replace('"', "'")
    if len(line) > limit:
        line = f"{line[: limit - 81].rstrip()} … {line[-78:].lstrip()}"
    return f'"{line}"'
