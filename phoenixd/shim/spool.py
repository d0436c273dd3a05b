"""Lifecycle events until the daemon has acknowledged them: in memory, and in a file for the shim's successor.

The file holds one JSON object a line: events in order, and {"acked": n} wherever everything up to n was acknowledged.
Numbers go on where the last shim's ended, so that a number never means two events.

What is too much goes body by body, and never out of the count: the next event of its kind says as `more` how many it
stands for, and the newest of each kind is kept.
"""

from __future__ import annotations

import errno
import json
import os
import time
from bisect import bisect_left, bisect_right
from collections import deque

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_EVENTS = 1000
MAX_BYTES = 1024 * 1024
# Acknowledged lines stay in the file until it has grown to this or nothing is left to be acknowledged: to write it anew
# for each would cost more than it saves.
COMPACT_AT = 2 * MAX_BYTES
READ_LIMIT = 4 * MAX_BYTES
RETRY_SECONDS = 1.0


class Kept:
    """An event. more: how many older ones of its kind it stands for; told: how many of these this daemon has heard."""

    __slots__ = ("kind", "more", "packet", "told")

    def __init__(self, packet: bytes, kind: tuple[int, str], more: int) -> None:
        self.packet = packet
        self.kind = kind
        self.more = more
        self.told = 0


