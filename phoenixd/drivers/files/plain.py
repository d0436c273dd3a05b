"""Plain files: read what an agent may have tampered with, write so that a crash leaves the old or the new."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from phoenixd.directories import make_private, sync_directory
from phoenixd.errors import FileUnreadable, UnsafeFile

Location = str | os.PathLike[str]

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""O_NONBLOCK, because opening a FIFO that an agent put there would otherwise wait for a writer for ever."""

AT_FDCWD = -100
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)

WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

HOST_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC, errno.EINTR, errno.EDQUOT})
"""Why a file cannot be opened, although nothing need be wrong with it."""


def read_plain(path: Location, limit: int) -> bytes:
    """Return the whole content of a plain file of ours (or root's) of at most `limit` bytes.

    Raises FileNotFoundError when nothing has that name, FileUnreadable where the host could not look, UnsafeFile for
    everything else that is no such file.
    """
    try:
        descriptor = os.open(path, READ_FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        fault = FileUnreadable if error.errno in HOST_ERRORS else UnsafeFile
        raise fault(f"{os.fsdecode(path)} was not read: {why_unopened(error)}") from error
    try:
        _require_plain(descriptor, path, limit)
        return _read_up_to(descriptor, path, limit)
    finally:
        os.close(descriptor)


def replace(path: Location, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Put `data` in the place of `path` in one step: readers see the old content or the new, never a part.

    With `durable`, the new content also survives a power cut once this returns. Raises OSError.
    """
    target = Path(path)
    with _written_beside(target, data, mode, durable) as temporary:
        if durable:
            os.rename(temporary, target)
        else:
            _put_in_place(temporary, target)
    if durable:
        sync_directory(target.parent)


def refresh(path: Location, data: bytes, mode: int = 0o600) -> None:
    """The same where the old content is as good after a power cut: whole stands there one or the other. Raises OSError.

    Making the new name durable as well costs as much again.
    """
    target = Path(path)
    with _written_beside(target, data, mode, durable=True) as temporary:
        os.rename(temporary, target)


def replace_unchanged(path: Location, data: bytes, expected: bytes | None, mode: int = 0o600) -> bool:
    """The same, durably, if `path` still holds `expected` (None: it is not there); else False, and nothing was done.

    There is no instant at which another hand's deletion or edit could be lost, where the file system can exchange two
    names; where it cannot, this is `replace`. Raises OSError, and FileUnreadable where the host could not
    look at what stood there: then nothing was done, and nobody is known to have edited it.
    """
    target = Path(path)
    with _written_beside(target, data, mode, durable=True) as temporary:
        try:
            _rename(temporary, target, RENAME_NOREPLACE if expected is None else RENAME_EXCHANGE)
        except (FileExistsError, FileNotFoundError):
            return False
        # What stood there has our file's name now, and can be looked at without haste.
        if expected is not None and os.path.lexists(temporary):
            is_unchanged = False
            try:
                is_unchanged = _holds(temporary, expected)
            finally:
                if not is_unchanged:
                    _rename(temporary, target, RENAME_EXCHANGE)
            if not is_unchanged:
                return False
    sync_directory(target.parent)
    return True


def copy_new(source: Location, path: Location, size: int, sha256: str, mode: int = 0o600) -> bool:
    """Copy a plain file to where nothing has that name yet, durably; else False, and nothing was done.

    Raises OSError; and UnsafeFile for what is no plain file of that many bytes with that sha256.
    """
    target = Path(path)
    with _opened_beside(target, mode) as (temporary, descriptor):
        read = os.open(source, READ_FLAGS)
        try:
            _require_plain(read, source, limit=size)
            found, left = hashlib.sha256(), size + 1  # One more than there is to be tells a file that grows.
            while left > 0 and (chunk := os.read(read, min(left, 1 << 20))):
                found.update(chunk)
                left -= len(chunk)
                _write_all(descriptor, chunk)
            if left != 1 or found.hexdigest() != sha256:
                raise UnsafeFile(f"{os.fsdecode(source)} is another file than the {size} bytes that were noted of it")
        finally:
            os.close(read)
        os.fsync(descriptor)
        try:
            _rename(temporary, target, RENAME_NOREPLACE)
        except FileExistsError:
            return False
    sync_directory(target.parent)
    return True


def append(path: Location, line: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Add one line to a file of lines, after a newline where a crash left a torn one.

    `line` comes without its newline. A write that fails half-way is taken back. Raises OSError and UnsafeFile.
    """
    if b"\n" in line:
        raise ValueError("a line holds no newline")
    try:
        descriptor = os.open(path, (WRITE_FLAGS & ~os.O_WRONLY) | os.O_RDWR | os.O_APPEND, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise UnsafeFile(f"{os.fsdecode(path)} was not written: {why_unopened(error)}") from error
        raise
    try:
        size = _require_plain(descriptor, path, limit=None)
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        try:
            _write_all(descriptor, (b"\n" if torn else b"") + line + b"\n")
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if durable and size == 0:
        sync_directory(Path(path).parent)


def ensure_private_dir(path: Location) -> None:
    """Make sure that a directory exists and is open to us alone; raises UnsafeFile where it is somebody else's."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        make_private(path)
        descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise UnsafeFile(
                f"{os.fsdecode(path)} belongs to uid {found.st_uid}, not to uid {os.geteuid()}",
                remedy="choose another directory, or give this one to the daemon's user",
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _written_beside(target: Path, data: bytes, mode: int, durable: bool) -> Iterator[Path]:
    """A whole new file in the target's directory, which goes unless it was renamed."""
    with _opened_beside(target, mode) as (temporary, descriptor):
        _write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
        yield temporary


@contextlib.contextmanager
def _opened_beside(target: Path, mode: int) -> Iterator[tuple[Path, int]]:
    """An empty new file in the target's directory, by name and descriptor, which goes unless it was renamed."""
    kept = os.fsdecode(os.fsencode(target.name)[:200])  # A name may have 255 bytes, whatever its characters take.
    temporary = target.with_name(f".{kept}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, WRITE_FLAGS | os.O_EXCL, mode)
    try:
        os.fchmod(descriptor, mode)  # The umask must not decide who may read.
        yield temporary, descriptor
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)


def _rename(source: Path, target: Path, flags: int) -> None:
    """renameat2, or a plain rename where the C library, the kernel or the file system does not know these flags."""
    if _renameat2 is not None:
        if _renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flags) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), os.fspath(target))
    os.rename(source, target)


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename without a wait for the disk: ext4 writes out what replaces a file, unless the names are exchanged."""
    try:
        if stat.S_ISREG(os.lstat(target).st_mode):
            _rename(temporary, target, RENAME_EXCHANGE)
            return
    except FileNotFoundError:
        pass
    os.rename(temporary, target)


def _holds(path: Path, expected: bytes) -> bool:
    try:
        return read_plain(path, len(expected)) == expected
    except FileUnreadable:
        raise
    except UnsafeFile:
        return False


def _require_plain(descriptor: int, path: Location, limit: int | None) -> int:
    found = os.fstat(descriptor)
    name = os.fsdecode(path)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFile(f"{name} is not a regular file")
    if found.st_uid not in (os.geteuid(), 0):
        raise UnsafeFile(f"{name} belongs to uid {found.st_uid}")
    # None at all is a file that was replaced since it was opened, which is how heartbeats are written.
    if found.st_nlink > 1:
        raise UnsafeFile(f"{name} has {found.st_nlink} names: it may be somebody else's file")
    if limit is not None and found.st_size > limit:
        raise UnsafeFile(f"{name} holds {found.st_size} bytes, more than {limit}")
    return found.st_size


def _read_up_to(descriptor: int, path: Location, limit: int) -> bytes:
    chunks: list[bytes] = []
    left = limit + 1  # One more than allowed tells a file that grows while it is read.
    while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    if left <= 0:
        raise UnsafeFile(f"{os.fsdecode(path)} holds more than {limit} bytes")
    return b"".join(chunks)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def why_unopened(error: OSError) -> str:
    """Why a path could not be opened as a plain file, in words."""
    if error.errno == errno.ELOOP:
        return "it is a symbolic link"
    if error.errno == errno.ENXIO:
        return "it is a socket or a FIFO"
    return error.strerror or str(error)
