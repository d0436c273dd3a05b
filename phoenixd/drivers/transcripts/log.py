"""What agents' transcripts say from their ends on: the newest lines at first, then what is added. Blocking."""

from __future__ import annotations

import os
import stat
import threading
import time
from binascii import crc32
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

from phoenixd.bounded_reads import BoundedReads
from phoenixd.core.agent import Agent
from phoenixd.documents.log_lines import LogLine, Newest, Reading
from phoenixd.documents.times import read_time
from phoenixd.documents.transcript import Piece, Said, TranscriptForm
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import MARK, Place
from phoenixd.errors import NoAnswer

LOOKED_AT = 8 << 20
"""Bytes before the end in which the newest lines of a transcript are looked for."""
SLICE = 1 << 20
"""Bytes of news of one transcript that are read in one go; the rest comes in the next."""
AT_ONCE = 8 << 20
"""The same, of all transcripts together."""
LEFT_OUT = 256 << 20
"""Bytes of news beyond which only their end is read: no person reads more, and an agent may want us to read it."""
MOST_RAW = 20_000
"""Lines of a file that are looked at for one answer."""
LEARNT_FROM = 256 << 10
"""Bytes before the place where a reader goes on, in which the tools are found whose results are to come."""
MOST_TAILS = 4_000
"""Transcripts whose places are kept; those that were looked at last."""
PATIENCE = 20.0
"""Seconds that a reading is waited for."""
EVERY = 0.9
"""Seconds for which a look at a transcript's length counts for all readers."""

T = TypeVar("T")

Where = Callable[[Agent], tuple[str, TranscriptForm] | None]


@dataclass(frozen=True, slots=True)
class Look:
    """Where an agent's transcript is, and how long. identity: device and inode; None where there is no file.

    written: when, in nanoseconds of the file's clock.
    """

    at: float
    path: str
    form: TranscriptForm
    identity: tuple[int, int] | None
    size: int
    written: int = 0


class Looks:
    """How long the transcripts are, looked at once for all readers."""

    def __init__(self, where: Where, clock: Callable[[], float] = time.monotonic) -> None:
        self._where = where
        self._clock = clock
        self._known: dict[str, Look | None] = {}
        self._due: dict[str, float] = {}
        self._lock = threading.Lock()

    def of(self, agent: Agent, *, now: bool = False) -> Look | None:
        """The newest look at an agent's transcript; None where there is none. now: whether it has to be a new one."""
        at = self._clock()
        with self._lock:
            if not now and self._due.get(agent.name, -1.0) > at:
                return self._known[agent.name]
        found = self.afresh(agent)
        with self._lock:
            self._known[agent.name] = found
            self._due[agent.name] = at + EVERY
            while len(self._due) > MOST_TAILS:
                oldest = next(iter(self._due))
                del self._due[oldest], self._known[oldest]
        return found

    def afresh(self, agent: Agent) -> Look | None:
        """A look at the transcript of this agent's session that counts for nobody else."""
        place = self._where(agent)
        return _look(*place, self._clock()) if place is not None else None


