"""Reflogs, read from their end and without git: what was appended since a mark, and by what kind of command.

A reflog is a file to which git appends one line for each move of a ref (gitglossary(7), "reflog"). Expiring rewrites
it, so a mark is a position with the digest of the line that ends there. Bytes that an agent can write are bounded, and
a message decides on nothing but the kind of a move.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

TAIL = 128 << 10
"""Bytes that are read of a log, from its end: some 700 moves."""
MOST_MESSAGE = 300
LAG = 0.02
"""Seconds by which a file's time may lag behind ours: the kernel gives it the time of its last tick."""
WHOLE_SECONDS = 2.0
"""The same where a file system keeps no fractions."""
USUAL = (b"main", b"master", b"trunk", b"develop", b"HEAD")
"""Branches of a remote that everybody works from."""

NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})
"""How the kernel says that no plain file is there that we may read; a link is none either."""

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Kind = Literal["commit", "pick", "merge", "pulled", "moved", "unnamed"]
"""commit: made here. pick: made again on another base. merge: of something that the message names. pulled: a merge of
what others have published. moved: to what was there already. unnamed: the log does not say."""

_LINE = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*> (-?\d{1,12}) [+-]\d{4}(?:\t(.*))?", re.DOTALL)
"""A whole line. Looked for in a text it would be tried from each of its hashes on: seconds for a log of one line."""
_COMMITTED = re.compile(rb"(?:commit|am|cherry-pick|revert)(?: \([^)]*\))?:")
_PICKED = re.compile(rb"(?:pull|rebase)\b[^\n]* \((?:pick|squash|fixup|reword|edit|continue|merge|exec)\)")
_MERGED = re.compile(rb"merge ([^\n:]*): Merge made by")
_PULLED = re.compile(rb"pull\b[^\n]*: Merge made by")
_MOVED = re.compile(
    rb"(?:checkout|reset|switch|clone|branch|Branch|bisect|fetch|initial pull|worktree)\b"
    rb"|returning to|(?:pull|rebase)\b[^\n]*(?:\((?:start|finish|abort|quit|skip)\)|[Ff]ast-forward)"
    rb"|(?:pull|merge|rebase)\b[^\n]*: (?:[Ff]ast-forward|updating HEAD|checkout|aborting|returning)"
)


class Move(NamedTuple):
    """One line: from which commit to which, when (seconds, as the writer's clock told), and by what."""

    old: str
    new: str
    at: int
    message: bytes


@dataclass(frozen=True, slots=True)
class Appended:
    """What a log has gained since a mark, oldest first, and what stood before it, as far as it was read.

    lost: the mark is gone, so that `moves` is a guess by the time, and there may have been others.
    """

    moves: tuple[Move, ...] = ()
    before: tuple[Move, ...] = ()
    lost: bool = False
    exists: bool = True


NO_LOG = Appended(exists=False)


def mark_of(path: bytes) -> str:
    """The mark at the end of a log: its size, and the length and digest of the last line; empty where there is none."""
    found = _tail(path)
    if found is None or not found[0]:
        return ""
    size, content, _ = found
    line = content[content.rfind(b"\n", 0, -1) + 1 :]
    return f"{size}:{len(line)}:{_digest(line)}"


def appended(path: bytes, mark: str | None, since: float) -> Appended:
    """What a log has gained.

    mark: None for a log that was not looked at then, so that only times can tell: those of its lines, in whole seconds,
    and that of its file. since: wall seconds of the mark. A log without a line is as good as none.
    """
    found = _tail(path)
    if found is None or not found[0]:
        return NO_LOG
    size, content, written = found
    start = size - len(content)
    if mark == "":
        return Appended(_moves(content))
    end = _end_of_mark(path, mark, start, content, size) if mark is not None else None
    if end is not None:
        new = max(0, end - start)
        return Appended(_moves(content[new:]), _moves(content[:new]))
    moves = _moves(content)
    fresh = [written >= since and move.at >= int(since) for move in moves]
    first = fresh.index(True) if True in fresh else len(moves)
    # One that begins with nothing, and only now, is that of another repository or worktree in the same place.
    is_another = start == 0 and first == 0 and bool(moves) and not moves[0].old.strip("0")
    return Appended(moves[first:], moves[:first], lost=mark is not None and not is_another)


def kind_of(move: Move, branch: bytes = b"") -> Kind:
    """What a move is, by its message. branch: the one that HEAD is on, whose own upstream is merged as by a pull."""
    message = move.message
    if _COMMITTED.match(message):
        return "commit"
    if _PICKED.match(message):
        return "pick"
    if _PULLED.match(message):
        return "pulled"
    if merged := _MERGED.match(message):
        return "pulled" if _is_upstream(merged[1], branch) else "merge"
    return "moved" if _MOVED.match(message) else "unnamed"


def branches_of(moves: Sequence[Move]) -> set[bytes]:
    """Branches that HEAD was on, as the messages of checkouts tell them."""
    found: set[bytes] = set()
    for move in moves:
        if move.message.startswith(b"checkout: moving from "):
            found |= set(move.message.removeprefix(b"checkout: moving from ").split(b" to "))
    return found


def _is_upstream(merged: bytes, branch: bytes) -> bool:
    name = merged.strip(b"' ").removeprefix(b"refs/").removeprefix(b"remotes/")
    _, slash, rest = name.partition(b"/")
    return bool(slash) and rest in (*USUAL, branch)


def _tail(path: bytes) -> tuple[int, bytes, float] | None:
    """Size and last bytes of a log, from the beginning of a line, and until when it can have been written; None where
    there is no such file. Raises OSError."""
    try:
        descriptor = os.open(path, READ_FLAGS)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        size = found.st_size
        start = max(0, size - TAIL)
        content = os.pread(descriptor, size - start, start)
    finally:
        os.close(descriptor)
    # A line that is being written is none yet.
    content = content[: content.rfind(b"\n") + 1]
    size = start + len(content)
    lag = LAG if found.st_mtime_ns % 1_000_000_000 else WHOLE_SECONDS
    return size, content[content.find(b"\n") + 1 :] if start else content, found.st_mtime + lag


def _end_of_mark(path: bytes, mark: str, start: int, content: bytes, size: int) -> int | None:
    """Where the marked line ends now, in bytes from the beginning of the file; None if it is there no more."""
    try:
        was, length, digest = mark.split(":")
        end, long = int(was), int(length)
    except ValueError:
        return None
    if end <= size and _digest(_line_before(path, end, long, start, content)) == digest:
        return end
    position = len(content)
    while position > 0:
        begin = content.rfind(b"\n", 0, position - 1) + 1
        if position - begin == long and _digest(content[begin:position]) == digest:
            return start + position
        position = begin
    return None


def _line_before(path: bytes, end: int, length: int, start: int, content: bytes) -> bytes:
    if end - length >= start:
        return content[end - length - start : end - start]
    if not 0 <= end - length or length > TAIL:
        return b""
    try:
        descriptor = os.open(path, READ_FLAGS)
    except OSError:
        return b""
    try:
        return os.pread(descriptor, length, end - length)
    finally:
        os.close(descriptor)


def _moves(content: bytes) -> tuple[Move, ...]:
    return tuple(
        Move(old.decode(), new.decode(), int(at), (message or b"")[:MOST_MESSAGE])
        for line in content.split(b"\n")[:-1]
        if (found := _LINE.fullmatch(line)) is not None
        for old, new, at, message in (found.groups(),)
    )


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:16]