class Spool:
    """Bounded: when it is full, the oldest event that has a newer one of its kind becomes a count in that one.

    `dropped` counts the events that had none and were forgotten. A kind is an incarnation and the name of a hook.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept: dict[int, Kept] = {}
        self._seqs: list[int] = []
        self._of_kind: dict[tuple[int, str], deque[int]] = {}
        self._bytes = 0
        self._sent = 0
        self._file_bytes = 0
        self._fd: int | None = None
        self._lacks_some = False
        self._next_try = 0.0
        self.last_seq = 0
        self.dropped = 0
        self._load()
        self._rewrite()

    def add(self, seq: int, packet: bytes, kind: tuple[int, str] = (0, "")) -> None:
        """Keep the encoded event that was given the number `next_seq()`."""
        self.last_seq = seq
        self._keep(seq, Kept(packet, kind, 0))
        self._append(packet)

    def next_seq(self) -> int:
        return self.last_seq + 1

    def acknowledge(self, seq: int) -> None:
        """Forget every event up to and including `seq`."""
        if not self._forget(seq):
            return
        line = b'{"acked":%d}' % min(seq, self.last_seq)
        if self._seqs:
            self._append(line)
        elif not self._empty(line + b"\n"):
            self._rewrite()

    def after(self, seq: int) -> tuple[int, bytes] | None:
        """The first unacknowledged event with a greater number."""
        place = bisect_right(self._seqs, seq)
        if place == len(self._seqs):
            return None
        kept = self._kept[self._seqs[place]]
        return self._seqs[place], _counting(kept.packet, kept.more - kept.told)

    def __contains__(self, seq: int) -> bool:
        """Whether the event itself is still to be told, and not only counted."""
        return seq in self._kept

    def unsent(self) -> tuple[int, bytes] | None:
        """The first event that the daemon on the line has not been sent."""
        return self.after(self._sent)

    def mark_sent(self, seq: int) -> None:
        """The daemon on the line has been sent this event, and what it stands for."""
        self._sent = seq
        if (kept := self._kept.get(seq)) is not None:
            kept.told = kept.more

    def send_again(self) -> None:
        """Another daemon is on the line, or the same one anew: what reached it nobody knows."""
        self._sent = 0
        for kept in self._kept.values():
            kept.told = 0

    def _keep(self, seq: int, kept: Kept) -> None:
        self._kept[seq] = kept
        self._seqs.append(seq)
        self._of_kind.setdefault(kept.kind, deque()).append(seq)
        self._bytes += len(kept.packet)
        while len(self._seqs) > MAX_EVENTS or self._bytes > MAX_BYTES:
            self._shorten()

    def _shorten(self) -> None:
        """Turn the oldest event with a newer one of its kind into a part of that one's count."""
        followed = min((seqs[0] for seqs in self._of_kind.values() if len(seqs) > 1), default=None)
        if followed is None:
            self.dropped += 1 + self._remove(self._seqs[0]).more
            return
        older = self._remove(followed)
        newer = self._kept[self._of_kind[older.kind][0]]
        newer.more += 1 + older.more
        newer.told += older.told + (followed <= self._sent)

    def _remove(self, seq: int) -> Kept:
        kept = self._kept.pop(seq)
        del self._seqs[bisect_left(self._seqs, seq)]
        self._bytes -= len(kept.packet)
        seqs = self._of_kind[kept.kind]
        seqs.popleft()  # Whatever goes, the oldest of its kind goes first.
        if not seqs:
            del self._of_kind[kept.kind]
        return kept

    def _forget(self, seq: int) -> bool:
        acknowledged = self._seqs[: bisect_right(self._seqs, seq)]
        for kept in acknowledged:
            self._remove(kept)
        return bool(acknowledged)

    def _append(self, packet: bytes) -> None:
        if self._fd is None or self._lacks_some or self._file_bytes + len(packet) > COMPACT_AT:
            self._rewrite()
            return
        line = packet + b"\n"
        try:
            written = os.pwrite(self._fd, line, self._file_bytes)
            if written < len(line):
                os.ftruncate(self._fd, self._file_bytes)  # Half a line would spoil the one after it.
        except OSError:
            written = 0
        self._lacks_some = written < len(line)
        if not self._lacks_some:
            self._file_bytes += written

    def _empty(self, line: bytes) -> bool:
        """Leave this one line in the file, and none of what hooks told: secrets stand there that nobody has hidden yet.

        Killed between the two calls, it leaves the line, a torn one, and lines of what is acknowledged.
        """
        if self._fd is None or self._lacks_some:
            return False
        try:
            if os.pwrite(self._fd, line, 0) < len(line):
                return False
            os.ftruncate(self._fd, len(line))
        except OSError:
            return False
        self._file_bytes = len(line)
        return True

    def _rewrite(self) -> None:
        """The file anew, with nothing but what is still to be acknowledged.

        On a full disk the old file stays, memory has what it lacks, and a later event tries again.
        """
        if self._lacks_some and time.monotonic() < self._next_try:
            return
        first = self._seqs[0] if self._seqs else self.last_seq + 1
        packets = [_counting(kept.packet, kept.more) for kept in self._kept.values()]
        content = b"\n".join([records.encode({"acked": first - 1}), *packets, b""])
        temporary = f"{self._path}.shim"
        _unlink(temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = None
        try:
            fd = os.open(temporary, flags, 0o600)
            if os.write(fd, content) < len(content):
                raise OSError(errno.ENOSPC, "no room for all of it")
            os.rename(temporary, self._path)
        except OSError:
            self._lacks_some, self._next_try = True, time.monotonic() + RETRY_SECONDS
            if fd is not None:
                os.close(fd)
                _unlink(temporary)
            return
        self._close()
        self._fd, self._file_bytes, self._lacks_some = fd, len(content), False

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _load(self) -> None:
        """Take over what another shim left, forgiving torn and foreign lines."""
        try:
            content = records.read_bytes(self._path, READ_LIMIT)
        except records.Unreadable:
            return
        for record in _records(content):
            seq, acked = _number(record.get("seq")), _number(record.get("acked"))
            if seq > self.last_seq:
                self.last_seq = seq
                more = _number(record.pop("more", 0))
                kind = _number(record.get("incarnation")), str(record.get("kind"))[:64]
                self._keep(seq, Kept(records.encode(record), kind, more))
            elif acked:
                self.last_seq = max(self.last_seq, acked)
                self._forget(acked)


def _counting(packet: bytes, more: int) -> bytes:
    """The event, saying how many older ones it stands for."""
    return b'%s,"more":%d}' % (packet[:-1], more) if more else packet


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 2**53 else 0


def _records(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record
