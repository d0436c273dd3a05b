"""One tmux process from start to end, with its input and output, for at most so long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phoenixd.errors import TerminalFailed


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it had to say. Negative status: the signal that ended it."""

    status: int
    output: bytes
    complaint: str


async def call(argv: Sequence[str], env: Mapping[str, str], timeout: float, stdin: bytes = b"") -> Ended:
    """Run a process to its end; raises TerminalFailed when it cannot be run or takes too long.

    asyncio's own Process is not used: its wait() also waits for the pipes, and a tmux client gives those to the
    server, which keeps them open as long as it hangs.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, process = await loop.subprocess_exec(
            lambda: _Process(loop), *argv, env=dict(env), cwd="/", start_new_session=True
        )
    except OSError as error:
        raise TerminalFailed(f"{argv[0]} cannot be run: {error.strerror}", remedy="install tmux") from error
    try:
        writer = transport.get_pipe_transport(0)
        assert isinstance(writer, asyncio.WriteTransport)
        writer.write(stdin)
        writer.write_eof()
        async with asyncio.timeout(timeout):
            await process.ended
    except TimeoutError:
        raise TerminalFailed(f"tmux did not answer within {timeout:g} s") from None
    finally:
        transport.close()  # Kills what is still there, and lets go of its pipes.
    status = transport.get_returncode()
    assert status is not None
    return Ended(status, bytes(process.output[1]), process.output[2].decode("utf-8", "replace"))


class _Process(asyncio.SubprocessProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.output = {1: bytearray(), 2: bytearray()}
        self.ended: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output[fd] += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once the process has ended and both outputs are read to their end."""
        if not self.ended.done():
            self.ended.set_result(None)
