"""What a file looks like, in few bytes: read as what an agent may have put there, within bounds of size and time."""

from __future__ import annotations

import fnmatch
import hashlib
import heapq
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

FULL_SIZE = 5 << 20
"""Bytes up to which an untracked file is read whole; of a larger one its size and samples count (X8b)."""
TRACKED_SIZE = 64 << 20
"""The same for files that a repository tracks, which have to be compared with what it holds."""
SAMPLES, SAMPLE_SIZE = 16, 64 << 10
MOST_FILES = 20_000
MOST_BYTES = 256 << 20
MOST_WALKED = 50_000
MOST_PLACES = 1000
"""Paths that a pattern of several parts is looked for in, and names that it finds in them."""
LOOK_AT_TIME_EVERY = 4096
"""Names of a directory between two looks whether there is time left."""

SESSIONS = b"/.claude/orchestrators/"
SESSION_FILE = re.compile(rb"/\.claude/orchestrators/[^/]+/(?:session\.json|handoff-[a-z]+\.json|init-prompt\.md)\Z")
"""What phoenixd writes of an orchestrator's session into its workspace: no agent's work."""

BARE = frozenset({b"HEAD", b"objects", b"refs"})
"""What a directory holds that is a repository without a worktree."""

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class WorkUnreadable(Exception):
    """The work cannot be told now; the message is for people."""


@dataclass(slots=True)
class Budget:
    """What one measurement may cost. Counts go down in a fixed order, so that the same work costs the same."""

    deadline: float
    files: int = MOST_FILES
    bytes: int = MOST_BYTES
    walked: int = MOST_WALKED
    repositories: int = 20
    notes: dict[str, None] = field(default_factory=dict)

    def require_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise WorkUnreadable("the work could not be read in time")

    def allows(self, size: int) -> bool:
        """Whether one more file of that size may be read; what may not is known by its size alone."""
        if self.files <= 0 or self.bytes < size:
            self.notes["too much to be read: the rest is known by size alone"] = None
            return False
        self.files -= 1
        self.bytes -= size
        return True


def untracked_print(path: bytes, budget: Budget) -> bytes:
    """Kind and content of a file that no repository holds; times and permissions do not count."""
    found = _look(path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return _oddity(path, found)
    size = found.st_size
    if size > FULL_SIZE:
        cost = SAMPLES * SAMPLE_SIZE
        return b"large %d " % size + (_sampled(path, size) if budget.allows(cost) else b"")
    return b"file " + (_whole(path, size, hashlib.sha256()) if budget.allows(size) else b"size %d" % size)


def tracked_print(path: bytes, blob: str, budget: Budget) -> bytes | None:
    """Kind and content of a file whose times differ from the index; None when it holds just what is tracked."""
    found = _look(path)
    if found is not None and stat.S_ISLNK(found.st_mode):
        target = _target(path)
        return None if _as_blob(blob, len(target), target) == blob else b"link " + target
    if found is None or not stat.S_ISREG(found.st_mode):
        return _oddity(path, found)
    size = found.st_size
    if size > TRACKED_SIZE:
        return b"large %d " % size + (_sampled(path, size) if budget.allows(SAMPLES * SAMPLE_SIZE) else b"")
    if not budget.allows(size):
        return b"size %d" % size
    hashing = _blob_hash(blob)
    hashing.update(b"blob %d\0" % size)
    content = _whole(path, size, hashing)
    return None if content == blob.encode() else b"file " + content


def walk(top: bytes, budget: Budget, excluded: Excluded) -> Iterator[tuple[bytes, bool]]:
    """Every file below a directory that is in no repository, in order; True marks a repository, not entered."""
    pending = [top]
    device = os.lstat(os.path.realpath(top)).st_dev
    while pending:
        directory = pending.pop()
        budget.require_time()
        try:
            with os.scandir(directory) as found:
                # An agent makes millions: which ones count hangs on their names, as if all were put in order.
                entries = heapq.nsmallest(budget.walked + 1, _in_time(found, budget), key=lambda entry: entry.name)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if directory != top and (b".git" in names or names >= BARE):
            yield directory, True
            continue
        for entry in entries:
            if entry.name == b".git" or excluded.covers(entry.path):
                continue
            budget.walked -= 1
            if budget.walked < 0:
                budget.notes["too many files: not all of them were looked at"] = None
                return
            if not entry.is_dir(follow_symlinks=False):
                yield entry.path, False
            elif (inside := _look(entry.path)) is not None and inside.st_dev == device:
                pending.append(entry.path)


def _in_time(entries: Iterable[os.DirEntry[bytes]], budget: Budget) -> Iterator[os.DirEntry[bytes]]:
    for number, entry in enumerate(entries, 1):
        if number % LOOK_AT_TIME_EVERY == 0:
            budget.require_time()
        yield entry


@dataclass(frozen=True, slots=True)
class Excluded:
    """Paths that are not the agent's work: ours, and what the operator names by path or pattern; and what are notes.

    within: the directories that all work lies in; empty for no such limit.
    """

    paths: frozenset[bytes] = frozenset()
    patterns: tuple[bytes, ...] = ()
    top: bytes = b""
    notes: tuple[bytes, ...] = ()
    within: tuple[bytes, ...] = ()
    below: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "below", tuple(path + b"/" for path in self.paths))

    def covers(self, path: bytes) -> bool:
        """Whether a path, given in full, or a directory around it is left out."""
        if path in self.paths or path.startswith(self.below):
            return True
        if SESSIONS in path and SESSION_FILE.search(path):
            return True
        if self.within and not any(path == root or path.startswith(root + b"/") for root in self.within):
            return True
        return bool(self.patterns) and self._matches(path, self.patterns)

    def is_note(self, path: bytes) -> bool:
        """Whether a path, given in full, is a note; a pattern without a slash names files and directories anywhere."""
        if not self.notes:
            return False
        parts = self._relative(path).split(b"/")
        plain = [pattern for pattern in self.notes if b"/" not in pattern]
        if any(fnmatch.fnmatchcase(part, pattern) for part in parts for pattern in plain):
            return True
        return self._matches(path, [pattern.strip(b"/") for pattern in self.notes if b"/" in pattern])

    @property
    def has_patterns(self) -> bool:
        """Whether a whole tree says more than what counts of it."""
        return bool(self.patterns or self.notes or self.within)

    def _matches(self, path: bytes, patterns: Iterable[bytes]) -> bool:
        parts = self._relative(path).split(b"/")
        around = [b"/".join(parts[: length + 1]) for length in range(len(parts))]
        return any(fnmatch.fnmatchcase(one, pattern) for one in around for pattern in patterns)

    def _relative(self, path: bytes) -> bytes:
        return path[len(self.top) + 1 :] if path.startswith(self.top + b"/") else path


