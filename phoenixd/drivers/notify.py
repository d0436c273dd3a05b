"""Alerts to the operator: always a log line, and the configured command where there is one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

TIMEOUT = 10.0
CONCURRENCY = 4
REPEAT_AFTER = 3600.0
REMEMBERED = 1000
SERVICE_VARIABLES = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"})
"""What systemd told the daemon alone: a command that kept it could speak in the daemon's name."""

log = structlog.get_logger("phoenixd.notify")


class CommandNotifier:
    """Runs `command` (argv, no shell) once for each alert, with the alert as one JSON object on its standard input.

    The object is {"agent", "kind", "text", "at"}. The same alert is not sent again within an hour, at most four
    commands run at once, and one that takes longer than ten seconds is killed with its process group.
    """

    def __init__(
        self,
        command: Sequence[str] = (),
        *,
        timeout: float = TIMEOUT,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = tuple(command)
        self._timeout = timeout
        self._monotonic = monotonic
        self._told: dict[tuple[str, str, str], float] = {}
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def alert(self, agent: str, kind: str, text: str) -> None:
        """Tell the operator; a command that fails is logged and never raised."""
        if self._is_repetition(agent, kind, text):
            return
        log.warning("alert", agent=agent, kind=kind, text=text)
        if not self._command:
            return
        message = {"agent": agent, "kind": kind, "text": text, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        async with self._slots:
            await self._run(json.dumps(message).encode() + b"\n", agent, kind)

    def _is_repetition(self, agent: str, kind: str, text: str) -> bool:
        now = self._monotonic()
        self._told = {key: at for key, at in self._told.items() if now - at < REPEAT_AFTER}
        key = (agent, kind, text)
        if key in self._told:
            return True
        if len(self._told) >= REMEMBERED:
            self._told.pop(next(iter(self._told)))
        self._told[key] = now
        return False

    async def _run(self, message: bytes, agent: str, kind: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in SERVICE_VARIABLES},
            )
        except OSError as error:
            log.error("alert command did not start", agent=agent, kind=kind, command=self._command[0], error=str(error))
            return
        try:
            async with asyncio.timeout(self._timeout):
                await process.communicate(message)
        except TimeoutError:
            log.error("alert command took too long", agent=agent, kind=kind, command=self._command[0])
        finally:
            # The group is signalled while its leader is unreaped or its number unused, so it cannot be a stranger's:
            # a leader that ended took no part of this branch.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            log.error("alert command failed", agent=agent, kind=kind, status=process.returncode)
