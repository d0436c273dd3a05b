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


GIVE_BACK = """
import ctypes, sys
from pathlib import Path
from phoenixd.drivers.processes.heap import give_back
libc = ctypes.CDLL(None)
if not hasattr(libc, "malloc_trim"):
    sys.exit("no arenas here")
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
held = [libc.malloc(100_000) for _ in range(400)]
[ctypes.memset(one, 1, 100_000) for one in held]
[libc.free(one) for one in held[:-1]]
def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])
before = resident()
give_back()
print(before - resident())
"""


def test_what_a_moment_needed_below_what_is_used_is_given_back() -> None:
    told = subprocess.run([sys.executable, "-c", GIVE_BACK], capture_output=True, text=True, check=False)
    if "no arenas here" in told.stderr:
        pytest.skip("not run: this C library has no arenas")

    assert int(told.stdout) > 30_000, told.stderr
