"""What waited for a person and does not any more, read out of the journal: by whom and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from phoenixd.api.event_names import event_key
from phoenixd.core.alerts import needs_person_kind
from phoenixd.core.facts import AnswerJudged, Asked, AskingOver, Ordered
from phoenixd.core.seat.names import seat_name
from phoenixd.ports.journal import Entry, StoredEntry

KEPT = 7 * 86400.0
"""Seconds for which it is told how something ended."""


@dataclass(frozen=True, slots=True)
class ClosedItem:
    """One thing. Times are wall seconds; opened and text are None and empty where their rows were not read.

    by: the operator whose word ended it, else None; how: the reason of the row that ended it, or of the verdict on an
    answer that was under way when its screen ended it.
    """

    id: int
    agent: str | None
    kind: str
    closed: float
    row: int
    by: str | None = None
    how: str = ""
    opened: float | None = None
    text: str = ""


@dataclass(slots=True)
class Closing:
    """Rows are heard page by page, the newest page first, each in the order of its rows."""

    found: dict[int, ClosedItem] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    _verdicts: dict[int, tuple[bool, str]] = field(default_factory=dict)
    """Whether the answers to items counted, and why, until the row of the answer itself is heard."""

    def hear(self, rows: Iterable[StoredEntry]) -> None:
        """Take a page of rows of the story that is older than all that were heard."""
        why: dict[str | None, Entry] = {}
        told: list[tuple[StoredEntry, Entry]] = []
        for stored in rows:
            entry = stored.entry
            if event_key(entry.event) not in ("alertraised", "alertover"):
                why[entry.agent] = entry
            # The row of an alert stands behind that of the decision that says why.
            told.append((stored, why.get(entry.agent, entry)))
        for stored, reason in reversed(told):
            self._take(stored, reason)

    def _take(self, stored: StoredEntry, why: Entry) -> None:
        entry, detail = stored.entry, stored.entry.detail
        kind, number, text = str(detail.get("kind", "")), detail.get("alert"), str(detail.get("text", ""))
        if isinstance(number, int) and event_key(entry.event) == "alertover" and needs_person_kind(kind):
            self._close(number, kind, stored, why, text)
        elif isinstance(number, int) and number in self.found:
            self._complete(number, opened=entry.wall, text=text)
        answered = detail.get("item")
        for fact in entry.facts:
            match fact:
                case AskingOver(item, asked) if item not in self._open:
                    self._close(item, asked, stored, entry)
                    if item in self._verdicts:
                        # Its screen had closed it before the verdict on the answer came.
                        self.found[item] = replace(self.found[item], how=self._verdicts[item][1])
                case AnswerJudged(item, taken):
                    self._verdicts[item] = taken, entry.reason
                case Asked(item) if item not in self.found:
                    # It is open: what an older row says of its end was taken back.
                    self._open.add(item)
                case Asked(item):
                    # A hook tells what was asked; other rows that open an item have words of their own.
                    is_told = event_key(entry.event) == "hookseen"
                    self._complete(item, opened=entry.wall, text=text if is_told else "")
                case Ordered("answer", by, taken=True) if isinstance(answered, int) and answered in self.found:
                    # What came of an answer closes the item, and names nobody; one that came too late closed nothing.
                    known, (counted, _) = self.found[answered], self._verdicts.pop(answered, (True, ""))
                    self.found[answered] = replace(known, by=known.by or (by if counted else None))
                case _:
                    pass

    def newest(self, most: int) -> list[ClosedItem]:
        """The newest ones, the one that ended last first."""
        return sorted(self.found.values(), key=lambda one: (one.closed, one.id), reverse=True)[:most]

    def _close(self, number: int, kind: str, stored: StoredEntry, why: Entry, text: str = "") -> None:
        known = self.found.get(number)
        if known is not None:
            self.found[number] = replace(known, text=known.text or text)
            return
        by = next((fact.by for fact in why.facts if isinstance(fact, Ordered)), None)
        agent = seat_name(stored.entry.agent) if stored.entry.agent is not None else None
        self.found[number] = ClosedItem(number, agent, kind, stored.entry.wall, stored.seq, by, why.reason, text=text)

    def _complete(self, number: int, *, opened: float, text: str = "") -> None:
        known = self.found[number]
        self.found[number] = replace(known, opened=opened, text=known.text or text)
