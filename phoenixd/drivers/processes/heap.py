"""How this process's allocator keeps memory."""

from __future__ import annotations

import ctypes

_libc = ctypes.CDLL(None)

INTERVAL = 60.0
"""Seconds between two looks for what can be given back: one costs a fifth of a millisecond on a small heap, and
6 to 24 ms on one of 200 MB and more, for it walks through all of it. Another thread would gain nothing: all threads
share the arena that is locked meanwhile."""

_ARENA_MAX = -8
"""glibc's M_ARENA_MAX."""


def share_one_arena() -> bool:
    """Have all threads allocate from one arena; False where the C library has none. Before any thread starts.

    glibc gives each new thread an arena of its own, and each keeps about 1 MiB that it once used: 16 of them in a
    daemon whose worker threads never run Python at the same time.
    """
    mallopt = getattr(_libc, "mallopt", None)
    return mallopt is not None and bool(mallopt(_ARENA_MAX, 1))


def give_back() -> None:
    """Give the kernel the pages that nothing uses now; nothing where the C library cannot.

    glibc keeps every free page below the highest that is used: what imports, adoptions and starts needed for a moment
    is 3 MiB, which a quiet daemon would have for ever.
    """
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(0)
