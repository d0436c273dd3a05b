"""What agents' transcripts say from their ends on: the newest lines at first, then what is added. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.log_lines import LogLine, Reading
from phoenixd.documents.transcript import Piece, Said, TranscriptForm
from phoenixd.drivers.transcripts.lines import Line, OpenLines, open_lines
from phoenixd.drivers.transcripts.place import Place

LOOKED_AT = 8 << 20
"""Bytes before the end in which the newest lines of a transcript are looked for."""
ADDED = 8 << 20
"""Bytes of news that are read at once; of more only the end."""
MOST_RAW = 20_000
"""Lines of a file that are looked at for one answer."""

Where = Callable[[Agent], tuple[str, TranscriptForm] | None]


class TranscriptLog:
    """One reader's view: what it was given of each agent is not given again."""

    def __init__(self, where: Where, clean: Callable[[str, str], str]) -> None:
        self._where = where
        self._clean = clean
        self._tails: dict[str, _Tail] = {}

    async def lines(self, agents: Sequence[Agent], most: int, since: float | None) -> list[LogLine]:
        """Of an agent that is new here the newest `most` lines, none older than `since`; of others what was added."""
        return await to_thread.run_sync(self._lines, tuple(agents), most, since)

    def _lines(self, agents: tuple[Agent, ...], most: int, since: float | None) -> list[LogLine]:
        found: list[LogLine] = []
        for agent in agents:
            place = self._where(agent)
            if place is None:
                continue
            tail = self._tails.get(agent.name)
            if tail is None or tail.path != place[0]:
                reading = Reading(agent.name, lambda text, name=agent.name: self._clean(name, text))  # type: ignore[misc]
                # Another file is another session: all of it is news, where the one before it was followed.
                tail = self._tails[agent.name] = _Tail(*place, reading)
            found += tail.lines(most, since)
        return found


class _Tail:
    """One transcript, read on from where it was read to."""

    def __init__(self, path: str, form: TranscriptForm, reading: Reading) -> None:
        self.path = path
        self._form = form
        self._reading = reading
        self._place = Place()

    def lines(self, most: int, since: float | None) -> list[LogLine]:
        with open_lines(self.path) as lines:
            if lines is None:
                return []
            if self._place.is_in(lines) and lines.size <= self._place.offset + ADDED:
                return self._added(lines)
            return self._newest(lines, most, since)

    def _added(self, lines: OpenLines) -> list[LogLine]:
        said: list[Said] = []
        for line in islice(lines.forwards(self._place.offset), MOST_RAW):
            self._place.offset = line.end + 1
            said += self._said(line)
        self._place.settle(lines)
        return self._reading.lines(said)

    def _newest(self, lines: OpenLines, most: int, since: float | None) -> list[LogLine]:
        """From the end back to enough lines, or to the first that is older; the end is where reading goes on."""
        self._place.begin(lines)
        found: list[Said] = []
        pieces = 0
        for line in islice(lines.backwards(limit=LOOKED_AT), MOST_RAW):
            self._place.offset = max(self._place.offset, line.end + 1)
            said = self._said(line)
            found += said
            pieces += sum(len(one.pieces) for one in said)
            record = self._form.record(line.content) if since is not None and not line.is_clipped else None
            is_older = since is not None and record is not None and record.at is not None and record.at < since
            if is_older or (since is None and pieces >= 2 * most):
                break
        self._place.settle(lines)
        told = self._reading.lines(reversed(found))
        young = [line for line in told if since is None or line.at is None or line.at >= since]
        return young[-most:] if most else []

    def _said(self, line: Line) -> list[Said]:
        if line.is_clipped:
            told = Said((Piece("tool", f"({line.end - line.start} bytes, too many to be shown)"),))
            return [told] if self._form.matters(line.content) else []
        said = self._form.said(line.content)
        return [said] if said is not None else []
