"""Which branch a directory is on, read from git's own files: no process, and nothing of the repository's can run."""

from __future__ import annotations

import os
import re
import stat

MOST_PARENTS = 40
HEAD_LIMIT = 1024
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_HEAD = re.compile(r"ref: refs/heads/([^\s\x00-\x1f\x7f]{1,500})\s*")
_COMMIT = re.compile(r"([0-9a-f]{12})[0-9a-f]{28,52}\s*")
_ELSEWHERE = re.compile(r"gitdir: ([^\n\x00]{1,900})\n?")


def branch_of(directory: str) -> str | None:
    """The branch, or "detached at" a commit; None outside of a repository, and where it cannot be told. Blocking."""
    if "\0" in directory:
        return None
    place = os.path.abspath(directory)
    for _ in range(MOST_PARENTS):
        head = _head(os.path.join(place, ".git"), place)
        if head is not None:
            return _named(head)
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above
    return None


def _head(entry: str, place: str) -> str | None:
    """What HEAD says; of a worktree, whose .git is a file, that of the directory which the file names."""
    try:
        found = os.lstat(entry)
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(found.st_mode):
        return _read(os.path.join(entry, "HEAD"))
    elsewhere = _ELSEWHERE.fullmatch(_read(entry) or "") if stat.S_ISREG(found.st_mode) else None
    if elsewhere is None:
        return None
    return _read(os.path.join(place, elsewhere[1], "HEAD"))


def _named(head: str) -> str | None:
    if (branch := _HEAD.fullmatch(head)) is not None:
        return branch[1]
    commit = _COMMIT.fullmatch(head)
    return f"detached at {commit[1]}" if commit is not None else None


def _read(path: str) -> str | None:
    try:
        descriptor = os.open(path, READ_FLAGS)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, HEAD_LIMIT).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
