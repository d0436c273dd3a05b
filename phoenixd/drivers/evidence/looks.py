"""One run's files, looked at: what a heartbeat of any hand says, and whether a transcript grew. Blocking: for threads.

An agent's files may be anything, and are opened without following links.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.documents.heartbeat import SIZE_LIMIT, Heartbeat, read_heartbeat
from phoenixd.listings import newest_matching

MOST_TRANSCRIPTS = 64

Signature = tuple[int, ...]

log = structlog.get_logger("phoenixd.evidence")


@dataclass(slots=True)
class Followed:
    """One living run, and what its files looked like last. looked: whether all of them were looked at once."""

    agent: str
    incarnation: int
    run_id: str
    began_wall: float
    interval: float
    heartbeats: tuple[Path, ...]
    where: Callable[[], str | None]
    """Path or glob of its transcript, None where none is known; asked once, and may block."""
    since: float
    """Wall time from which on this daemon follows the run."""
    seen: dict[Path, Signature] = field(default_factory=dict)
    transcript: str | None = None
    transcript_seen: Signature | None = None
    is_found: bool = False
    """Whether it is known where its transcript is."""
    looked: bool = False
    odd_told: str = ""
    """What was wrong with the newest heartbeat, as it was told; a good one clears it."""

    def examine(self, wall: float, touched: Collection[Path] | None = None) -> list[EvidenceSeen]:
        """What its files tell that they did not tell before. wall: now; touched: heartbeats, or directories in which
        anything may have changed; None for all files."""
        events: list[EvidenceSeen] = []
        if touched is None and not self.is_found:
            self.transcript, self.is_found = self.where(), True
        for path in self.heartbeats:
            is_touched = touched is None or path in touched or path.parent in touched
            if is_touched and (event := self._heartbeat(path, wall)):
                events.append(event)
        if touched is None and self.transcript is not None and self._has_grown(self.transcript):
            events.append(EvidenceSeen(self.agent, self.incarnation, "transcript"))
        self.looked = self.looked or touched is None
        return events

    def _heartbeat(self, path: Path, wall: float) -> EvidenceSeen | None:
        signature, before = _signature(path), self.seen.get(path)
        if not signature or signature == before:
            return None
        self.seen[path] = signature
        if before is not None and signature[:3] == before[:3]:
            return None  # Its rights, its owner or its links changed: nobody wrote.
        if not self.looked and min(signature[0], signature[3]) / 1e9 < self.began_wall:
            return None  # It was left by a run before this one.
        content = _read(path)
        if content is None:
            return None
        beat = read_heartbeat(content, wall)
        if beat is not None and beat.run_id is not None:
            # This run's own beats come by the shim's link, faster; another run's say nothing about this one.
            return None
        source = "heartbeat" if beat is not None else "heartbeat that cannot be read"
        odd = "it cannot be read" if beat is None else ""
        if odd and odd != self.odd_told:
            log.warning("heartbeat_odd", agent=self.agent, file=str(path), reason=odd)
        self.odd_told = odd
        # Old is what was old when it was written. What aged since then may have done so while the host slept, the
        # clock was set or nobody looked; and what was written before we followed, while no daemon was there.
        was_seen = self.looked or signature[3] / 1e9 >= self.since
        age = _age_when_written(signature, beat) if was_seen else None
        return EvidenceSeen(self.agent, self.incarnation, source, age)

    def _has_grown(self, pattern: str) -> bool:
        """Whether any file of the transcript is longer or newer than at the last look; the first one only remembers."""
        paths = newest_matching(pattern, MOST_TRANSCRIPTS) if glob.has_magic(pattern) else [pattern]
        found = [signature for path in paths if (signature := _signature(Path(path)))]
        now = (max((one[0] for one in found), default=0), sum(one[2] for one in found))
        before, self.transcript_seen = self.transcript_seen, now
        return before is not None and (now[0] > before[0] or now[1] > before[1])


def _age_when_written(signature: Signature, beat: Heartbeat | None) -> float | None:
    """How old a heartbeat was when it was written; below 0 for a time in the future, None where nothing tells. Its own
    time counts first, then the one that was given to the file (G51). Nobody can choose the time of the change."""
    changed = signature[3] / 1e9
    if beat is not None and beat.stamp is not None:
        return changed - beat.stamp
    age = changed - signature[0] / 1e9
    return age if age > 1 else None


def _signature(path: Path) -> Signature:
    """mtime (ns), inode, size, ctime (ns) of a regular file; empty where there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size, found.st_ctime_ns


def _read(path: Path) -> bytes | None:
    """A heartbeat of any user's hand, which may be anything by the time that it is opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(SIZE_LIMIT + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
