"""Worktrees of a repository: which one a directory belongs to, and which others are linked to the same repository.

Found by the files that git keeps of them (gitrepository-layout(5)), without running anything.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed
from phoenixd.drivers.git.summary import WHERE

MOST_LINKED = 200
HEAD_SIZE = 1 << 16
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Location:
    """Where a directory's repository is. top: the worktree, or the repository's own directory where it is bare."""

    top: bytes
    git_directory: bytes
    common: bytes
    object_format: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked worktree. mark: another one for a worktree that was made anew. log: the reflog of its HEAD."""

    top: bytes
    mark: str
    log: bytes


def locate(directory: bytes, deadline: float) -> Location | None:
    """The repository around a directory, None where there is none; raises PlumbingFailed."""
    plumbing = Plumbing(os.fsdecode(directory), deadline)
    try:
        top, git_directory, object_format, common = plumbing.answers(4, "rev-parse", *WHERE, "--git-common-dir")
        bare = False
    except PlumbingFailed as failure:
        if failure.no_repository:
            return None
        if not failure.bare:
            raise
        asked = ("--is-bare-repository", "--absolute-git-dir", "--show-object-format", "--git-common-dir")
        is_bare, git_directory, object_format, common = plumbing.answers(4, "rev-parse", *asked)
        if is_bare != "true":
            raise
        top, bare = git_directory, True
    around = os.path.realpath(os.path.join(directory, os.fsencode(common)))
    return Location(os.fsencode(top), os.path.realpath(os.fsencode(git_directory)), around, object_format, bare)


def linked_worktrees(common: bytes) -> Iterator[Linked]:
    """The linked worktrees of a repository that are there, in no order."""
    try:
        with os.scandir(common + b"/worktrees") as entries:
            names = [entry.path for entry in islice(entries, MOST_LINKED)]
    except OSError:
        return
    for path in names:
        told = head_of(path + b"/gitdir").rstrip(b"\n")
        if b"\0" in told:
            # No path holds one, and an agent can write anything.
            continue
        try:
            # git writes this file once.
            written = os.stat(path + b"/commondir", follow_symlinks=False)
        except OSError:
            continue
        top = os.path.realpath(os.path.join(path, os.path.dirname(told)))
        if told.endswith(b"/.git") and os.path.lexists(top + b"/.git"):
            born = b"%d %d " % (written.st_ino, written.st_mtime_ns)
            yield Linked(top, hashlib.sha256(born + top).hexdigest()[:16], path + b"/logs/HEAD")


def head_of(path: bytes) -> bytes:
    """The beginning of a small file of git's; nothing where no plain file can be read."""
    try:
        descriptor = os.open(path, READ_FLAGS)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        try:
            return file.read(HEAD_SIZE)
        except OSError:
            return b""


def top_of(path: bytes) -> bytes:
    """The nearest directory at or above a path that looks like a worktree, or else the path itself."""
    at = os.path.realpath(path)
    while at != b"/":
        if os.path.lexists(at + b"/.git"):
            return at
        at = os.path.dirname(at)
    return os.path.realpath(path)
