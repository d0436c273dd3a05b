"""Reads of /proc that tell want of descriptors or memory apart from a process that is gone or hidden."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

READ_LIMIT = 65536
PIECE = 16384
"""Bytes asked for at once. The kernel gives a long list in pieces of its own, and room for a megabyte costs more than
most files of a process do."""
SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
"""What the kernel says where nothing is wrong with what was asked for, and it has nothing left to ask with."""
PF_EXITING = 4
"""Of the kernel's flags of a process: set before its memory goes, and with that its environment."""


class Scarce(Exception):
    """There was no descriptor, or no memory, to look with."""


def is_scarce(error: OSError) -> bool:
    """Whether a look failed for want of means."""
    return error.errno in SCARCE


class Stat(NamedTuple):
    """Of /proc/PID/stat. start_time: clock ticks since boot. is_ending: it gives back its memory, or has."""

    parent: int
    start_time: int
    is_ending: bool


def stat_of(pid: int) -> Stat | None:
    """What /proc/PID/stat says; None where it is gone or hidden; raises Scarce."""
    # The command's name stands in parentheses and may hold anything, also parentheses.
    fields = read(pid, "stat").rpartition(")")[2].split()
    if len(fields) < 20 or not fields[1].isdigit():
        return None
    return Stat(int(fields[1]), int(fields[19]), bool(int(fields[6]) & PF_EXITING))


def is_ending(pid: int) -> bool:
    """Whether a process is on its way out, or its first thread is: then nobody can read what it was started with."""
    found = stat_of(pid)
    return found is not None and found.is_ending


def read(pid: int, name: str) -> str:
    """A file of a process as text; empty where it is gone or hidden; raises Scarce."""
    return read_bytes(pid, name).decode("utf-8", "replace")


def read_bytes(pid: int, name: str, limit: int = READ_LIMIT) -> bytes:
    """A file of a process up to its end, or to about the limit; empty where it is gone or hidden; raises Scarce."""
    pieces: list[bytes] = []
    try:
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while limit > 0 and (piece := os.read(descriptor, PIECE)):
                pieces.append(piece)
                limit -= len(piece)
        finally:
            os.close(descriptor)
    except OSError as error:
        heed(error)
        return b""
    return b"".join(pieces)


def heed(error: OSError) -> None:
    """Raise Scarce where an error says nothing about the process that was looked at."""
    if is_scarce(error):
        raise Scarce from error
