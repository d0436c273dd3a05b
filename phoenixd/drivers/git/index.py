"""The index of a git repository, read without git where it can be: one entry for each tracked path.

git tells the same by `ls-files --stage --debug`, and is asked whenever the file is of a form that is not known here
(split, sparse, damaged). Telling and reading that text takes several times as long as reading the file, and an index
may hold a hundred thousand paths. See gitformat-index(5).
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed

INDEX_LIMIT = 128 << 20
"""Bytes that an index may hold, or be told in: some 500,000 files."""
ENTRY_LIMIT = 1_000_000
LOOK_AT_TIME_EVERY = 4096
"""Entries between two looks whether there is time left."""

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
GITLINK = 0o160000

_EXTENDED, _LONG_NAME = 0x4000, 0xFFF
_LEFT_ALONE = 0x8000 | 0x40000000
"""assume-unchanged, and skip-worktree."""
_TREE = b"TREE"
_LINKED, _SPARSE = b"link", b"sdir"
"""Extensions of an index that does not hold its entries, or not one for each path."""
_HASH_SIZES = {"sha1": 20, "sha256": 32}
_STAGE_RECORD = re.compile(
    rb"([0-7]{6}) ([0-9a-f]{40,64}) ([0-3])\t([^\0]*)\0"
    rb"  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: \d+\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)


class Entry(NamedTuple):
    """One path of the index, with what git remembers of its file.

    blob: its hash. mtime: nanoseconds. is_left_alone: git does not look at the file either.
    """

    path: bytes
    mode: int
    blob: bytes
    stage: int
    mtime: int
    size: int
    is_left_alone: bool


class Index(NamedTuple):
    """All entries, when the index was written (ns, 0 where there is none), and the tree that its entries make.

    tree: a hash; empty where git has not noted one, as after `git add`.
    """

    entries: list[Entry]
    written: int = 0
    tree: bytes = b""


class Unknown(Exception):
    """The index is of a form that only git can read."""


def index_of(plumbing: Plumbing, top: bytes, git_directory: bytes, object_format: str) -> Index:
    """The index of a worktree; raises PlumbingFailed."""
    path = git_directory + b"/index"
    try:
        content, written = _content(path)
        tree: list[bytes] = []
        read = read_index(content, _HASH_SIZES[object_format], tree, plumbing.require_time)
        return Index(list(read), written, b"".join(tree))
    except FileNotFoundError:
        return Index([])
    except (OSError, KeyError, Unknown):
        told = plumbing.output("ls-files", "--stage", "--debug", "-z", cwd=os.fsdecode(top), limit=INDEX_LIMIT)
        return Index(list(told_entries(told, plumbing.require_time)), _written(path))


def read_index(
    content: bytes, hash_size: int, tree: list[bytes] | None = None, require_time: Callable[[], object] = bool
) -> Iterator[Entry]:
    """Read the file's content; raises Unknown, PlumbingFailed where it is not for git to read either.

    tree: takes the tree of all entries, if the file names it. require_time: raises where none is left.
    """
    try:
        yield from _entries(content, hash_size, [] if tree is None else tree, require_time)
    except (struct.error, IndexError, ValueError) as damage:
        raise Unknown(str(damage)) from damage


def told_entries(content: bytes, require_time: Callable[[], object] = bool) -> Iterator[Entry]:
    """Read `ls-files --stage --debug -z`; raises PlumbingFailed for a form that this version does not know."""
    position = number = 0
    while position < len(content):
        if number % LOOK_AT_TIME_EVERY == 0:
            require_time()
        number += 1
        record = _STAGE_RECORD.match(content, position)
        if record is None:
            raise PlumbingFailed("this git lists its index in an unknown form")
        mode, blob, stage, path, seconds, nanoseconds, size, flags = record.groups()
        mtime = int(seconds) * 1_000_000_000 + int(nanoseconds)
        left_alone = int(flags, 16) & _LEFT_ALONE != 0
        yield Entry(path, int(mode, 8), bytes.fromhex(blob.decode()), int(stage), mtime, int(size), left_alone)
        position = record.end()


def _entries(content: bytes, hash_size: int, tree: list[bytes], require_time: Callable[[], object]) -> Iterator[Entry]:
    magic, version, count = struct.unpack_from(">4sII", content)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise Unknown(f"magic {magic!r}, version {version}")
    # ctime, mtime, device, inode, mode, uid, gid, size; of these the times, the mode and the size count here.
    fixed = struct.Struct(f">8xII8xI8xI{hash_size}sH")
    unpack, length = fixed.unpack_from, fixed.size
    position, path, most = 12, b"", len(content) - hash_size
    # git believes the number, and takes memory for all these entries before it has read one of them.
    if count * (length + 1) > most - position:
        raise PlumbingFailed("the index claims more files than it holds; fix it: git reset")
    if count > ENTRY_LIMIT:
        raise PlumbingFailed("the repository has more files than can be counted", too_much=True)
    for number in range(count):
        if number % LOOK_AT_TIME_EVERY == 0:
            require_time()
        seconds, nanoseconds, mode, size, blob, flags = unpack(content, position)
        start = position + length
        stage, short = (flags >> 12) & 3, flags & _LONG_NAME
        if flags & _EXTENDED:
            flags |= struct.unpack_from(">H", content, start)[0] << 16
            start += 2
        if version == 4:
            kept, start = _varint(content, start)
            if kept > len(path):
                raise Unknown("a path is cut by more than it has")
            end = content.index(0, start)
            path = path[: len(path) - kept] + content[start:end]
            position = end + 1
        else:
            end = start + short if short < _LONG_NAME else content.index(0, start)
            path = content[start:end]
            position += (end - position + 8) & ~7
        if position > most or not path:
            raise Unknown("it ends in the middle of an entry")
        mtime = seconds * 1_000_000_000 + nanoseconds
        yield Entry(path, mode, blob, stage, mtime, size, flags & _LEFT_ALONE != 0)
    while position < most:
        name, size = struct.unpack_from(">4sI", content, position)
        if name in (_LINKED, _SPARSE):
            raise Unknown(f"extension {name!r}")
        if name == _TREE:
            tree += _root_tree(content[position + 8 : position + 8 + size], hash_size)
        position += 8 + size


def _root_tree(content: bytes, hash_size: int) -> list[bytes]:
    """The hash of the first entry of the cached trees, which is the root; none where it is out of date."""
    counts = content[1 : content.index(b"\n", 1)]
    start = len(counts) + 2
    return [] if counts.startswith(b"-") else [content[start : start + hash_size]]


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """A number as the paths of version 4 have it, and the position behind it."""
    byte = content[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = content[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1


def _content(path: bytes) -> tuple[bytes, int]:
    descriptor = os.open(path, READ_FLAGS)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > INDEX_LIMIT:
            raise Unknown("no plain file of a size that can be read")
        return file.read(INDEX_LIMIT), found.st_mtime_ns


def _written(path: bytes) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
