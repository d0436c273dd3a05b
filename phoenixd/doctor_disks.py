"""What `phoenixctl doctor` finds of the disks that an agent writes to. Blocking.

An agent whose disk is full can work on, and take each write that fails for a fault of its own: no hook tells of it. The
shim looks when a turn fails and when a run ends; this looks when a person asks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Protocol

from phoenixd.api.finding import Finding

LEAST_ROOM = 1 << 20
"""Bytes below which a disk is full, as in the shim's disks.py."""


class Room(Protocol):
    """What of `os.statvfs` is read."""

    @property
    def f_flag(self) -> int: ...
    @property
    def f_blocks(self) -> int: ...
    @property
    def f_frsize(self) -> int: ...
    @property
    def f_bfree(self) -> int: ...
    @property
    def f_bavail(self) -> int: ...
    @property
    def f_files(self) -> int: ...
    @property
    def f_ffree(self) -> int: ...
    @property
    def f_favail(self) -> int: ...


def disk_findings(name: str, cwd: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """The places that a run writes to and that have no room; each disk once, however many of them lie on it."""
    places = {
        "its directory": cwd,
        "its HOME": environment.get("HOME", ""),
        "its TMPDIR": environment.get("TMPDIR", ""),
    }
    told: set[int] = set()
    for what, path in places.items():
        if not path.startswith("/"):
            continue
        try:
            disk, room = os.stat(path).st_dev, os.statvfs(path)
        except OSError:
            continue  # That a directory is missing is told by who looks for it.
        lacks = lacking(room, is_root=os.geteuid() == 0)
        if lacks and disk not in told:
            told.add(disk)
            title = f"{name}: the disk of {what} has no room for {lacks}"
            place = shlex.quote(path)
            remedy = f"free some space: df -h {place}; du -xsh {place}/*"
            yield Finding("problem", title, path, remedy, together="what it writes there fails")


def lacking(room: Room, *, is_root: bool) -> str:
    """What a disk has no room for, in words; empty where it has room, or takes nothing in any case."""
    if room.f_flag & os.ST_RDONLY or not room.f_blocks:
        return ""
    # Of what is kept back for root only root can have any.
    blocks, files = (room.f_bfree, room.f_ffree) if is_root else (room.f_bavail, room.f_favail)
    if blocks * room.f_frsize < LEAST_ROOM:
        return "a mebibyte more"
    return "one more file" if room.f_files > 0 and not files else ""
