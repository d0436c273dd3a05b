"""The end of what was said in one transcript: read backwards at first, and from then on only what is new. Blocking."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from phoenixd.documents.conversation import Conversation
from phoenixd.documents.conversation_end import DEFAULT_BUDGET, ConversationEnd, bounded
from phoenixd.documents.marker_checks import A_CHECK, ASKS
from phoenixd.documents.transcript import Piece, Said, TranscriptForm
from phoenixd.drivers.transcripts.lines import LONGEST, Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import Place
from phoenixd.drivers.transcripts.records import MOST_LINES, first_name, session_id_of

NEW = 16 << 20
"""Bytes that are read forwards; where more was added, the end is found from the end."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What the line at `start` said; None: something that could not be read."""

    start: int
    said: Said | None


@dataclass(slots=True)
class TalkTail:
    """What was said at the end of a transcript, within a budget of characters."""

    path: str
    form: TranscriptForm
    budget: int = DEFAULT_BUDGET
    _place: Place = field(default_factory=Place)
    _start: int = 0
    """Where the oldest line begins that was looked at."""
    _remarks: deque[Remark] = field(default_factory=deque)
    _session_id: str | None = None
    _newest: tuple[int, Conversation] | None = None
    """What was told last, and how far the transcript had been read then."""

    def conversation(self) -> Conversation | None:
        """The end of what was said; None where there is no transcript."""
        with open_lines(self.path) as lines:
            if lines is None:
                self._place.identity = self._newest = None
                return None
            if not (self._place.is_in(lines) and self._read_on(lines)):
                self._newest = None
                self._begin_at_the_end(lines)
            if self._newest is not None and self._newest[0] == self._place.offset:
                return self._newest[1]
            end = ConversationEnd(self.budget)
            if self._take_known(end):
                self._take_older(lines, end)
            # Of a file without one whole line nothing was looked at.
            is_whole = self._start == 0 and (self._place.offset > 0 or lines.size == 0)
            found = end.conversation(self._session_id or first_name(lines, self.form), is_whole)
            self._newest = (self._place.offset, found)
            return found

    def _begin_at_the_end(self, lines: OpenLines) -> None:
        self._remarks.clear()
        self._session_id = None
        self._place.begin(lines)
        self._start = self._place.offset = lines.end_of_lines()
        self._place.settle(lines)

    def _read_on(self, lines: OpenLines) -> bool:
        """Take what was added; False where that is too much to be read piece by piece."""
        if lines.size > self._place.offset + NEW:
            return False
        for seen, line in enumerate(lines.forwards(self._place.offset)):
            if seen >= MOST_LINES:
                return False
            if (remark := self._remark(line)) is not None:
                self._remarks.append(remark)
            self._session_id = session_id_of(self.form.record(line.content)) or self._session_id
            self._place.offset = line.end + 1
        self._place.settle(lines)
        return True

    def _take_known(self, end: ConversationEnd) -> bool:
        """Take what was read before, newest first; whether there is room for more. What there is no room for goes."""
        for taken, remark in enumerate(reversed(self._remarks)):
            if not _add(end, remark):
                for _ in range(len(self._remarks) - taken):
                    self._remarks.popleft()
                self._start = self._remarks[0].start if self._remarks else self._place.offset
                return False
        return True

    def _take_older(self, lines: OpenLines, end: ConversationEnd) -> None:
        began = self._start
        for seen, line in enumerate(lines.backwards(began, LONGEST)):
            if seen >= MOST_LINES:
                return
            remark = self._remark(line)
            if self._session_id is None and not line.is_clipped:
                self._session_id = session_id_of(self.form.record(line.content))
            if remark is not None:
                if not _add(end, remark):
                    return
                self._remarks.appendleft(remark)
            self._start = line.start
        if self._start == began > 0:
            # A line longer than that stands there, and is not looked through again.
            self._start = max(0, began - LONGEST)
            self._remarks.appendleft(Remark(self._start, None))
            end.miss()

    def _remark(self, line: Line) -> Remark | None:
        if line.is_clipped:
            return Remark(line.start, None) if self.form.matters(line.content) else None
        said = self.form.said(line.content)
        if said is None and ASKS.search(line.content):
            # A check that this CLI writes as a note: what was answered to it is left out with it.
            said = Said((Piece("user", A_CHECK),))
        return Remark(line.start, bounded(said, self.budget)) if said is not None else None


def _add(end: ConversationEnd, remark: Remark) -> bool:
    if remark.said is None:
        end.miss()
        return True
    return end.take(remark.said)
