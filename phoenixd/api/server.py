"""The unix socket and uvicorn on it: bound by us, quiet when idle, bounded in connections, times and buffers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import h11
import structlog
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from phoenixd.api.application import EXIT_HEADER, PROBLEM_TYPE, Api
from phoenixd.api.peers import Peer, identify
from phoenixd.api.problems import Code, Problem
from phoenixd.errors import AlreadyRunning, ConfigurationError, PhoenixdError

HEADER_LIMIT = 16 * 1024
HEADER_TIMEOUT = 10.0
IDLE_TIMEOUT = 30
WRITE_TIMEOUT = 30.0
MAX_CONNECTIONS = 256
MAX_AGENT_CONNECTIONS = 4
"""For each agent; all agents together get half of the operators' number, so that they cannot use up our files."""
UNKNOWN = "?"
BACKLOG = 32
"""Clients that wait to be let in. Who finds no room waits in the order of coming, while a longer queue would be filled
by whoever connects fastest."""
AT_ONCE = 8
"""How many of them are let in before anything else has its turn."""
LOOK_EVERY = 5.0
"""Seconds between two looks whether the socket still has its name."""
GRACE = 1.0
"""Seconds that running requests get when the server ends."""


def bind(path: Path, group: int | None = None) -> socket.socket:
    """The listening socket, for the owner alone or also for a group. Replaces a stale one; raises AlreadyRunning.

    The caller holds the state directory's lock, so whoever still answers here belongs to another state directory.
    """
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(os.fspath(path))
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
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
        os.chmod(path, 0o660)
    listener.listen(BACKLOG)
    return listener


log = structlog.get_logger("phoenixd.api")


class Connection(H11Protocol):
    """One client. Knows its peer from the first moment, and is closed when it dawdles."""

    api: Api
    serials = itertools.count()
    header_timeout: float = HEADER_TIMEOUT
    write_timeout: float = WRITE_TIMEOUT

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._deadline: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        service = self.api.service
        peer = identify(
            transport.get_extra_info("socket"), service.shim_pids(), service.agents_cgroup, service.agents_dir
        )
        self.peer = peer
        self.serial = next(self.serials)
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": peer}
        if self._is_too_eager(peer):
            self._abort()
            return
        if not self._make_room(peer):
            self._refuse(503, "busy", "too many connections are open", "close some, or try again in a moment")
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self._cancel_stuck()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._is_busy():
            self._expect_nothing()
        elif self._deadline is None:
            self._expect_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_busy():
            # The rest of a refused body, too, has to come within the time for the next request's headers.
            self._expect_nothing()
            self._deadline = self.loop.call_later(self.timeout_keep_alive, self._close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_stuck()
        self._stuck = self.loop.call_later(self.write_timeout, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_stuck()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, where an answer can still be said."""
        self._refuse(400, "invalid", "this is not HTTP/1.1 as it is spoken here", "see /openapi.json")

    def _is_busy(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _is_too_eager(self, peer: Peer) -> bool:
        """Whether an agent connects more often than there is any reason to."""
        suspect = _suspect(peer)
        return suspect is not None and not self.api.allowance.take(suspect, self.loop.time())

    def _make_room(self, peer: Peer) -> bool:
        """Whether this connection fits; the longest idle one of the same kind gives way to it."""
        others = [cast(Connection, other) for other in self.connections if other is not self]
        if (suspect := _suspect(peer)) is not None:
            suspects = [name for other in others if (name := _suspect(other.peer)) is not None]
            return suspects.count(suspect) < MAX_AGENT_CONNECTIONS and len(suspects) < MAX_CONNECTIONS // 2
        rest = [other for other in others if _suspect(other.peer) is None]
        if len(rest) < MAX_CONNECTIONS:
            return True
        idle = [other for other in rest if not other._is_busy()]
        if not idle:
            return False
        min(idle, key=lambda other: other.serial)._abort()
        return True

    def _refuse(self, status: int, code: Code, detail: str, remedy: str) -> None:
        self._expect_nothing()
        can_speak = cast(Any, self.conn).our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if can_speak and not self._is_busy():
            problem = Problem(code, detail, remedy, status)
            body = json.dumps(problem.document()).encode() + b"\n"
            head = (
                f"HTTP/1.1 {status} {problem.document()['title']}\r\ncontent-type: {PROBLEM_TYPE}\r\n"
                f"content-length: {len(body)}\r\n{EXIT_HEADER}: {problem.exit_code}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self._close()

    def _expect_headers(self) -> None:
        self._deadline = self.loop.call_later(self.header_timeout, self._close)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_stuck(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _close(self) -> None:
        """Close after what is written has gone out, but wait no longer than for any writing."""
        self.transport.close()
        if self._stuck is None and self.transport.get_write_buffer_size():
            self._stuck = self.loop.call_later(self.write_timeout, self._abort)

    def _abort(self) -> None:
        self.transport.abort()


def _suspect(peer: Peer) -> str | None:
    """The agent that a peer belongs to; all those of whom nobody knows where they come from are one. None: neither."""
    return peer.agent if peer.agent is not None else UNKNOWN if peer.unknown else None


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

    async def keep_named(self, listener: socket.socket, bind_again: Callable[[], socket.socket], every: float) -> None:
        """Listen anew whenever somebody took the socket's file away: else nobody could ever ask or stop this daemon."""
        path = Path(listener.getsockname())
        ours, failure = _identity(path), ""
        while True:
            await asyncio.sleep(every)
            if _identity(path) == ours:
                continue
            try:
                path.unlink(missing_ok=True)
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
    look_every: float = LOOK_EVERY,
) -> None:
    """Answer on the listening socket until `end` is called or the task is cancelled; then nobody listens any more.

    bind_again: makes the same socket anew when its file is gone.
    """
    server = ControlServer(api)
    if on_ready is not None:
        on_ready(server)
    keeping = asyncio.create_task(server.keep_named(listener, bind_again, look_every)) if bind_again else None
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


def _identity(path: Path) -> tuple[int, int]:
    """What tells a socket's file from another of its name; zeros for none."""
    try:
        found = path.lstat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