class TranscriptLog:
    """One reader's view: what it was given of each agent is not given again."""

    def __init__(self, looks: Looks, clean: Callable[[str, str], str]) -> None:
        self._looks = looks
        self._clean = clean
        self._tails: dict[tuple[str, str], _Tail] = {}
        self._resumed: dict[str, str] = {}
        self._reads = BoundedReads()
        self._first = 0

    async def newest(self, agents: Sequence[Agent], most: int, since: float | None, now: float) -> list[LogLine]:
        """The newest `most` lines of all of them together in the order of time, none older than `since`."""
        newest = Newest(most, now, len(agents))
        for agent in agents:
            bounds = [one for one in (since, newest.floor) if one is not None]
            newest.add(await self._read(agent.name, partial(self._newest, agent, most, max(bounds, default=None)), []))
        return newest.lines()

    async def added(self, agents: Sequence[Agent], since: float, most: int) -> tuple[list[LogLine], bool]:
        """What was added, agent by agent, and whether there is more of it. Of an agent that is new here, and of a
        session that is, the newest `most` lines that are not older than `since` (wall seconds)."""
        return await self._read("what agents add", partial(self._added, tuple(agents), since, most), ([], False))

    async def earlier(self, agent: Agent, most: int, since: float) -> list[LogLine]:
        """The newest lines of a session that is over, none older than `since`; nothing of it is kept here."""
        return await self._read(agent.name, partial(self._earlier, agent, most, since), [])

    async def _read(self, what: str, read: Callable[[], T], otherwise: T) -> T:
        """`otherwise` where the disk does not answer: nobody waits for it, and no thread of the daemon's is held."""
        try:
            return await self._reads.of(what, read, PATIENCE)
        except NoAnswer:
            return otherwise

    def resume(self, places: Mapping[str, str]) -> None:
        """Begin where another reader was, by agents."""
        self._resumed.update(places)

    def places(self) -> dict[str, str]:
        """Where reading goes on, by agents; those that said something last come first."""
        found: dict[str, str] = {}
        for (agent, _), tail in reversed(self._tails.items()):
            if tail.place:
                found.setdefault(agent, tail.place)
        return found

    def _newest(self, agent: Agent, most: int, since: float | None) -> list[LogLine]:
        look = self._looks.of(agent, now=True)
        return self._tail(agent, look).newest(most, since) if look is not None else []

    def _earlier(self, agent: Agent, most: int, since: float) -> list[LogLine]:
        look = self._looks.afresh(agent)
        if look is None or look.identity is None or look.written < since * 1e9:
            return []
        return _Tail(look.path, look.form, self._reading(agent)).newest(most, since)

    def _reading(self, agent: Agent) -> Reading:
        return Reading(agent.name, lambda text: self._clean(agent.name, text))

    def _added(self, agents: tuple[Agent, ...], since: float, most: int) -> tuple[list[LogLine], bool]:
        found: list[LogLine] = []
        room, is_more = AT_ONCE, False
        begin = self._first % len(agents) if agents else 0
        for agent in (*agents[begin:], *agents[:begin]):
            look = self._looks.of(agent)
            if look is None or look.identity is None:
                continue
            tail = self._tail(agent, look)
            if tail.is_at(look):
                continue
            if room <= 0:
                is_more = True
                break
            self._first += 1
            lines, read, left = tail.added(min(room, SLICE), since, most)
            room, is_more = room - read, is_more or left
            if lines:
                key = (agent.name, look.path)
                self._tails[key] = self._tails.pop(key)
            found += lines
        return found, is_more

    def _tail(self, agent: Agent, look: Look) -> _Tail:
        """The tail of an agent's transcript; by agent and file, because an agent may turn to another file and back."""
        tail = self._tails.get((agent.name, look.path))
        if tail is None:
            tail = _Tail(look.path, look.form, self._reading(agent), self._resumed.pop(agent.name, ""))
            self._tails[agent.name, look.path] = tail
            while len(self._tails) > MOST_TAILS:
                del self._tails[next(iter(self._tails))]
        return tail


