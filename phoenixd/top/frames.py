"""Frames of `/v1/stream`, read off the bytes in which they come."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

LONGEST = 64 * 1024 * 1024
"""Bytes of one frame; a longer one is no frame of the feed."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of the stream. id: the row of the journal it belongs to; None for what no row tells of."""

    event: str
    data: Json
    id: int | None = None


@dataclass(slots=True)
class Reader:
    """Takes bytes as they come and gives frames as they become whole. Raises ValueError for what is no such stream."""

    _pending: bytes = field(default=b"")

    def feed(self, received: bytes) -> list[Frame]:
        *blocks, self._pending = (self._pending + received).split(b"\n\n")
        if len(self._pending) > LONGEST:
            raise ValueError(f"a frame of the stream is longer than {LONGEST} bytes")
        return [frame for block in blocks if (frame := _frame(block)) is not None]


def _frame(block: bytes) -> Frame | None:
    """A frame; None for a comment, and for what says only when to come back."""
    event, data, row = "", "", None
    for line in block.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data = value
        elif name == "id" and value.isascii() and value.isdigit():
            row = int(value)
    if not event or not data:
        return None
    body = json.loads(data)
    return Frame(event, body, row) if isinstance(body, dict) else None
