"""A shim that does what the test says: listens on link.sock, records what it is told, answers as scripted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any

from phoenixd.drivers.processes.proc import boot_id
from phoenixd.drivers.shims.link import PATH_LIMIT
from tests.waiting import eventually


class FakeShim:
    """Lives in the test's own process and loop, so the kernel names this process as the peer."""

    def __init__(self, runtime_dir: Path, agent: str = "a", **hello: Any) -> None:
        self.path = runtime_dir / "agents" / agent / "link.sock"
        self.hello: dict[str, Any] | None = {
            "event": "hello", "protocol": 1, "version": "0.1.0", "agent": agent, "pid": os.getpid(), "start_time": 5,
            "boot_id": boot_id(), "hook_port": 40001, "run": None, "exit": None, **hello,
        }  # fmt: skip
        self.told: list[dict[str, Any]] = []
        self.accepted = 0
        self.connection: socket.socket | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._kept: list[socket.socket] = []

    async def __aenter__(self) -> FakeShim:
        self.path.unlink(missing_ok=True)
        if len(str(self.path)) <= PATH_LIMIT:
            self._listener.bind(str(self.path))
        else:
            directory = os.open(self.path.parent, os.O_PATH)
            self._listener.bind(f"/proc/self/fd/{directory}/{self.path.name}")
            os.close(directory)
        self._listener.listen()
        self._accepting = self._start(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._kept:
            connection.close()
        self._listener.close()

    async def stop_listening(self) -> None:
        self._accepting.cancel()
        await asyncio.wait({self._accepting})
        self._listener.close()

    def stop_reading(self) -> None:
        """Leave everything that comes from now on unread, with the connection open."""
        assert self._serving is not None
        self._serving.cancel()

    def drop(self) -> None:
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            self.connection = None

    def say(self, event: dict[str, Any] | bytes) -> None:
        assert self.connection is not None
        self.connection.send(event if isinstance(event, bytes) else json.dumps(event).encode())

    async def was_told(self, op: str) -> dict[str, Any]:
        return await eventually(
            lambda: next((message for message in self.told if message["op"] == op), None),
            what=f"the shim was told {op}",
        )

    def _start(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            self.drop()
            self.accepted += 1
            self.connection = connection
            self._serving = self._start(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._kept.append(connection)
        with contextlib.suppress(OSError):
            while packet := await loop.sock_recv(connection, 65536):
                message = json.loads(packet)
                self.told.append(message)
                if message["op"] == "hello" and self.hello is not None:
                    connection.send(json.dumps(self.hello).encode())
