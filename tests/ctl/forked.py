"""phoenixctl in a fork, for an interpreter's start takes ten times as long as most verbs.

A fork of the tests' own process would cost three times as much again: it holds all tests.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests import warm
from tests.ctl.ran import Ran


async def run_forked(*arguments: str, env: Mapping[str, str], stdin: bytes = b"", cwd: Path | None = None) -> Ran:
    """Run a verb as `python -m phoenixd.ctl` would, but for the start of the interpreter."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        files = [out.fileno(), err.fileno(), given.fileno()]
        process = warm.begin("phoenixd.ctl", *arguments, files=files, env=env, cwd=cwd)
        try:
            async with asyncio.timeout(100):
                code = await process.ended()
        except BaseException:
            process.kill()
            raise
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())
