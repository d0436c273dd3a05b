"""What a worker left in its directory: plain files, copied and hashed, within bounds; all else is named and left.

The worker chose every name and every kind of file here. Each directory is opened below the one before it and without
following a link, so that nothing outside is ever read; a file of several names may be somebody else's, and is left.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from phoenixd.drivers.files.plain import why_unopened
from phoenixd.drivers.files.removal import remove_tree

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is taken at most. depth: directories below each other. name: bytes of a path."""

    files: int = 1000
    bytes: int = 64 << 20
    depth: int = 8
    name: int = 512
    listed: int = 200
    """Entries that were not taken and are told one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One file that was taken: its path below the directory, with slashes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Refused:
    """One entry that was not taken, and why."""

    path: str
    why: str


@dataclass(slots=True)
class Gathered:
    """What was taken and what was not, in the order of their paths. beyond: refused ones that are not listed."""

    taken: list[Taken] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    beyond: int = 0


class _Stop(Exception):
    """A bound of the whole is reached."""


def gather(source: Path, target: Path, bounds: Bounds = Bounds()) -> Gathered:
    """Copy what `source` holds into a new directory `target`, in whose place nothing stays; blocking.

    A source that is not there holds nothing. Raises OSError where `target` cannot be written.
    """
    _make_room(target)
    target.mkdir(mode=0o700, parents=True)
    found = Gathered()
    try:
        top = os.open(source, FLAGS | os.O_DIRECTORY)
    except OSError as error:
        if error.errno != errno.ENOENT:
            _refuse(found, bounds, ".", why_unopened(error))
        return found
    gathering = _Gathering(target, bounds, found)
    try:
        gathering.walk(top, "", 0)
    except _Stop:
        pass
    finally:
        os.close(top)
    return found


def _make_room(target: Path) -> None:
    """Remove what stands there, whatever it is: the worker can write there."""
    try:
        remove_tree(target)
    except NotADirectoryError:
        target.unlink()
    except FileNotFoundError:
        pass


@dataclass(slots=True)
class _Gathering:
    target: Path
    bounds: Bounds
    found: Gathered
    size: int = 0
    seen: int = 0

    def walk(self, directory: int, above: str, depth: int) -> None:
        """Take one directory, by its descriptor."""
        for name, is_directory in self._entries(directory, above):
            path = f"{above}{name}"
            if len(os.fsencode(path)) > self.bounds.name or not _is_plain(name):
                self._refuse(path, "its name is too long, or no plain text")
            elif is_directory:
                self._enter(directory, name, path, depth)
            else:
                self._take(directory, name, path)

    def _entries(self, directory: int, above: str) -> Iterator[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        with os.scandir(directory) as entries:
            for entry in entries:
                self.seen += 1
                if self.seen > 10 * self.bounds.files:
                    self._refuse(above or ".", f"there are more than {10 * self.bounds.files} entries")
                    raise _Stop
                found.append((entry.name, entry.is_dir(follow_symlinks=False)))
        yield from sorted(found)

    def _enter(self, directory: int, name: str, path: str, depth: int) -> None:
        if depth >= self.bounds.depth:
            self._refuse(path, f"it lies deeper than {self.bounds.depth} directories")
            return
        try:
            below = os.open(name, FLAGS | os.O_DIRECTORY, dir_fd=directory)
        except OSError as error:
            self._refuse(path, why_unopened(error))
            return
        try:
            self.walk(below, f"{path}/", depth + 1)
        finally:
            os.close(below)

    def _take(self, directory: int, name: str, path: str) -> None:
        try:
            descriptor = os.open(name, FLAGS, dir_fd=directory)
        except OSError as error:
            self._refuse(path, why_unopened(error))
            return
        try:
            problem = self._problem(os.fstat(descriptor))
            if problem:
                self._refuse(path, problem)
                return
            self._copy(descriptor, path)
        finally:
            os.close(descriptor)

    def _problem(self, found: os.stat_result) -> str:
        if not stat.S_ISREG(found.st_mode):
            return "it is no regular file"
        if found.st_nlink > 1:
            return f"it has {found.st_nlink} names: it may be somebody else's file"
        if found.st_uid != os.geteuid():
            return f"it belongs to uid {found.st_uid}"
        if len(self.found.taken) >= self.bounds.files:
            return f"{self.bounds.files} files are taken already"
        if self.size + found.st_size > self.bounds.bytes:
            return f"it holds {found.st_size} bytes: more than {self.bounds.bytes} in all are not taken"
        return ""

    def _copy(self, descriptor: int, path: str) -> None:
        place = self.target / path
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest, size = sha256(), 0
        written = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while chunk := os.read(descriptor, CHUNK):
                size += len(chunk)
                if self.size + size > self.bounds.bytes:
                    os.unlink(place)
                    self._refuse(path, "it grew while it was read")
                    return
                digest.update(chunk)
                view = memoryview(chunk)
                while view:
                    view = view[os.write(written, view) :]
            os.fsync(written)
        finally:
            os.close(written)
        self.size += size
        self.found.taken.append(Taken(path, size, digest.hexdigest()))

    def _refuse(self, path: str, why: str) -> None:
        _refuse(self.found, self.bounds, path, why)


def _refuse(found: Gathered, bounds: Bounds, path: str, why: str) -> None:
    if len(found.refused) < bounds.listed:
        found.refused.append(Refused(path.encode("utf-8", "replace").decode()[: bounds.name], why))
    else:
        found.beyond += 1


def _is_plain(name: str) -> bool:
    """Whether a name can stand in a manifest, and on another disk."""
    return name.isprintable() and not any("\ud800" <= character <= "\udfff" for character in name)
