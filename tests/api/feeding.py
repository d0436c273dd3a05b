"""A client of the feed as it is written down: frames are read off the stream, and a model is kept by them alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phoenixd.top import model as top
from phoenixd.top.frames import Frame as TopFrame


@dataclass(frozen=True)
class Frame:
    event: str
    data: Any
    id: int | None


@dataclass
class Model:
    """What a client knows. It knows nothing but what frames told it."""

    boot: str = ""
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[int, dict[str, Any]] = field(default_factory=dict)
    alerts: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[int] = field(default_factory=list)
    closed: dict[int, tuple[str | None, str]] = field(default_factory=dict)
    change: int = -1
    last_id: int | None = None
    resyncs: int = 0
    top: top.Model = field(default_factory=top.Model)
    """What `phoenixctl top` makes of the same frames."""

    def hear(self, frame: Frame) -> None:
        self.top = top.hear(self.top, [TopFrame(frame.event, frame.data, frame.id)], 0.0)
        if frame.id is not None:
            self.last_id = frame.id
        match frame.event:
            case "hello":
                if frame.data["whole"]:
                    self.agents, self.items, self.alerts = {}, {}, {}
                else:
                    assert frame.data["boot"] == self.boot
                self.boot = frame.data["boot"]
            case "agent":
                self.agents[frame.data["name"]] = frame.data
            case "gone":
                # Removed, or not chosen any more: its items and alerts go with it.
                name = frame.data["name"]
                self.agents.pop(name, None)
                self.items = {key: item for key, item in self.items.items() if item["agent"] != name}
                self.alerts = {key: alert for key, alert in self.alerts.items() if alert["agent"] != name}
            case "item":
                self.items[frame.data["id"]] = frame.data
            case "item-closed":
                self.items.pop(frame.data["id"], None)
                self.closed[frame.data["id"]] = frame.data["by"], frame.data["how"]
            case "alert":
                if frame.data["over"]:
                    self.alerts.pop(frame.data["id"], None)
                else:
                    self.alerts[frame.data["id"]] = frame.data
            case "note":
                self.notes.append(frame.id or 0)
            case "beat":
                self.change = frame.data["as_of"]["change"]
            case "resync":
                self.resyncs += 1
            case _:
                raise AssertionError(f"an event that is not written down: {frame.event}")

    def is_as_top(self) -> bool:
        """Whether the model of `phoenixctl top` says the same, field by field."""
        return (
            {name: told.body for name, told in self.top.agents.items()} == self.agents
            and {number: told.body for number, told in self.top.items.items()} == self.items
            and {number: told.body for number, told in self.top.alerts.items()} == self.alerts
            and self.top.boot == self.boot
        )


def comparable(body: dict[str, Any]) -> dict[str, Any]:
    """A row without its ages."""
    told = {key: value for key, value in body.items() if key != "due_in"}
    for key, age in (("brief", "age"), ("attached", "at")):
        if isinstance(told.get(key), dict):
            told[key] = {name: value for name, value in told[key].items() if name != age}
    return told


def frame_of(block: str) -> Frame | None:
    said = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
    if "event" not in said:
        return None
    return Frame(said["event"], json.loads(said["data"]), int(said["id"]) if "id" in said else None)


async def frames(socket: Path, path: str = "/v1/stream", last_id: int | None = None) -> AsyncIterator[Frame]:
    """Frames until the server closes, or the reader does."""
    reader, writer = await asyncio.open_unix_connection(socket, limit=1 << 26)
    try:
        came_back = f"Last-Event-ID: {last_id}\r\n" if last_id is not None else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: p\r\nAccept: text/event-stream\r\n{came_back}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.partition(b"\r\n")[0], head
        pending = ""
        while size := int((await reader.readline()).strip() or b"0", 16):
            pending += (await reader.readexactly(size + 2))[:-2].decode()
            *blocks, pending = pending.split("\n\n")
            for block in blocks:
                if (frame := frame_of(block)) is not None:
                    yield frame
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()
