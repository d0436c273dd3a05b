"""The one control-mode connection to the tmux server: commands as lines, replies as blocks, nothing polled."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from phoenixd.drivers.tmux_text import quote
from phoenixd.errors import TerminalFailed

REPLY_LIMIT = 4 * 1024 * 1024
COMPLAINT_LIMIT = 2000


class Refused(TerminalFailed):
    """tmux understood a command and said no; the connection is fine."""


@dataclass(slots=True)
class _Request:
    token: str
    reply: asyncio.Future[list[str]]
    lines: list[str] = field(default_factory=list)
    refusal: str | None = None


class ControlConnection(asyncio.SubprocessProtocol):
    """A `tmux -C` client as a child process.

    Each request is followed by a command that prints a token which nobody else knows, and is answered when the token
    comes back. So a command may give any number of blocks (if-shell gives one more than it seems to), a reply cannot
    be taken for another's, and no text that an agent got into a reply can end it.
    """

    def __init__(self) -> None:
        self._transport: asyncio.SubprocessTransport | None = None
        self._requests: deque[_Request] = deque()
        self._secret = secrets.token_hex(8)
        self._count = 0
        self._rest = b""
        self._block: bytes | None = None
        self._lines: list[str] = []
        self._size = 0
        self._complaint = ""
        self._loss: str | None = None

    @classmethod
    async def open(cls, argv: Sequence[str], env: Mapping[str, str], timeout: float) -> ControlConnection:
        """Start the client and wait until it answers; raises TerminalFailed."""
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.subprocess_exec(
                cls,
                *argv,
                env=dict(env),
                cwd="/",  # New panes start where the client stands.
                start_new_session=True,  # A Ctrl-C at the daemon's terminal is not meant for it.
            )
        except OSError as error:
            raise TerminalFailed(f"{argv[0]} cannot be run: {error.strerror}", remedy="install tmux") from error
        try:
            await connection.run((), timeout=timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._loss is None

    async def run(self, *commands: Sequence[str], timeout: float) -> list[str]:
        """Run commands one after the other and return the lines that they print.

        Raises Refused when tmux refuses one of them (the others are run), TerminalFailed when no reply can be had.
        """
        if self._loss is not None or self._transport is None:
            raise TerminalFailed(f"the connection to tmux is lost: {self._loss}")
        self._count += 1
        request = _Request(f"{self._secret}-{self._count}", asyncio.get_running_loop().create_future())
        self._requests.append(request)
        lines = [" ".join(map(quote, command)) for command in commands if command]
        lines.append(f"display-message -p {request.token}")
        writer = self._transport.get_pipe_transport(0)
        assert isinstance(writer, asyncio.WriteTransport)
        writer.write("".join(f"{line}\n" for line in lines).encode("ascii"))
        try:
            async with asyncio.timeout(timeout):
                return await request.reply
        except TimeoutError:
            # A server that answers late would answer all that follow late; a new connection starts clean.
            self._lose(f"no answer within {timeout:g} s")
            self.close()
            raise TerminalFailed(f"tmux did not answer within {timeout:g} s") from None

    def close(self) -> None:
        """End the client; the server and its sessions stay."""
        self._lose("closed")
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._complaint = (self._complaint + data.decode("utf-8", "replace"))[:COMPLAINT_LIMIT]
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._read_line(line)
        self._size += len(data)
        if self._block is None:
            self._size = 0
        if self._size > REPLY_LIMIT or len(self._rest) > REPLY_LIMIT:
            self._lose(f"a reply of more than {REPLY_LIMIT} bytes")
            self.close()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._lose(self._complaint.strip() or "the tmux server ended it")

    def process_exited(self) -> None:
        self._lose(self._complaint.strip() or "the tmux client ended")
        if self._transport is not None:
            self._transport.close()

    def _read_line(self, line: bytes) -> None:
        if self._block is None:
            # Outside a block come notifications, which nothing here rests on.
            if line.startswith(b"%begin "):
                self._block, self._lines = line.removeprefix(b"%begin "), []
            return
        if line == b"%end " + self._block:
            self._block = None
            self._end_block(None)
        elif line == b"%error " + self._block:
            self._block = None
            self._end_block("\n".join(self._lines) or "refused")
        else:
            self._lines.append(line.decode("utf-8", "replace"))

    def _end_block(self, refusal: str | None) -> None:
        if not self._requests:
            return
        request = self._requests[0]
        if refusal is not None:
            request.refusal = request.refusal or refusal
        elif self._lines == [request.token]:
            self._requests.popleft()
            self._answer(request)
        else:
            request.lines += self._lines

    @staticmethod
    def _answer(request: _Request) -> None:
        if request.reply.done():  # Nobody waits any more.
            return
        if request.refusal is not None:
            request.reply.set_exception(Refused(f"tmux: {request.refusal}"))
        else:
            request.reply.set_result(request.lines)

    def _lose(self, reason: str) -> None:
        if self._loss is not None:
            return
        self._loss = reason
        for request in self._requests:
            with contextlib.suppress(asyncio.InvalidStateError):
                request.reply.set_exception(TerminalFailed(f"the connection to tmux is lost: {reason}"))
        self._requests.clear()
