"""The files that the shim leaves for others: written whole or not at all, read without trusting them."""

from __future__ import annotations

import errno
import json
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD_LIMIT = 4 * 1024 * 1024
COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Unreadable(Exception):
    """A file that is not what it should be; the text says why, `errno_name` is a symbol like ENOENT."""

    def __init__(self, errno_name: str, message: str) -> None:
        super().__init__(message)
        self.errno_name = errno_name


def timestamp() -> str:
    """The wall clock as RFC 3339 UTC with milliseconds."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    if seconds != _second[0]:
        _second[:] = seconds, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{_second[1]}.{nanoseconds // 1_000_000:03d}Z"


# The second that was told last, and its text: an agent's hooks come many in one.
_second: list[Any] = [-1, ""]


def encode(record: dict[str, Any]) -> bytes:
    """Compact JSON in UTF-8; half a surrogate pair, which no UTF-8 can hold, becomes a question mark."""
    return COMPACT.encode(record).encode("utf-8", "replace")


def write(path: str, record: dict[str, Any], durable: bool) -> None:
    """Replace `path` by the record; with `durable` it is on the disk when this returns. Raises OSError."""
    directory, name = os.path.split(path)
    # One writer per directory holds the agent's lock, so a fixed temporary name cannot collide; a crash leaves one at
    # most.
    temporary = os.path.join(directory, f".{name}.shim")
    try:
        os.unlink(temporary)
    except FileNotFoundError:
        pass
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        unwritten = encode(record) + b"\n"
        while unwritten:
            unwritten = unwritten[os.write(fd, unwritten) :]
        if durable:
            os.fsync(fd)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)  # Half a file takes up the room that a full disk lacks.
        raise
    finally:
        os.close(fd)
    if durable:
        _sync_directory(directory)


def sync(path: str) -> None:
    """Have a file that was written without `durable` on the disk when this returns. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    _sync_directory(os.path.dirname(path))


def read_bytes(path: str, limit: int = RECORD_LIMIT, dir_fd: int | None = None) -> bytes:
    """The content of a regular file; never follows a link, never blocks on a FIFO, never takes more than `limit`."""
    fd = open_plain(path, dir_fd)
    try:
        status = os.fstat(fd)
        if status.st_size > limit:
            raise Unreadable("EFBIG", f"{path}: {status.st_size} bytes, the limit is {limit}")
        return read_at_most(fd, limit, path)
    except OSError as error:
        raise Unreadable(errno_name(error), f"{path}: {error.strerror}") from error
    finally:
        os.close(fd)


def open_plain(path: str, dir_fd: int | None = None) -> int:
    """A regular file, open to be read; raises Unreadable, follows no link, waits for nobody."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, dir_fd=dir_fd)
    except OSError as error:
        raise Unreadable(errno_name(error), f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unreadable("EINVAL", f"{path}: not a regular file")
    return fd


def read_object(path: str) -> dict[str, Any]:
    """The JSON object in a file; raises Unreadable for anything else."""
    return decode_object(read_bytes(path), path)


def decode_object(content: bytes, origin: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unreadable("EINVAL", f"{origin}: not JSON ({type(error).__name__})") from error
    if not isinstance(value, dict):
        raise Unreadable("EINVAL", f"{origin}: not a JSON object")
    return value


def errno_name(error: OSError) -> str:
    """The symbol of an error number, as "ENOENT"."""
    return errno.errorcode.get(error.errno or 0, "EIO")


def read_at_most(fd: int, limit: int, path: str) -> bytes:
    """The rest of an open file; raises OSError, and Unreadable where that is more than `limit` bytes."""
    # A writer may still be adding to the file: the size seen above is no bound for what read() returns.
    chunks: list[bytes] = []
    room = limit + 1
    while room > 0 and (chunk := os.read(fd, min(room, 1 << 20))):
        chunks.append(chunk)
        room -= len(chunk)
    if room == 0:
        raise Unreadable("EFBIG", f"{path}: grew past {limit} bytes")
    return b"".join(chunks)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
