"""A living server on a unix socket in a temporary directory, with a fake daemon behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from phoenixd.api.application import Api
from phoenixd.api.rights import Doorkeeper
from phoenixd.api.server import ControlServer, bind
from tests.api.daemon import FakeDaemon


@dataclass
class Answer:
    """A response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def exit(self) -> int:
        return int(self.headers["phoenix-exit"])


@dataclass
class Live:
    """A running server and a small client of its own, so that no library smooths over what is sent."""

    daemon: FakeDaemon
    socket: Path
    server: ControlServer
    api: Api
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: Any = None, text: bool = False, **headers: str) -> Answer:
        payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {"host": "phoenixd", "connection": "close", "content-length": str(len(payload)), **self.headers}
        if text:
            told["accept"] = "text/plain"
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = (
            f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in told.items()) + "\r\n"
        )
        return parse(await self.raw(head.encode() + payload))

    async def raw(self, sent: bytes, timeout: float = 10) -> bytes:
        """Send bytes, read until the server closes."""
        return await asyncio.to_thread(exchange, self.socket, sent, timeout)


def exchange(path: Path, sent: bytes, timeout: float = 10) -> bytes:
    """A client that reads what was answered also where the server no longer wanted to hear all of it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.connect(os.fspath(path))  # Blocking, so that it waits for a place in a full backlog.
        connection.settimeout(timeout)
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        received = b""
        with contextlib.suppress(ConnectionError):
            while chunk := connection.recv(65536):
                received += chunk
        return received


def parse(raw: bytes) -> Answer:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return Answer(int(first.split()[1]), headers, body)


@pytest.fixture
def runtime() -> Iterator[Path]:
    # Not pytest's own directory: a socket's path has 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="phx"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@contextlib.asynccontextmanager
async def serving(daemon: FakeDaemon, runtime: Path, group: int | None = None, **limits: Any) -> AsyncIterator[Live]:
    path = runtime / "api.sock"
    listener = bind(path, group)
    api = Api(
        daemon,
        Doorkeeper(daemon.agent_of_token, group, seated=daemon.seated),
        body_timeout=limits.pop("body_timeout", 15.0),
    )
    api.beat = limits.pop("beat", 10.0)
    server = ControlServer(api, **limits)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield Live(daemon, path, server, api)
    finally:
        server.end()
        await task


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon()


@pytest.fixture
async def live(daemon: FakeDaemon, runtime: Path) -> AsyncIterator[Live]:
    async with serving(daemon, runtime) as running:
        yield running