class _Tail:
    """One transcript, read on from where it was read to."""

    def __init__(self, path: str, form: TranscriptForm, reading: Reading, resumed: str = "") -> None:
        self._path = path
        self._form = form
        self._reading = reading
        self._place = Place()
        self._resumed = resumed
        self._end = (-1, 0)
        """How long the file was when all of it had been read, and when it had been written."""

    @property
    def place(self) -> str:
        """The place as another reader can be told it; empty before the first reading."""
        if self._place.identity is None:
            return ""
        return f"{self._place.offset:x}.{crc32(self._place.mark):x}"

    def is_at(self, look: Look) -> bool:
        """Whether nothing was added since it was read."""
        return look.identity == self._place.identity and (look.size, look.written) == self._end

    def newest(self, most: int, since: float | None) -> list[LogLine]:
        """From the end back to enough lines, or to the first that is older; the end is where reading goes on."""
        with open_lines(self._path) as lines:
            return self._from_the_end(lines, most, since) if lines is not None else []

    def added(self, limit: int, since: float, most: int) -> tuple[list[LogLine], int, bool]:
        """What was added, how many bytes that was, and whether there is more."""
        with open_lines(self._path) as lines:
            if lines is None:
                return [], 0, False
            if self._resumed:
                self._go_to(lines, self._resumed)
                self._resumed = ""
            if not self._place.is_in(lines):
                told = self._from_the_end(lines, most, since)
                return told, min(lines.size, LOOKED_AT), False
            waits = lines.size - self._place.offset
            if waits > LEFT_OUT:
                told = self._from_the_end(lines, most, since)
                left = LogLine(self._reading.agent, "error", f"({waits} bytes came at once; only their end is told)")
                return [left, *told], LOOKED_AT, False
            return self._read_on(lines, limit)

    def _read_on(self, lines: OpenLines, limit: int) -> tuple[list[LogLine], int, bool]:
        said: list[Said] = []
        begin, seen = self._place.offset, 0
        for seen, line in enumerate(lines.forwards(begin), 1):
            self._place.offset = line.end + 1
            said += self._said(line)
            if seen >= MOST_RAW or self._place.offset - begin >= limit:
                break
        else:
            seen = 0
        self._place.settle(lines)
        is_more = seen > 0 and self._place.offset < lines.size
        self._end = (-1, 0) if is_more else (lines.size, lines.written)
        return self._reading.lines(said), self._place.offset - begin, is_more

    def _from_the_end(self, lines: OpenLines, most: int, since: float | None) -> list[LogLine]:
        self._place.begin(lines)
        found: list[Said] = []
        pieces = 0
        for line in islice(lines.backwards(limit=LOOKED_AT), MOST_RAW):
            self._place.offset = max(self._place.offset, line.end + 1)
            said = self._said(line)
            found += said
            pieces += sum(len(one.pieces) for one in said)
            if pieces >= 2 * most or (since is not None and _is_older(said, since)):
                break
        # A last line longer than what was looked at: reading goes on behind it, not at the file's beginning.
        self._place.offset = self._place.offset or lines.end_of_lines()
        self._place.settle(lines)
        self._end = (lines.size, lines.written)
        told = self._reading.lines(reversed(found))
        young = [line for line in told if since is None or line.at is None or line.at >= since]
        return young[-most:] if most else []

    def _go_to(self, lines: OpenLines, place: str) -> None:
        """Begin at a place of another reader, if it is one of this file; the tools before it are learnt."""
        try:
            offset, mark = (int(part, 16) for part in place.split("."))
        except ValueError:
            return
        length = min(MARK, offset)
        before = lines.bytes_at(offset - length, length)
        if not 0 <= offset <= lines.size or crc32(before) != mark:
            return
        self._place.identity, self._place.offset, self._place.mark = lines.identity, offset, before
        known = [one for line in islice(lines.backwards(offset, LEARNT_FROM), MOST_RAW) for one in self._said(line)]
        self._reading.learn(reversed(known))

    def _said(self, line: Line) -> list[Said]:
        if line.is_clipped:
            told = Said((Piece("tool", f"({line.end - line.start} bytes, too many to be shown)"),))
            return [told] if self._form.matters(line.content) else []
        said = self._form.said(line.content)
        return [said] if said is not None else []


def _is_older(said: Sequence[Said], since: float) -> bool:
    times = [at for one in said for piece in one.pieces if (at := read_time(piece.at)) is not None]
    return bool(times) and max(times) < since


def _look(path: str, form: TranscriptForm, at: float) -> Look:
    try:
        found = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return Look(at, path, form, None, 0)
    is_plain = stat.S_ISREG(found.st_mode)
    identity = (found.st_dev, found.st_ino) if is_plain else None
    return Look(at, path, form, identity, found.st_size, found.st_mtime_ns)
