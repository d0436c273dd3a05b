"""The fence that needs no rights: what an agent started within it can neither see, signal nor trace what watches it.

A user namespace with mounts of its own takes the watcher's files and sockets out of sight, and its memory out of reach.
Landlock keeps signals in. The numbers of processes, the network, HOME and /tmp stay as they are. Entered by the child
between fork and exec; nobody can leave it again.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The same numbers on every architecture that has them.
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 2, 4, 0x4000, 0x80000
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH = 1, os.O_CLOEXEC, 4
MOUNT_ATTR_RDONLY = 1
LANDLOCK_VERSION, LANDLOCK_SCOPE_SIGNAL = 1, 2
SIGNALS_SINCE = 6  # The version of Landlock, of Linux 6.12, that knows of signals.

_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct mount_attr of linux/mount.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]  # ctypes reads it once.


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr of linux/landlock.h, since version 6."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scoped")]  # ctypes reads it once.


class Fence:
    """Whole paths. hidden: directories that show nothing but what is in `shown`; masked: files and sockets.

    shown: path, and whether it may be written to; below a hidden directory, or where it always was. Outer ones first,
    in each list. What is not there is left out of masked and shown.
    """

    __slots__ = ("hidden", "masked", "shown")

    def __init__(self, hidden: list[bytes], masked: list[bytes], shown: list[tuple[bytes, bool]]) -> None:
        self.hidden = hidden
        self.masked = masked
        self.shown = shown


def missing() -> str:
    """What of it this kernel does not have, as far as that can be told without entering; empty where it has all."""
    version = _libc.syscall(SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_VERSION)
    if version < SIGNALS_SINCE:
        return "no Landlock that holds signals (Linux 6.12 has one)"
    return "" if os.path.exists("/proc/self/ns/user") else "no user namespaces"


def enter(fence: Fence) -> None:
    """Raises OSError, whose filename says at what; the caller must not go on then."""
    if lacks := missing():
        raise OSError(95, os.strerror(95), lacks)  # EOPNOTSUPP
    _own_namespaces()
    _check(_libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None), "/")
    nothing = _cloned(b"/dev/null")
    # Before anything is hidden: these are the ways to what lies below.
    trees = [(path, _cloned(path), may_write) for path, may_write in fence.shown]
    covers: list[tuple[bytes, int]] = []
    for path in fence.hidden:
        _check(_libc.mount(b"tmpfs", path, b"tmpfs", MS_NOSUID | MS_NODEV, b"size=256k,mode=0700"), path)
        covers.append((path, os.open(path, os.O_PATH | os.O_CLOEXEC)))
    for path, tree, may_write in trees:
        if tree is None:
            continue
        if not may_write:
            _freeze(tree, path)
        if os.fstat(tree).st_mode & 0o170000 == 0o040000:
            os.makedirs(path, 0o700, exist_ok=True)
        elif not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        _move(tree, path)
    for path in fence.masked:
        if os.path.lexists(path) and nothing is not None:
            _move(nothing, path)
            nothing = _cloned(b"/dev/null")
    for path, cover in covers:
        _freeze(cover, path, recursive=False)
        os.close(cover)
    # In a second pair the mounts of the first are locked: also who is root within can take none of them away.
    _own_namespaces()
    _keep_signals_in()


def _own_namespaces() -> None:
    uid, gid = os.geteuid(), os.getegid()
    _check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode("ascii"))
        finally:
            os.close(fd)


def _keep_signals_in() -> None:
    rules = _Ruleset(scoped=LANDLOCK_SCOPE_SIGNAL)
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    fd = _check(_libc.syscall(SYS_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), size, 0), "Landlock")
    try:
        _check(_libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, fd, 0), "Landlock")
    finally:
        os.close(fd)


def _cloned(path: bytes) -> int | None:
    """A mount of its own of what is at a path, which is nowhere yet; None where nothing is there."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    fd = _libc.syscall(SYS_OPEN_TREE, AT_FDCWD, path, flags)
    if fd < 0 and ctypes.get_errno() == 2:  # ENOENT
        return None
    return _check(fd, path)


def _freeze(tree: int, path: bytes, *, recursive: bool = True) -> None:
    attributes = _Attributes(set=MOUNT_ATTR_RDONLY)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _check(_libc.syscall(SYS_MOUNT_SETATTR, tree, b"", flags, ctypes.byref(attributes), size), path)


def _move(tree: int, path: bytes) -> None:
    _check(_libc.syscall(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), path)
    os.close(tree)


def _check(result: int, where: bytes | str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(where))
    return result


def of(content: Any, absolute: Any) -> Fence | None:
    """The fence of an order, None where it has none. absolute: makes a whole path of a table's field, or raises."""
    if content is None:
        return None
    hidden = [absolute({"fence": path}, "fence") for path in content.get("hidden", ())]
    masked = [absolute({"fence": path}, "fence") for path in content.get("masked", ())]
    shown = [(absolute({"fence": one["path"]}, "fence"), one.get("write") is True) for one in content.get("shown", ())]
    return Fence(hidden, masked, shown)