def exists(top: str, pattern: str) -> bool:
    """Whether a path below a directory matches; `*` and `?` stand for anything but a slash. Links are not followed."""
    places = [os.path.abspath(top)]
    for part in pattern.strip("/").split("/"):
        if part == "..":
            return False
        found: list[str] = []
        for place in places:
            if not any(sign in part for sign in "*?["):
                found += [os.path.join(place, part)] if os.path.lexists(os.path.join(place, part)) else []
                continue
            try:
                with os.scandir(place) as entries:
                    fitting = (entry.path for entry in entries if fnmatch.fnmatchcase(entry.name, part))
                    found += islice(fitting, MOST_PLACES - len(found))
            except OSError:
                continue
        places = found
    return bool(places)


def _look(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _oddity(path: bytes, found: os.stat_result | None) -> bytes:
    if found is None:
        return b"gone"
    if stat.S_ISLNK(found.st_mode):
        return b"link " + _target(path)
    return b"kind %o" % stat.S_IFMT(found.st_mode)


def _target(path: bytes) -> bytes:
    try:
        return os.readlink(path)
    except OSError:
        return b""


def _whole(path: bytes, size: int, hashing: hashlib._Hash) -> bytes:
    """The content's hash. A file that another hand shortens meanwhile is hashed as far as it goes."""
    try:
        descriptor = os.open(path, READ_FLAGS)
    except OSError as error:
        return b"unreadable %d" % (error.errno or 0)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b"replaced"
        left = size
        try:
            while left > 0 and (chunk := file.read(min(left, 1 << 20))):
                hashing.update(chunk)
                left -= len(chunk)
        except OSError as error:
            return b"unreadable %d" % (error.errno or 0)
    return hashing.hexdigest().encode()


def _sampled(path: bytes, size: int) -> bytes:
    hashing = hashlib.sha256()
    try:
        descriptor = os.open(path, READ_FLAGS)
    except OSError as error:
        return b"unreadable %d" % (error.errno or 0)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b"replaced"
        for number in range(SAMPLES):
            hashing.update(os.pread(descriptor, SAMPLE_SIZE, (size - SAMPLE_SIZE) * number // (SAMPLES - 1)))
    except OSError as error:
        return b"unreadable %d" % (error.errno or 0)
    finally:
        os.close(descriptor)
    return hashing.hexdigest().encode()


def _blob_hash(blob: str) -> hashlib._Hash:
    return hashlib.sha1(usedforsecurity=False) if len(blob) == 40 else hashlib.sha256()


def _as_blob(blob: str, size: int, content: bytes) -> str:
    hashing = _blob_hash(blob)
    hashing.update(b"blob %d\0" % size)
    hashing.update(content)
    return hashing.hexdigest()
