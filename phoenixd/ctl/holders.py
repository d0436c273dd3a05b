"""Which daemon holds the directory of a socket, as the lock file there says. Loaded where a daemon does not answer."""

from __future__ import annotations

import posix

FORBIDDEN = 13
"""EACCES."""
UNSEEN = -1
"""No pid: another user's, who lets nobody look."""


def holder_of(place: bytes) -> int:
    """The pid of the daemon that holds the directory of this socket; 0 for none, UNSEEN where nobody may look."""
    return _noted(place)[0]


def without_socket(places: list[bytes]) -> int:
    """The pid of a daemon that lives at one of these places and has no socket there; 0 where there is none.

    It begins, or somebody deleted its socket. One that is about to end makes none.
    """
    noted = map(_noted, places)
    return next((pid for pid, is_ending in noted if pid > 0 and not is_ending), 0)


def _noted(place: bytes) -> tuple[int, bool]:
    """Who holds the directory of a socket, and whether it is about to end, as the lock file there says."""
    directory = place.rpartition(b"/")[0] or b"."
    flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
    try:
        descriptor = posix.open(directory + b"/phoenixd.lock", flags)
        try:
            words = posix.read(descriptor, 64).split()
        finally:
            posix.close(descriptor)
    except OSError as error:
        return (UNSEEN if error.errno == FORBIDDEN else 0), False
    if not words or not words[0].isdigit() or words[1:2] == [b"in"]:
        return 0, False
    from phoenixd.runs import is_locked

    try:
        # The word of a daemon that was killed stays, and its pid may be another process's by now.
        is_held = is_locked(directory.decode("utf-8", "surrogateescape"))
    except OSError as error:
        if error.errno == FORBIDDEN:
            return UNSEEN, False
        is_held = True  # A file system that locks no directories: then the word alone has to do.
    return (int(words[0]), words[1:2] == [b"ending"]) if is_held else (0, False)
