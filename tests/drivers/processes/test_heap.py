"""The daemon's threads share what memory was once used."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALLOCATE = """
import ctypes, sys, threading
from phoenixd.drivers.processes.heap import share_one_arena
if "shared" in sys.argv and not share_one_arena():
    sys.exit("no arenas here")
libc = ctypes.CDLL(None)
if not hasattr(libc, "malloc_info"):
    sys.exit("no arenas here")
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
together = threading.Barrier(4)
threads = [threading.Thread(target=lambda: (libc.malloc(5000), together.wait())) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.fdopen.restype, libc.malloc_info.argtypes, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fclose(out)
"""  # noqa: E501


@pytest.mark.parametrize(("how", "is_one"), [("shared", True), ("as it is", False)])
def test_f_sy_17_threads_share_one_arena(how: str, is_one: bool) -> None:
    told = subprocess.run([sys.executable, "-c", ALLOCATE, how], capture_output=True, text=True, check=False)
    if "no arenas here" in told.stderr:
        pytest.skip("not run: this C library has no arenas")

    assert (told.stdout.count("<heap ") == 1) is is_one
