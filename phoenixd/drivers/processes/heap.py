"""How this process's allocator keeps memory."""

from __future__ import annotations

import ctypes

_ARENA_MAX = -8
"""glibc's M_ARENA_MAX."""


def share_one_arena() -> bool:
    """Have all threads allocate from one arena; False where the C library has none. Before any thread starts.

    glibc gives each new thread an arena of its own, and each keeps about 1 MiB that it once used: 16 of them in a
    daemon whose worker threads never run Python at the same time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_ARENA_MAX, 1))
