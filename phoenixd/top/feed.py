"""The stream as a client follows it: over restarts of the daemon, from where it was, whole again where that is unknown.

`follow` never ends by itself. What it gives is frames as they came; a link that is lost is silence, which the model's
age shows. `ask` is one question, in a thread, so that a slow answer holds nothing up.
"""

from __future__ import annotations

import _socket
import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from phoenixd.ctl import wire
from phoenixd.top import told
from phoenixd.top.first import HEAD, PATH, Begun
from phoenixd.top.frames import Frame, Reader

SILENCE = 10.0
"""Seconds without even a beat after which the link is taken for dead; the daemon beats each two."""
RETRY = 0.5
CHUNK = 1 << 16


@dataclass(slots=True)
class Refused(Exception):
    """The daemon answers, and does not let this client follow."""

    answer: wire.Answer


@dataclass(slots=True)
class Feed:
    """Where the daemon may listen, and the newest row of the journal that this client knows.

    begun: a stream that was asked for already; it is heard to its end before another one is asked for.
    """

    places: list[bytes]
    last_id: int | None = None
    begun: Begun | None = None

    async def follow(self) -> AsyncIterator[list[Frame]]:
        """Frames, as many as came together. Raises Refused."""
        while True:
            try:
                async for frames in self._link():
                    yield frames
            except (OSError, ValueError, TimeoutError):
                # Gone, torn or silent: the next link says what was missed.
                pass
            await asyncio.sleep(RETRY)

    async def _link(self) -> AsyncIterator[list[Frame]]:
        begun, self.begun = self.begun, None
        if begun is not None and begun.connection is not None and begun.is_stream:
            async for frames in self._go_on(begun, begun.connection):
                yield frames
            return
        if begun is not None:
            begun.close()
        reader, writer = await self._connect()
        try:
            headers = (f"last-event-id: {self.last_id}",) if self.last_id is not None else ()
            connection = writer.get_extra_info("socket")
            writer.write(wire.request(connection, "GET", PATH, accept="text/event-stream", headers=headers))
            async with asyncio.timeout(SILENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            if b"text/event-stream" not in head.lower():
                await _refuse(head, reader)
            async for found in self._heard(reader, Reader()):
                yield found
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ConnectionResetError from error
        finally:
            writer.close()

    async def _go_on(self, begun: Begun, connection: _socket.socket) -> AsyncIterator[list[Frame]]:
        taken = socket.socket(fileno=connection.detach())
        taken.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=taken, limit=HEAD)
        try:
            async for found in self._heard(reader, begun.reader):
                yield found
        finally:
            writer.close()

    async def _heard(self, reader: asyncio.StreamReader, frames: Reader) -> AsyncIterator[list[Frame]]:
        while received := await _read(reader, CHUNK):
            if found := frames.feed(received):
                self._note(found)
                yield found

    def _note(self, frames: list[Frame]) -> None:
        for frame in frames:
            if frame.event == "resync":
                self.last_id = None
            elif frame.id is not None:
                self.last_id = frame.id

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        refused: OSError = FileNotFoundError("no place is named")
        for place in self.places:
            try:
                return await asyncio.open_unix_connection(os.fsdecode(place), limit=HEAD)
            except OSError as error:
                refused = error
        raise refused


async def ask(
    places: list[bytes],
    method: str,
    target: str,
    body: bytes | None = None,
    *,
    text: bool = False,
    timeout: float = 90.0,
) -> told.Answer | None:
    """One question; None where no daemon answers. An order bears a key, so that asked twice it is done once."""
    headers: tuple[str, ...] = ()
    if method == "POST":
        headers = (f"idempotency-key: {os.urandom(16).hex()}", f"prefer: wait={int(timeout - 5)}")

    def asked() -> wire.Answer | None:
        return wire.ask(places, method, target, body, as_json=not text, headers=headers, timeout=timeout)

    found = await _aside(asked)
    return told.read(found.status, found.exit, found.type, found.body) if found is not None else None


async def _aside(asked: Callable[[], wire.Answer | None]) -> wire.Answer | None:
    """In a thread that nobody waits for at the end: who leaves is not held up by an answer that is late."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[wire.Answer | None] = loop.create_future()

    def settle(found: wire.Answer | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(found)

    def run() -> None:
        found, error = None, None
        try:
            found = asked()
        except Exception as raised:  # noqa: BLE001 - it is raised where it is awaited
            error = raised
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=run, daemon=True).start()
    return await done


async def _read(reader: asyncio.StreamReader, size: int) -> bytes:
    """At most `size` bytes. Not by wait_for, which in Python 3.11 can swallow that its task is canceled."""
    async with asyncio.timeout(SILENCE):
        return await reader.read(size)


async def _refuse(head: bytes, reader: asyncio.StreamReader) -> None:
    rest = await _read(reader, -1)
    answer = wire.parse(head + rest)
    if answer is None:
        raise ConnectionResetError
    if answer.status >= 500:
        # Busy, or about to end: a daemon that comes back answers otherwise.
        raise ConnectionResetError
    raise Refused(answer)
