"""phoenixctl in a fork of the test's own process, for an interpreter's start takes ten times as long as most verbs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path

from phoenixd.ctl.__main__ import main
from tests.ctl.ran import Ran


async def run_forked(*arguments: str, env: Mapping[str, str], stdin: bytes = b"", cwd: Path | None = None) -> Ran:
    """Run a verb as `python -m phoenixd.ctl` would, but for the start of the interpreter."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            _become((given.fileno(), out.fileno(), err.fileno()), arguments, env, cwd)
        status = await _ended(pid)
        out.seek(0)
        err.seek(0)
        return Ran(os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode())


async def _ended(pid: int) -> int:
    """Return the status with which a child ended; no thread waits, for the next fork would lack it."""
    loop, pidfd, ended = asyncio.get_running_loop(), os.pidfd_open(pid), asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        async with asyncio.timeout(100):
            await ended.wait()
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
    return status


def _become(files: tuple[int, int, int], arguments: tuple[str, ...], env: Mapping[str, str], cwd: Path | None) -> None:
    code: object = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = (open(number, "r" if number == 0 else "w") for number in range(3))
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd or Path.cwd())
        sys.argv = ["phoenixctl", *arguments]
        code = main(list(arguments))
    except SystemExit as end:
        code = end.code
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
