"""The ledger of one transcript: read whole the first time, in slices, and from then on only what is new. Blocking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from phoenixd.documents.deeds import TaskRow, TasksListed
from phoenixd.documents.kept_ledger import VERSION, KeptLedger, cleaned
from phoenixd.documents.marker_checks import ASKS, Exchanges
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.transcript import Record, TranscriptForm
from phoenixd.drivers.transcripts.lines import open_lines
from phoenixd.drivers.transcripts.place import Place
from phoenixd.drivers.transcripts.records import record_of

SLICE = 32 << 20
"""Bytes that are read before others get their turn."""

SLICE_LINES = 100_000
"""Lines of a slice: a file of nothing but short ones must not take seconds either."""


@dataclass(slots=True)
class LedgerTail:
    """A transcript, how far it was heard, and what stands of it."""

    path: str
    form: TranscriptForm
    ledger: SessionLedger = field(default_factory=SessionLedger)
    is_whole: bool = False
    is_known: bool = False
    """A transcript, or what was kept of one, was there."""
    _place: Place = field(default_factory=Place)
    _exchanges: Exchanges = field(default_factory=Exchanges)

    @classmethod
    def going_on(cls, path: str, form: TranscriptForm, kept: KeptLedger | None) -> LedgerTail:
        """Go on from what was kept, where it is of this transcript."""
        if kept is None or kept.path != path:
            return cls(path, form)
        place = Place((kept.device, kept.inode), kept.offset, bytes.fromhex(kept.mark))
        return cls(path, form, kept.ledger, kept.is_whole, True, place)

    def read_slice(self) -> bool:
        """Hear what was added, as much of it as a slice holds; whether there is more.

        A file in the place of the one of before, or one that was cut short, is heard anew. Where there is none any
        longer, what was heard of it stands.
        """
        with open_lines(self.path) as lines:
            if lines is None:
                return False
            if not self._place.is_in(lines):
                self.ledger = SessionLedger()
                self._place.begin(lines)
            self.is_known, self.is_whole = True, False
            begin = self._place.offset
            for seen, line in enumerate(lines.forwards(begin)):
                if seen >= SLICE_LINES or line.start - begin >= SLICE:
                    self._place.settle(lines)
                    return True
                record: Record | None = record_of(self.form, line) if line.content else None
                if record is None and ASKS.search(line.content):
                    # This CLI writes a check as a note that no rule reads.
                    record = Record(None, None)
                if record is not None:
                    self.ledger.hear(self._exchanges.without(line.content, record))
                self._place.offset = line.end + 1
            self._place.settle(lines)
            self.is_whole = True
            return False

    def take_tasks(self, rows: tuple[TaskRow, ...], *, is_whole: bool) -> None:
        """The CLI keeps its list in files of its own: they say how it is now."""
        if rows:
            self.ledger.tasks.listed(TasksListed(None, rows, is_whole, self.ledger.newest_at))
            self.is_known = True

    def kept(self, clean: Callable[[str], str]) -> KeptLedger:
        """What stands now, without secrets, for others to keep: nothing of it is shared."""
        device, inode = self._place.identity or (0, 0)
        place, ledger = self._place, cleaned(self.ledger, clean)
        return KeptLedger(VERSION, self.path, device, inode, place.offset, place.mark.hex(), self.is_whole, ledger)
