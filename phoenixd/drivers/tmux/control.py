"""The one control-mode connection to the tmux server: commands as lines, replies as blocks, nothing polled."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from phoenixd.drivers.tmux.call import Child
from phoenixd.drivers.tmux.text import quote
from phoenixd.errors import TerminalFailed

REPLY_LIMIT = 4 * 1024 * 1024
CHUNK = 65536


class Refused(TerminalFailed):
    """tmux understood a command and said no; the connection is fine."""


class Lost(TerminalFailed):
    """The connection ended before an answer came: whether the commands were run is not known."""


@dataclass(slots=True)
class _Request:
    token: str
    reply: asyncio.Future[list[str]]
    lines: list[str] = field(default_factory=list)
    refusal: str | None = None


class ControlConnection:
    """A `tmux -C` client as a child process.

    Each request is followed by a command that prints a token which nobody else knows, and is answered when the token
    comes back. So a command may give any number of blocks (if-shell gives one more than it seems to), a reply cannot
    be taken for another's, and no text that an agent got into a reply can end it.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._child = Child(argv, env)
        self._replies = _Replies()
        self._secret = secrets.token_hex(8)
        self._count = 0
        self._unsent = b""
        self._loss: str | None = None
        self._loop.add_reader(self._child.connection, self._read)
        # The server holds the client's end of the connection as well, and need not let go of it.
        self._loop.add_reader(self._child.pidfd, self._ended)

    @classmethod
    async def open(cls, argv: Sequence[str], env: Mapping[str, str]) -> ControlConnection:
        """Start the client and wait, without a limit, until it answers; raises TerminalFailed.

        Two clients that are killed before a hanging server has come to them make tmux 3.3a crash as soon as it does,
        and with it goes every pane. So this one is waited for however long that takes, and left behind, not killed,
        when nobody waits any more.
        """
        connection = cls(argv, env)
        try:
            await connection.run(timeout=None)
        except asyncio.CancelledError:
            connection._lose("given up", kill=False)
            raise
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._loss is None

    async def run(self, *commands: Sequence[str], timeout: float | None) -> list[str]:
        """Run commands one after the other and return the lines that they print.

        Raises Refused when tmux refuses one of them (the others are run), Lost when the connection ends before the
        reply, TerminalFailed when the reply does not come in time.
        """
        if self._loss is not None:
            raise Lost(f"the connection to tmux is lost: {self._loss}")
        self._count += 1
        request = _Request(f"{self._secret}-{self._count}", self._loop.create_future())
        self._replies.expect(request)
        lines = [*(" ".join(map(quote, command)) for command in commands), f"display-message -p {request.token}"]
        self._send("".join(f"{line}\n" for line in lines).encode("ascii"))
        try:
            async with asyncio.timeout(timeout):
                return await request.reply
        except TimeoutError:
            # A server that answers late would answer all that follow late; a new connection starts clean.
            self._lose(f"no answer within {timeout} s")
            raise TerminalFailed(f"tmux did not answer within {timeout} s") from None

    def close(self) -> None:
        """End the client; the server and its sessions stay."""
        self._lose("closed")

    def _send(self, lines: bytes) -> None:
        if not self._unsent:
            self._loop.add_writer(self._child.connection, self._write)
        self._unsent += lines
        self._write()

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[self._child.connection.send(self._unsent) :]
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(self._child.complaint() or str(error))
            return
        if not self._unsent:
            self._loop.remove_writer(self._child.connection)

    def _read(self) -> bool:
        """Take what is there; false when nothing more is."""
        try:
            chunk = self._child.connection.recv(CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            self._lose(self._child.complaint() or str(error))
            return False
        if not chunk:
            self._lose(self._child.complaint() or "the tmux server ended it")
        elif not self._replies.feed(chunk):
            self._lose(f"a reply of more than {REPLY_LIMIT} bytes")
        return self.is_open

    def _ended(self) -> None:
        while self._read():
            pass
        if self.is_open:
            self._lose(self._child.complaint() or "the tmux client ended")

    def _lose(self, reason: str, kill: bool = True) -> None:
        if self._loss is not None:
            return
        self._loss = reason
        self._loop.remove_reader(self._child.connection)
        self._loop.remove_reader(self._child.pidfd)
        self._loop.remove_writer(self._child.connection)
        if kill:
            self._child.end()
        else:
            self._child.leave()
        self._replies.fail(Lost(f"the connection to tmux is lost: {reason}"))


class _Replies:
    """Cuts what tmux sends into blocks, and gives each request those that came before its token."""

    def __init__(self) -> None:
        self._requests: deque[_Request] = deque()
        self._rest = b""
        self._block: bytes | None = None
        self._lines: list[str] = []
        self._size = 0

    def expect(self, request: _Request) -> None:
        self._requests.append(request)

    def fail(self, failure: TerminalFailed) -> None:
        for request in self._requests:
            if not request.reply.done():
                request.reply.set_exception(failure)
        self._requests.clear()

    def feed(self, data: bytes) -> bool:
        """Read on; false when a reply grows beyond all bounds."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._read_line(line)
        self._size = self._size + len(data) if self._block is not None else 0
        return max(self._size, len(self._rest)) <= REPLY_LIMIT

    def _read_line(self, line: bytes) -> None:
        if self._block is None:
            # Outside a block come notifications, which nothing here rests on.
            if line.startswith(b"%begin "):
                self._block, self._lines = line.removeprefix(b"%begin "), []
        elif line in (b"%end " + self._block, b"%error " + self._block):
            self._block = None
            self._end_block(is_refusal=line.startswith(b"%error "))
        else:
            self._lines.append(line.decode("utf-8", "replace"))

    def _end_block(self, is_refusal: bool) -> None:
        if not self._requests:
            return
        request = self._requests[0]
        if is_refusal:
            request.refusal = request.refusal or "\n".join(self._lines) or "refused"
        elif self._lines == [request.token]:
            self._requests.popleft()
            _answer(request)
        else:
            request.lines += self._lines


def _answer(request: _Request) -> None:
    if request.reply.done():  # Nobody waits any more.
        return
    if request.refusal is not None:
        request.reply.set_exception(Refused(f"tmux: {request.refusal}"))
    else:
        request.reply.set_result(request.lines)
