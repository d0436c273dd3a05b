"""Which of the disks that a run writes to have no room left, as the kernel counts it.

A network's file system may hang any process that asks it, and the shim has to live: only disks of this host are asked.
"""

from __future__ import annotations

import os
import select

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from order import Order

# Bytes. A CLI's session needs more, and who writes in larger pieces fails before the last byte is taken.
LEAST_ROOM = 1 << 20
OF_THIS_HOST = frozenset((
    b"bcachefs", b"btrfs", b"devtmpfs", b"exfat", b"ext2", b"ext3", b"ext4", b"f2fs", b"jfs", b"overlay", b"tmpfs",
    b"vfat", b"xfs", b"zfs",
))  # fmt: skip
# As the kernel bounds them.
MOST_LINKS = 40
MOUNTS, MOUNTS_LIMIT = "/proc/self/mountinfo", 1 << 20


def full(order: Order, state_dir: str = "") -> list[str]:
    """The places of a run, by name, whose disk has no room: for bytes, or for one more file."""
    environment = order.environment
    places = (
        ("cwd", order.cwd),
        ("home", environment.get(b"HOME", b"")),
        ("state", os.fsencode(state_dir)),
        ("tmp", environment.get(b"TMPDIR", b"") or b"/tmp"),
    )
    try:
        mounts = _table.now()
    except (OSError, records.Unreadable):
        return []
    return [
        name for name, path in places
        if path.startswith(b"/") and _is_of_this_host(path, mounts) and _is_full(path)
    ]  # fmt: skip


def look() -> None:
    """Have the table of mounts read, so that an end need not wait for that; as long as nothing is mounted anew."""
    try:
        _table.now()
    except (OSError, records.Unreadable):
        return


def _is_of_this_host(path: bytes, mounts: dict[bytes, bytes]) -> bool:
    """Whether the way there, links followed, never leaves the disks of this host; no link is read on another."""
    at, ahead, links = b"/", path.split(b"/")[::-1], 0
    while ahead:
        step = ahead.pop()
        if step in (b"", b"."):
            continue
        at = os.path.dirname(at) if step == b".." else os.path.join(at, step)
        if _type_of(at, mounts) not in OF_THIS_HOST:
            return False
        try:
            target = os.readlink(at)
        except OSError:  # It is no link, or nothing that can be asked.
            continue
        links += 1
        if links > MOST_LINKS:
            return False
        at = b"/" if target.startswith(b"/") else os.path.dirname(at)
        ahead += target.split(b"/")[::-1]
    return _type_of(at, mounts) in OF_THIS_HOST


def _is_full(path: bytes) -> bool:
    try:
        found = os.statvfs(path)
    except OSError:
        return False
    if found.f_flag & os.ST_RDONLY or not found.f_blocks:
        return False
    # Of what is kept back for root only root can have any.
    blocks, files = (found.f_bfree, found.f_ffree) if os.geteuid() == 0 else (found.f_bavail, found.f_favail)
    return blocks * found.f_frsize < LEAST_ROOM or (found.f_files > 0 and not files)


class Table:
    """The mounts of this host. The kernel tells by the open file that they have changed."""

    def __init__(self) -> None:
        self._path, self._fd = "", -1
        self._changes = select.poll()
        self._found: dict[bytes, bytes] = {}

    def now(self) -> dict[bytes, bytes]:
        """Mount points with the type of what is mounted there, the newest of several; raises OSError and Unreadable."""
        if self._path != MOUNTS:
            self._open()
        elif not self._changes.poll(0):
            return self._found
        try:
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._found = _read(records.read_at_most(self._fd, MOUNTS_LIMIT, MOUNTS))
        except (OSError, records.Unreadable):
            self._path = ""
            raise
        return self._found

    def _open(self) -> None:
        if self._fd >= 0:
            self._changes.unregister(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._fd = records.open_plain(MOUNTS)
        self._changes.register(self._fd, select.POLLPRI)
        self._path = MOUNTS


_table = Table()


def _read(table: bytes) -> dict[bytes, bytes]:
    found = {}
    for line in table.splitlines():
        point, _, kind = line.partition(b" - ")
        words = point.split()
        if len(words) > 4 and kind:
            found[_plain(words[4])] = kind.split()[0]
    return found


def _plain(point: bytes) -> bytes:
    """Blanks and the like stand there as \\040."""
    if b"\\" not in point:
        return point
    for code in (b"040", b"011", b"012", b"134"):
        point = point.replace(b"\\" + code, bytes((int(code, 8),)))
    return point


def _type_of(path: bytes, mounts: dict[bytes, bytes]) -> bytes:
    """Of the mount that is the nearest above; empty where none is."""
    while path not in mounts and path != b"/":
        path = path[: path.rindex(b"/")] or b"/"
    return mounts.get(path, b"")
