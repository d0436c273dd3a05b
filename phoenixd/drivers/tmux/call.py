"""tmux processes of our own: one that stays, or one that is run to its end.

asyncio's subprocesses are not used. Their end also waits for the pipes, and a tmux client hands those to the server,
which keeps them open for as long as it hangs. Here a pidfd tells the end, and nothing is left when `end` returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phoenixd.errors import TerminalFailed

CHUNK = 65536
COMPLAINT_LIMIT = 2000
OUTPUT_LIMIT = 4 * 1024 * 1024
"""Bytes of a process's output that are kept, the last ones: a pane can be wider and longer than memory."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it had to say. Negative status: the signal that ended it."""

    status: int
    output: bytes
    complaint: str


class Child:
    """A process whose standard input and output are our `connection`; raises TerminalFailed when it cannot be run.

    It stands in /, where new panes then start, and in a session of its own: a Ctrl-C at the daemon's terminal is not
    meant for it.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.connection, theirs, self._errors = _ends(argv[0])
        self.pidfd = -1
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                env=dict(env),
                cwd="/",
                start_new_session=True,
            )
            self.pidfd = os.pidfd_open(self._process.pid)
        except OSError as error:
            self.end()
            raise TerminalFailed(f"{argv[0]} cannot be run: {error.strerror}", remedy="install tmux") from error
        finally:
            theirs.close()

    def complaint(self) -> str:
        """What it has written to its standard error so far."""
        return os.pread(self._errors, COMPLAINT_LIMIT, 0).decode("utf-8", "replace").strip()

    def end(self) -> int:
        """Kill what is still there, take its status, and let go of everything."""
        self._let_go()
        if self._process is None:
            return -1
        self._process.kill()
        return self._process.wait()  # A killed client holds nothing that it could wait for.

    def leave(self) -> None:
        """Let go of everything and let the process end by itself, when it notices."""
        self._let_go()
        if self._process is not None:
            threading.Thread(target=self._process.wait, name="tmux client", daemon=True).start()

    def _let_go(self) -> None:
        self.connection.close()
        os.close(self._errors)
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


async def call(argv: Sequence[str], env: Mapping[str, str], timeout: float, stdin: bytes = b"") -> Ended:
    """Run a process to its end; raises TerminalFailed when it cannot be run or takes too long."""
    run = _Run(argv, env, stdin)
    try:
        async with asyncio.timeout(timeout):
            await run.ended
    except TimeoutError:
        raise TerminalFailed(f"tmux did not answer within {timeout:g} s") from None
    finally:
        ended = run.close()
    return ended


def _ends(program: str) -> tuple[socket.socket, socket.socket, int]:
    """Our end of a child's input and output, the child's own, and a file for its errors."""
    try:
        errors = os.memfd_create("tmux", os.MFD_CLOEXEC)
    except OSError as error:
        raise TerminalFailed(f"{program} cannot be run: {error.strerror}") from error
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        os.close(errors)
        raise TerminalFailed(f"{program} cannot be run: {error.strerror}") from error
    ours.setblocking(False)
    return ours, theirs, errors


class _Run:
    """Feeds a child and collects from it until its pidfd says that it has ended."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], stdin: bytes) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._child = Child(argv, env)
        self._left = memoryview(stdin)
        self._output = bytearray()
        self._loop.add_reader(self._child.pidfd, self._end)
        self._loop.add_reader(self._child.connection, self._read)
        self._loop.add_writer(self._child.connection, self._write)

    def close(self) -> Ended:
        self._loop.remove_reader(self._child.pidfd)
        self._loop.remove_reader(self._child.connection)
        self._loop.remove_writer(self._child.connection)
        complaint = self._child.complaint()
        return Ended(self._child.end(), bytes(self._output), complaint)

    def _end(self) -> None:
        self._loop.remove_reader(self._child.pidfd)
        while self._read():
            pass
        if not self.ended.done():
            self.ended.set_result(None)

    def _read(self) -> bool:
        """Take what is there; false when nothing more is."""
        try:
            chunk = self._child.connection.recv(CHUNK)
        except BlockingIOError:
            return False
        except ConnectionError:
            chunk = b""
        if not chunk:
            self._loop.remove_reader(self._child.connection)
        self._output += chunk
        if len(self._output) > 2 * OUTPUT_LIMIT:
            del self._output[:-OUTPUT_LIMIT]
        return bool(chunk)

    def _write(self) -> None:
        try:
            if self._left:
                self._left = self._left[self._child.connection.send(self._left) :]
        except BlockingIOError:
            return
        except ConnectionError:
            self._left = memoryview(b"")
        if not self._left:
            self._loop.remove_writer(self._child.connection)
            with contextlib.suppress(OSError):
                self._child.connection.shutdown(socket.SHUT_WR)
