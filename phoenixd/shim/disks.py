"""Which of the disks that a run writes to have no room left, as the kernel counts it.

A network's file system may hang whoever asks it, and the shim has to live: only disks of this host are asked.
"""

from __future__ import annotations

import os

import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from order import Order

# Bytes. A CLI's session needs more, and who writes in larger pieces fails before the last byte is taken.
LEAST_ROOM = 1 << 20
OF_THIS_HOST = frozenset((
    b"bcachefs", b"btrfs", b"exfat", b"ext2", b"ext3", b"ext4", b"f2fs", b"jfs", b"overlay", b"tmpfs", b"vfat", b"xfs",
    b"zfs",
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
        mounts = _mounts()
    except (OSError, records.Unreadable):
        return []
    return [
        name for name, path in places
        if path.startswith(b"/") and _is_of_this_host(path, mounts) and _is_full(path)
    ]  # fmt: skip


def _is_of_this_host(path: bytes, mounts: list[tuple[bytes, bytes]]) -> bool:
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


def _mounts() -> list[tuple[bytes, bytes]]:
    """Mount points with the type of what is mounted there; the newest last."""
    found = []
    for line in records.read_bytes(MOUNTS, MOUNTS_LIMIT).splitlines():
        point, _, kind = line.partition(b" - ")
        words = point.split()
        if len(words) > 4 and kind:
            found.append((_plain(words[4]), kind.split()[0]))
    return found


def _plain(point: bytes) -> bytes:
    """Blanks and the like stand there as \\040."""
    for code in (b"040", b"011", b"012", b"134"):
        point = point.replace(b"\\" + code, bytes((int(code, 8),)))
    return point


def _type_of(path: bytes, mounts: list[tuple[bytes, bytes]]) -> bytes:
    place, kind = b"", b""
    for point, one in mounts:
        is_below = path == point or path.startswith(point.rstrip(b"/") + b"/")
        if is_below and len(point) >= len(place):
            place, kind = point, one
    return kind
