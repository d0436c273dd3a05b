"""How commands reach the tmux server: over one connection, or by a process of their own where the answer is large."""

from __future__ import annotations

import asyncio

import structlog

from phoenixd.drivers.tmux.control import ControlConnection, Lost, Refused
from phoenixd.drivers.tmux.lifetime import Lifetime
from phoenixd.drivers.tmux.panes import OWN_SESSION
from phoenixd.drivers.tmux.server import INERT, TmuxServer, settings
from phoenixd.drivers.tmux.strays import end_clients, see_off
from phoenixd.errors import TerminalFailed

TIMEOUT = 10.0
ENDING_PATIENCE = 2.0
"""Seconds that a server which ends has for it, before it is killed."""
CLIENTS = ("list-clients", "-t", f"={OWN_SESSION}", "-F", "#{client_control_mode} #{client_pid}")
REMEDY = "phoenixctl doctor"

log = structlog.get_logger("phoenixd.tmux")


class Commands:
    """The half of the terminal that talks to the server.

    Commands go over one control-mode connection, which is made when it is needed and after each loss.
    """

    def __init__(self, server: TmuxServer, timeout: float) -> None:
        self.server = server
        self._timeout = timeout
        self._control: ControlConnection | None = None
        self._connecting: asyncio.Task[ControlConnection] | None = None
        self._lifetime = Lifetime()

    @property
    def version(self) -> str | None:
        """The version of tmux, while a connection to the server stands."""
        return self.server.version if self._control is not None and self._control.is_open else None

    def close(self) -> None:
        """Drop the connection; the server and all sessions stay."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._control is not None:
            self._control.close()
            self._control = None
        self._lifetime.close()

    async def _ask(self, *command: str) -> list[str]:
        """Run a command that may be run twice: once more where the connection turned out to be lost."""
        try:
            return await self._run(*command)
        except Lost:
            return await self._run(*command)

    async def _run(self, *command: str) -> list[str]:
        control = await self._connection()
        return await control.run(command, timeout=self._timeout)

    async def _call(self, *arguments: str, stdin: bytes = b"") -> bytes:
        ended = await self.server.call(self.server.argv(*arguments), stdin)
        if ended.status != 0 and not self.server.listens():
            raise self._no_server()
        if ended.status != 0:
            raise Refused(f"tmux: {ended.complaint.strip()[:500] or f'status {ended.status}'}")
        return ended.output

    def _no_server(self) -> TerminalFailed:
        return TerminalFailed(f"there is no tmux server on {self.server.socket}", remedy=REMEDY)

    async def _connection(self) -> ControlConnection:
        """The connection, made if need be. All who ask meanwhile share one attempt, and its failure."""
        if self._control is not None and self._control.is_open:
            return self._control
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.get_running_loop().create_task(self._connect(), name="connect to tmux")
            # Nobody is told of its failure when all who waited for it have gone.
            self._connecting.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.shield(self._connecting)
        except TimeoutError:
            raise TerminalFailed(f"tmux did not answer within {self._timeout:g} s") from None

    async def _connect(self) -> ControlConnection:
        if not self.server.listens():
            raise self._no_server()
        await self.server.require_version()
        try:
            # Also asks whether the server answers at all, by a process that may be killed while it waits.
            await self._call("new-session", "-d", "-s", OWN_SESSION, "--", *INERT)
        except Refused as refusal:
            if "duplicate session" not in refusal.message:
                if await see_off(self.server.socket, ENDING_PATIENCE):
                    raise self._no_server() from refusal
                raise
        argv = self.server.argv("-C", "attach-session", "-t", f"={OWN_SESSION}", "-f", "no-output,ignore-size")
        control = await ControlConnection.open(argv, self.server.environment())
        # Again, although the server read them at its start: it may be older than this daemon, or not started by it.
        try:
            await control.run(*settings(), timeout=self._timeout)
        except Refused as refusal:
            log.warning("tmux refused a setting", reason=refusal.message)
        try:
            end_clients(await control.run(CLIENTS, timeout=self._timeout), argv)
        except Refused as refusal:
            # An agent can give tmux's commands another meaning.
            log.warning("tmux_clients_not_listed", reason=refusal.message)
        self._control = control
        self._lifetime.follow(self.server.process())
        return control
