"""Lifecycle events until the daemon has acknowledged them: in memory, and in a file for the shim's successor.

The file holds one JSON object a line: events in order, and {"acked": n} wherever everything up to n was acknowledged.
Numbers go on where the last shim's ended, so that a number never means two events.
"""

from __future__ import annotations

import errno
import json
import os
import time

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_EVENTS = 1000
MAX_BYTES = 1024 * 1024
# Acknowledged lines stay in the file until it has grown to this; rewriting it for each would cost more than it saves.
COMPACT_AT = 2 * MAX_BYTES
READ_LIMIT = 4 * MAX_BYTES
RETRY_SECONDS = 1.0


class Spool:
    """Bounded: when it is full the oldest event goes, and `dropped` counts it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._packets: dict[int, bytes] = {}
        self._bytes = 0
        self._file_bytes = 0
        self._fd: int | None = None
        self._lacks_some = False
        self._next_try = 0.0
        self.last_seq = 0
        self.dropped = 0
        self._load()
        self._rewrite()

    def add(self, seq: int, packet: bytes) -> None:
        """Keep the encoded event that was given the number `next_seq()`."""
        self.last_seq = seq
        self._keep(seq, packet)
        self._append(packet)

    def next_seq(self) -> int:
        return self.last_seq + 1

    def acknowledge(self, seq: int) -> None:
        """Forget every event up to and including `seq`."""
        if not self._forget(seq):
            return
        if self._packets:
            self._append(records.encode({"acked": next(iter(self._packets)) - 1}))
        else:
            self._rewrite()

    def after(self, seq: int) -> tuple[int, bytes] | None:
        """The first unacknowledged event with a greater number."""
        for kept, packet in self._packets.items():
            if kept > seq:
                return kept, packet
        return None

    def _keep(self, seq: int, packet: bytes) -> None:
        self._packets[seq] = packet
        self._bytes += len(packet)
        while len(self._packets) > MAX_EVENTS or self._bytes > MAX_BYTES:
            oldest = next(iter(self._packets))
            self._bytes -= len(self._packets.pop(oldest))
            self.dropped += 1

    def _forget(self, seq: int) -> bool:
        acknowledged = [kept for kept in self._packets if kept <= seq]
        for kept in acknowledged:
            self._bytes -= len(self._packets.pop(kept))
        return bool(acknowledged)

    def _append(self, packet: bytes) -> None:
        if self._fd is None or self._lacks_some or self._file_bytes + len(packet) > COMPACT_AT:
            self._rewrite()
            return
        line = packet + b"\n"
        try:
            written = os.write(self._fd, line)
            if written < len(line):
                os.ftruncate(self._fd, self._file_bytes)  # Half a line would spoil the one after it.
        except OSError:
            written = 0
        self._lacks_some = written < len(line)
        if not self._lacks_some:
            self._file_bytes += written

    def _rewrite(self) -> None:
        """The file anew, with nothing but what is still to be acknowledged.

        On a full disk the old file stays, memory has what it lacks, and a later event tries again.
        """
        if self._lacks_some and time.monotonic() < self._next_try:
            return
        first = next(iter(self._packets), self.last_seq + 1)
        content = b"\n".join([records.encode({"acked": first - 1}), *self._packets.values(), b""])
        temporary = f"{self._path}.shim"
        _remove(temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
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
                _remove(temporary)
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
                self._keep(seq, records.encode(record))
            elif acked:
                self.last_seq = max(self.last_seq, acked)
                self._forget(acked)


def _remove(path: str) -> None:
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
