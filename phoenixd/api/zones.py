"""The reader's time zone: what TZ of its shell says, understood as the C library does; without it the machine's.

The daemon's own TZ counts for nothing here: people read and type times in the zone of their shell.
"""

from __future__ import annotations

import io
import os
import struct
from datetime import UTC, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LOCALTIME = "/etc/localtime"
DATABASE = "/usr/share/zoneinfo/"
KEPT = 32
"""Zones that are remembered: readers have few, and each is a file."""


def zone_of(words: str | None) -> tzinfo | None:
    """The zone of a reader. words: its TZ, None where it has none; None: as this process has it, which is the
    machine's."""
    if words is None:
        return _machine() if "TZ" in os.environ else None
    return _named(words.removeprefix(":"))


@lru_cache(KEPT)
def _named(words: str) -> tzinfo:
    name = words.removeprefix(DATABASE)
    if name == LOCALTIME:
        return _machine()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _spelled(name)


def _machine() -> tzinfo:
    try:
        with open(LOCALTIME, "rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC


def _spelled(words: str) -> tzinfo:
    """A zone that says its own rules, such as CET-1CEST,M3.5.0,M10.5.0/3; UTC where it is none, as C libraries have it.

    A file of the database may end with such a line for all times after its last change: here it is all that there is.
    """
    one_kind = struct.pack(">lbb", 0, 0, 0) + b"UTC\0"
    header = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    try:
        return ZoneInfo.from_file(io.BytesIO((header + one_kind) * 2 + b"\n" + words.encode("ascii") + b"\n"))
    except ValueError:
        return UTC
