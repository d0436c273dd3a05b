"""A mount that never answers: a file system of FUSE whose server says nothing, for which root is needed."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MNT_DETACH = 2
REQUEST, ANSWER, INIT = struct.Struct("IIQQIIIHH"), struct.Struct("IiQ"), struct.Struct("IIIIHHIIHHI28x")
VERSION, PARALLEL_DIROPS = (7, 31), 1 << 18

TICKING = """
import anyio
ticks = []
async def tick():
    while True:
        await anyio.sleep(0.05)
        ticks.append(1)
async def beside():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await asking()
        tasks.cancel_scope.cancel()
    print(len(ticks))
anyio.run(beside)
"""


@contextmanager
def hung_mount(mount: Path) -> Iterator[Path]:
    """Whatever is asked of this directory waits until the block is over, and fails then; skips the test where it cannot
    be mounted."""
    mount.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        pytest.skip("not run: a mount that hangs needs root")
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"not run: /dev/fuse cannot be opened: {error.strerror}")
    try:
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
        if libc.mount(b"phoenixd-test", os.fsencode(mount), b"fuse.phoenixd-test", 0, options) != 0:
            pytest.skip(f"not run: this host does not mount FUSE: {os.strerror(ctypes.get_errno())}")
        _introduce(server)
        try:
            yield mount
        finally:
            # The server's end ends every request that waits.
            os.close(server)
            server = -1
            libc.umount2(os.fsencode(mount), MNT_DETACH)
    finally:
        if server >= 0:
            os.close(server)


def told_while_ticking(asking: str, *words: str) -> str:
    """What a Python program prints whose `async def asking()` waits for a disk; its loop must tick meanwhile."""
    asked = subprocess.Popen([sys.executable, "-c", asking + TICKING, *words], stdout=subprocess.PIPE, text=True)
    try:
        *told, ticks = asked.communicate(timeout=60)[0].splitlines()
    finally:
        asked.kill()  # Not waited for: one that a disk holds does not end before the mount does.
    assert int(ticks) > 0
    return "\n".join(told)


def _introduce(server: int) -> None:
    """Answer the kernel's first request, and no other: two who look into one directory would wait for each other where
    no signal wakes them."""
    unique = REQUEST.unpack_from(os.read(server, 1 << 17))[2]
    body = INIT.pack(*VERSION, 1 << 16, PARALLEL_DIROPS, 0, 0, 1 << 16, 1, 0, 0, 0)
    os.write(server, ANSWER.pack(ANSWER.size + len(body), 0, unique) + body)
