"""The reflogs of branches and remote-tracking refs: those that were just written, among what may be thousands.

Most are never opened: a file's time tells that it has not grown. Of those written within moments of a look their ends
are marked, because a log tells whole seconds, and what was there at the look must not count as made after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from phoenixd.drivers.git.reflog import Move, appended, mark_of
from phoenixd.drivers.git.worktrees import linked_worktrees

MOST_LOGS = 4000
"""Logs whose times are looked at."""
MOST_MARKED = 64
MOST_MOVES = 32
MOST_WORKTREES = 32
MARGIN = 3.0
"""Seconds by which a file's time may lag behind ours: the kernel's coarse clock, and a file system's whole seconds."""
HEADS, REMOTES = b"/logs/refs/heads", b"/logs/refs/remotes"


class RefMove(NamedTuple):
    """A move of a ref, whose name is relative to its kind: `main`, `origin/main`."""

    name: str
    move: Move


def marks_at(common: bytes, at: float) -> tuple[tuple[str, str], ...]:
    """The ends of the logs that were written within moments before a wall time, by their paths below the repository."""
    found = [
        (os.fsdecode(path[len(common) :]), mark_of(path))
        for kind in (HEADS, REMOTES)
        for path in _written_since(common + kind, at - 2 * MARGIN)
    ]
    return tuple(found[:MOST_MARKED])


def moves_since(common: bytes, kind: bytes, at: float, marks: Mapping[str, str]) -> list[RefMove]:
    """What these logs have gained since a wall time, and since the marks that were taken then."""
    found: list[RefMove] = []
    for path in _written_since(common + kind, at - MARGIN):
        for move in appended(path, marks.get(os.fsdecode(path[len(common) :])), at).moves:
            found.append(RefMove(os.fsdecode(path[len(common) + len(kind) + 1 :]), move))
    return found[-MOST_MOVES:]


def stood_on_elsewhere(common: bytes, own_log: bytes) -> set[str]:
    """The commits on which the other worktrees of a repository have stood, as far as their logs are read."""
    logs = [common + b"/logs/HEAD"]
    logs += [linked.log for _, linked in zip(range(MOST_WORKTREES), linked_worktrees(common), strict=False)]
    return stood_on(log for log in logs if log != own_log)


def stood_on(logs: Iterable[bytes]) -> set[str]:
    """The commits that reflogs of HEAD name."""
    found: set[str] = set()
    for log in logs:
        gained = appended(log, None, 0.0)
        found |= {one for move in (*gained.before, *gained.moves) for one in (move.old, move.new)}
    return found - {"0" * 40, "0" * 64}


def is_made_here(base: str, here: set[str], elsewhere: set[str]) -> bool | None:
    """Whether what was built upon a commit was made from this worktree; None where it stood on both, or on neither."""
    return base in here if (base in here) != (base in elsewhere) else None


def _written_since(top: bytes, at: float) -> Iterator[bytes]:
    pending, left = [top], MOST_LOGS
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.stat(follow_symlinks=False).st_mtime >= at:
                        yield entry.path
        except OSError:
            continue
