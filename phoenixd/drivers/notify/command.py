"""Alerts to a program of the operator's: one run for each, with the alert on its standard input."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
import structlog

from phoenixd.becoming import why_not_begun
from phoenixd.documents.redact import redact, secret_values
from phoenixd.drivers.notify.notifier import Judged, Message, mark, unjudged
from phoenixd.drivers.notify.outbox import Outbox
from phoenixd.errors import PhoenixdError

WAITING = 100
SERVICE_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_", "INVOCATION_ID", "JOURNAL_STREAM", "PHOENIX_", "TMUX")
"""What systemd told the daemon alone: a command that kept it could speak in the daemon's name."""
RUN_ID = "PHOENIX_RUN_ID"
"""By this variable all that a run started is found again, whatever it detached from."""

END_LIMIT = 5.0
"""Seconds for which a program that was killed is waited for: one that waits for a dead disk may take longer."""

log = structlog.get_logger("phoenixd.notify")

EndTree = Callable[[str], Awaitable[object]]
Runner = Callable[[], Sequence[str]]


class CommandRoute(Outbox):
    """Runs `argv`, no shell, at most `at_once` at a time; one that takes longer than `timeout` ends with its tree.

    runner: the argv before that of a program that ends with this daemon, also where the daemon is killed: the words of
    phoenixd/shim/job.py. It also opens the program, for which the whole daemon would wait on a mount that does not
    answer; so the runner must stand where the daemon's own code does, and not in the state directory, whose disk may be
    what there is to tell of. end_tree: ends every process whose environment carries the given run id.
    """

    def __init__(
        self,
        argv: Sequence[str],
        runner: Runner,
        end_tree: EndTree,
        *,
        timeout: float = 10.0,
        at_once: int = 4,
        environ: Mapping[str, str] = os.environ,
        judged: Judged = unjudged,
    ) -> None:
        super().__init__("command", WAITING)
        self.mark = mark(*argv)
        self._argv = tuple(argv)
        self._runner = runner
        self._end_tree = end_tree
        self._timeout = timeout
        self._at_once = at_once
        self._environ = without_secrets(environ)
        self._judged = judged

    async def run(self) -> None:
        """Send for ever."""
        async with anyio.create_task_group() as tasks:
            for _ in range(self._at_once):
                tasks.start_soon(self._work)

    async def _work(self) -> None:
        while True:
            message = await self.take()
            problem = await self._send(message)
            self.done(message, problem)
            if problem is not None:
                log.error("alert_not_told", route="command", id=message.id, command=self._argv[0], reason=problem)
                problem = f"{self._argv[0]}: {problem}"
            self._judged("command", problem)

    async def _send(self, message: Message) -> str | None:
        """Run the command once; returns what went wrong."""
        run_id = secrets.token_hex(16)
        try:
            failed, tells = os.pipe()
        except OSError as error:
            return f"it did not start: {error.strerror}"
        # Not waited for: where the runner is killed, a program that a mount holds may keep the other end.
        os.set_blocking(failed, False)
        with os.fdopen(failed, "rb", buffering=0) as failure:
            try:
                process = await self._begin(run_id, tells)
            except OSError as error:
                return f"it did not start: {error.strerror}"
            finally:
                os.close(tells)
            try:
                with anyio.move_on_after(self._timeout):
                    await process.communicate(message.body)
                    if (why := why_not_begun(failure)) is not None:
                        return f"it did not start: {why}"
                    return f"exit {process.returncode}" if process.returncode else None
                return f"it took longer than {self._timeout:g} s"
            finally:
                # Less than 0: the runner was killed, and ended nothing.
                if process.returncode is None or process.returncode < 0:
                    with anyio.CancelScope(shield=True):
                        await self._end(process, run_id)

    async def _begin(self, run_id: str, tells: int) -> asyncio.subprocess.Process:
        """Begin the runner; it writes into `tells` the number of the error for which it cannot. Raises OSError."""
        setup = {"failure": tells, "keeps_rank": True, "spares": True}
        return await asyncio.create_subprocess_exec(
            *(*self._runner(), "--setup", json.dumps(setup), *self._argv),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(tells,),
            cwd="/",
            env={**self._environ, RUN_ID: run_id},
        )

    async def _end(self, process: asyncio.subprocess.Process, run_id: str) -> None:
        """Have the runner end all that is below it, and the fence what is left, the runner too where it hangs."""
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with anyio.move_on_after(END_LIMIT):
            await process.wait()
        try:
            await self._end_tree(run_id)
        except PhoenixdError as failure:
            log.error("alert_command_lingers", command=self._argv[0], reason=failure.message)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        with anyio.move_on_after(END_LIMIT):
            await process.wait()


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a command may know: none that looks like a secret, none that systemd meant for the daemon."""
    secret = set(secret_values(environ))
    return {
        name: value
        for name, value in environ.items()
        if value not in secret and not name.startswith(SERVICE_VARIABLES) and redact(value) == value
    }
