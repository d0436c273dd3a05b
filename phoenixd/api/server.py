"""The unix socket and uvicorn on it: bound by us, and quiet when idle. What one client may do is in `connection.py`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import structlog
from uvicorn.config import Config
from uvicorn.server import Server

from phoenixd.api.application import Api
from phoenixd.api.connection import HEADER_LIMIT, Connection
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError

IDLE_TIMEOUT = 30
BACKLOG = 32
"""Clients that wait to be let in. One that finds no room waits in the order of coming; in a longer queue the fastest
clients would take every place."""
AT_ONCE = 8
"""How many of them are let in before anything else has its turn."""
LOOK_EVERY = 5.0
"""Seconds between two looks whether the socket still has its name."""
GRACE = 1.0
"""Seconds that running requests get when the server ends."""


def bind(path: Path, group: int | None = None) -> socket.socket:
    """The listening socket, for the owner alone or also for a group. Replaces a stale one; raises AlreadyRunning.

    The caller holds the state directory's lock, so a daemon that still answers here belongs to another state directory.
    """
    # A process that listens and lets nobody in would keep the event loop for ever.
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)) as probe:
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            raise AlreadyRunning(f"somebody listens at {path}, and lets nobody in", "phoenixctl status") from None
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ECONNREFUSED):
                raise ConfigurationError(
                    f"{path} cannot be used: {error.strerror}", "choose another --runtime-dir"
                ) from error
        else:
            raise AlreadyRunning(f"another daemon answers at {path}", "phoenixctl status")
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ConfigurationError(f"{path} is there and is no socket", f"move it away: mv {path} {path}.old")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    # The file takes the mode of the socket. A umask is that of all threads: a directory that another one made meanwhile
    # could be entered by nobody.
    os.fchmod(listener.fileno(), 0o600)
    listener.bind(os.fspath(path))
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
        os.chmod(path, 0o660)
    listener.listen(BACKLOG)
    return listener


log = structlog.get_logger("phoenixd.api")


class ControlServer(Server):
    """uvicorn without its tick: it sleeps until it is told to end, and leaves signals to the daemon."""

    def __init__(self, api: Api, **limits: float) -> None:
        protocol = type("BoundConnection", (Connection,), {"api": api, **limits})
        super().__init__(
            Config(
                api.application(),
                http=protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=IDLE_TIMEOUT,
                h11_max_incomplete_event_size=HEADER_LIMIT,
                backlog=AT_ONCE,
            )
        )
        self._api = api
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Begin to end: no new connections, streams end, running requests get a second."""
        self.should_exit = True
        self._ending.set()
        self._api.closing.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            # asyncio takes one number for the queue and for how many of it are accepted in one go.
            listener.listen(BACKLOG)

    async def keep_named(
        self, listener: socket.socket, bind_again: Callable[[], socket.socket], rest: Callable[[], Awaitable[object]]
    ) -> None:
        """Listen anew whenever somebody took the socket's file away: else nobody could ever ask or stop this daemon."""
        path = Path(listener.getsockname())
        ours, failure = _identity(path), ""
        while True:
            await rest()
            if _identity(path) == ours:
                continue
            try:
                _clear(path)
                fresh = bind_again()
            except (OSError, PhoenixdError) as error:
                if str(error) != failure:
                    log.error("socket_not_made_again", path=str(path), reason=str(error))
                failure = str(error)
                continue
            ours, failure = _identity(path), ""
            before = list(self.servers)
            await self.startup([fresh])
            for server in before:
                server.close()
            log.warning("socket_made_again", path=str(path), reason="somebody took it away or put another in its place")

    async def main_loop(self) -> None:
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        tasks = set(self.server_state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GRACE)
            for task in late:
                task.cancel()
        for connection in list(self.server_state.connections):
            cast(Any, connection).transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    api: Api,
    listener: socket.socket,
    on_ready: Callable[[ControlServer], None] | None = None,
    bind_again: Callable[[], socket.socket] | None = None,
    rest: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(LOOK_EVERY),
) -> None:
    """Answer on the listening socket until `end` is called or the task is cancelled; then nobody listens any more.

    bind_again: makes the same socket anew when its file is gone; rest: returns when it is time to look for that.
    """
    server = ControlServer(api)
    if on_ready is not None:
        on_ready(server)
    keeping = asyncio.create_task(server.keep_named(listener, bind_again, rest)) if bind_again else None
    try:
        await server.serve(sockets=[listener])
    except asyncio.CancelledError:
        server.end()
        with anyio.CancelScope(shield=True):
            await server.shutdown([listener])
        raise
    finally:
        if keeping is not None:
            keeping.cancel()


def _clear(path: Path) -> None:
    """Take away what stands in the socket's place, but move a directory aside with all of it; raises OSError."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        # A name of its own for each: another hand may have taken any name that could be guessed.
        aside = tempfile.mkdtemp(prefix=f"{path.name}.aside-", dir=path.parent)
        path.rename(aside)
        log.warning("directory_moved_aside", path=str(path), to=aside, reason="it stood in the socket's place")


def _identity(path: Path) -> tuple[int, int]:
    """What tells a socket's file from another of its name; zeros for none."""
    try:
        found = path.lstat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
