"""Runs phoenixctl against a living server with a fake daemon behind it: in a fork, or from a start of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

import pytest

from phoenixd.ctl import wire
from tests.api.conftest import Live, serving
from tests.api.conftest import daemon as daemon
from tests.api.conftest import runtime as runtime
from tests.api.daemon import FakeDaemon
from tests.ctl.forked import run_forked
from tests.ctl.ran import Ran as Ran

ROOT = Path(__file__).resolve().parents[2]
OUTER = (
    "PHOENIX_",
    "TMUX",
    "XDG_",
    "STATE_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "NO_COLOR",
    "COLUMNS",
)


Ctl = Callable[..., Coroutine[None, None, Ran]]


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without this machine's own phoenixd, tmux or directories."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUTER)}
    return {**kept, "HOME": os.fspath(home), "PYTHONPATH": os.fspath(ROOT), **more}


async def run_ctl(*arguments: str, env: dict[str, str], stdin: bytes = b"", cwd: Path | None = None) -> Ran:
    """Start an interpreter for phoenixctl, for tests that need a process without the server's and the tests' files."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=env, cwd=cwd,
    )  # fmt: skip
    try:
        async with asyncio.timeout(100):
            out, err = await process.communicate(stdin)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


@pytest.fixture(autouse=True)
def nothing_named() -> None:
    """What a test before this one parsed in this very process names no socket to it."""
    wire.show()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
async def live(daemon: FakeDaemon, runtime: Path) -> AsyncIterator[Live]:
    async with serving(daemon, runtime) as running:
        yield running


@pytest.fixture
def ctl(live: Live, home: Path) -> Ctl:
    """phoenixctl with a daemon that answers."""

    async def run(*arguments: str, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Ran:
        environ = environment(home, PHOENIX_SOCKET=os.fspath(live.socket), **env)
        return await run_forked(*arguments, env=environ, stdin=stdin, cwd=cwd)

    return run


@pytest.fixture
def alone(runtime: Path, home: Path) -> Ctl:
    """phoenixctl without any daemon."""

    async def run(*arguments: str, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Ran:
        environ = environment(home, PHOENIX_RUNTIME_DIR=os.fspath(runtime), **env)
        return await run_forked(*arguments, env=environ, stdin=stdin, cwd=cwd)

    return run
