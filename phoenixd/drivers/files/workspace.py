"""A workspace's directories, entered one by one by descriptor.

So no link above a file leads elsewhere, and a directory that is renamed meanwhile is not written to under its old name.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence

from phoenixd.documents.project import layout
from phoenixd.errors import BadProject

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW_FILE, NEW_DIRECTORY = 0o644, 0o755


@contextlib.contextmanager
def opened(workspace: str) -> Iterator[int]:
    """The workspace itself, which an operator named and which may be a link."""
    try:
        descriptor = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadProject(f"{workspace} cannot be looked into: {why}", "name the workspace: --workspace DIR") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def below(top: int, path: str) -> Iterator[int]:
    """A directory of a workspace, entered part by part without following a link. Raises FileNotFoundError."""
    descriptor = os.dup(top)
    try:
        for number, name in enumerate(path.split("/"), start=1):
            try:
                inner = os.open(name, DIRECTORY, dir_fd=descriptor)
            except FileNotFoundError:
                raise
            except OSError as error:
                so_far = "/".join(path.split("/")[:number])
                link = error.errno in (errno.ELOOP, errno.ENOTDIR)
                why = "it is a link, or no directory" if link else error.strerror or str(error)
                raise BadProject(
                    f"{so_far} was not entered: {why}", f"put a directory of its own at {so_far}"
                ) from error
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def make(top: int, path: str) -> None:
    """The directory, and those above it that lack."""
    parts: Sequence[str] = layout.checked_path(path).split("/")
    for number in range(1, len(parts) + 1):
        above = "/".join(parts[: number - 1])
        with below(top, above) if above else _duplicate(top) as place, contextlib.suppress(FileExistsError):
            os.mkdir(parts[number - 1], NEW_DIRECTORY, dir_fd=place)
            os.fsync(place)


@contextlib.contextmanager
def _duplicate(descriptor: int) -> Iterator[int]:
    copy = os.dup(descriptor)
    try:
        yield copy
    finally:
        os.close(copy)


def named(place: int, name: str) -> str:
    """A name in a directory that is held by a descriptor, for functions that take paths."""
    return f"/proc/self/fd/{place}/{name}"
