"""Hooks that a program drops: a file with the input in hooks/, then a line "<kind> <file>" in hook.fifo.

A line that ends in " held" means that the program waits for an answer, at a FIFO of the file's name and ".reply".

The agent can write to both places. The line names a file and nothing else, the file is opened without following,
waiting or trusting its size, and it is gone afterwards.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time

import payload
import records
import replies
from httpwire import BODY_LIMIT, WHOLE_LIMIT
from reactor import HOOKS_FIRST, READABLE
from scan import Malformed, Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from place import Place
    from reactor import Reactor

DIRECTORY, FIFO = "hooks", "hook.fifo"
LINE_LIMIT = 4096
READ_SIZE = 4096
PIECE_SIZE = 64 * 1024
# An agent decides how many lines there are, and how long each file takes: orders and deaths have their turn in between.
SECONDS_PER_TURN = 0.02
SECONDS_AT_END = 0.5
# Room for some thousand hooks while the shim is stopped; a full FIFO would make the hook program wait.
FIFO_SIZE = 1024 * 1024
# Seconds by which a hook is believed to have been made before it is read.
LATEST = 5.0
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Large:
    """A file that is read in pieces, from one turn to the next. late: seconds since it was written."""

    __slots__ = ("fd", "kind", "late", "name", "scan", "size", "waits")

    def __init__(self, fd: int, kind: str, name: str, waits: bool, late: float) -> None:
        self.fd = fd
        self.kind = kind
        self.name = name
        self.waits = waits
        self.late = late
        self.scan = Scan()
        self.size = 0

    def read_on(self) -> dict[str, Any] | None:
        """What is kept of it, once it was read; None before that. Raises OSError and Malformed."""
        piece = os.read(self.fd, PIECE_SIZE)
        self.size += len(piece)
        if self.size > BODY_LIMIT:
            # The program cut it off; what came before the cut is what counts most.
            return self.scan.found
        self.scan.feed(piece)
        return None if piece else self.scan.result()


class HookFiles:
    """Calls `on_hook(kind, input, waits, late)` for files of `incarnation()`; others are only removed.

    late: seconds since the file was written, for nobody waits until it is read.

    A number that it returns is held for the program that waits, bytes are given to it; every other one that waits is
    let go.
    """

    def __init__(
        self,
        place: Place,
        reactor: Reactor,
        incarnation: Callable[[], int | None],
        on_hook: Callable[[str, dict[str, Any], bool, float], int | bytes],
        on_fault: Callable[[str], None],
        on_held: Callable[[int, str, int], None],
    ) -> None:
        self._on_held = on_held
        self._place = place
        self._directory = os.path.join(place.path, DIRECTORY)
        self._reactor = reactor
        self._incarnation = incarnation
        self._on_hook = on_hook
        self._on_fault = on_fault
        self._torn = b""
        self._large: Large | None = None
        self._lines: list[bytes] = []  # Read and not taken in yet, the next one last.
        self._fd = self._open_fifo()

    def reopen(self) -> None:
        """Make directory and FIFO again where they are no longer found; raises OSError."""
        found = os.fstat(self._fd)
        if self._place.leads_to(FIFO, (found.st_dev, found.st_ino)):
            _make_directory(self._place.fd)
            return
        lost, self._fd = self._fd, self._open_fifo()
        self._reactor.forget(lost)
        os.close(lost)

    def _make_directory_again(self) -> None:
        """The agent, or a cleaner, took it away: the next hook finds it."""
        try:
            _make_directory(self._place.fd)
        except OSError as error:
            self._on_fault(f"hook file: {error}")

    def _open_fifo(self) -> int:
        _make_directory(self._place.fd)
        fd = _make_fifo(self._place)
        self._reactor.watch(fd, READABLE, lambda _: self._take_turn(), HOOKS_FIRST)
        return fd

    def drain(self, seconds: float = SECONDS_AT_END) -> None:
        """Take in what has been announced, as far as that goes in `seconds`; the rest has the next turn."""
        until = time.monotonic() + seconds
        while self._large is not None or self._lines or self._refill():
            if self._large is not None:
                self._read_on(self._large)
            else:
                self._take(self._lines.pop())
            if time.monotonic() >= until:
                break
        if self._large is not None or self._lines:
            self._reactor.at("hook lines", time.monotonic(), self._take_turn)

    def _take_turn(self) -> None:
        self.drain(SECONDS_PER_TURN)

    def _refill(self) -> bool:
        """Read some lines; False when there are none."""
        while not self._lines:
            try:
                content = os.read(self._fd, READ_SIZE)
            except BlockingIOError:
                return False
            *lines, self._torn = (self._torn + content).split(b"\n")
            self._torn = self._torn[-LINE_LIMIT:]
            self._lines = lines[::-1]
        return True

    def forget_all(self) -> None:
        """Remove every dropped file, and what was said of them: a run starts with none of another's."""
        self._torn, self._lines = b"", []
        self._leave_large()
        try:
            os.read(self._fd, FIFO_SIZE)
        except BlockingIOError:
            pass
        try:
            directory = os.open(self._directory, DIRECTORY_FLAGS)
        except OSError:
            return
        try:
            # One by one: an agent may have left millions.
            with os.scandir(directory) as entries:
                for entry in entries:
                    _remove(entry.name, directory)
        finally:
            os.close(directory)

    def close(self) -> None:
        self._leave_large()
        self._reactor.forget(self._fd)
        os.close(self._fd)
        _remove(FIFO, self._place.fd)

    def _take(self, line: bytes) -> None:
        named = _parse(line)
        if named is None:
            return
        kind, name, incarnation, waits = named
        if incarnation != self._incarnation() and not waits:
            _remove(os.path.join(self._directory, name), None)
            return
        try:
            directory = os.open(self._directory, DIRECTORY_FLAGS)
        except OSError as error:
            self._on_fault(f"hook file: {error}")
            self._make_directory_again()
            return
        hook_input: dict[str, Any] | None = None
        late = 0.0
        try:
            if incarnation != self._incarnation():
                _remove(name, directory)
            else:
                late = _age(name, directory)
                hook_input = self._open(kind, name, waits, late, directory)
        except (records.Unreadable, OSError) as error:
            self._on_fault(f"hook file: {error}")
        finally:
            if self._large is None:
                self._hand_on(kind, name, hook_input, waits, late, directory)
            os.close(directory)

    def _open(self, kind: str, name: str, waits: bool, late: float, directory: int) -> dict[str, Any] | None:
        """Take a file out of the directory: its input, or None for one that is read in pieces from here on."""
        try:
            if os.stat(name, dir_fd=directory, follow_symlinks=False).st_size > WHOLE_LIMIT:
                self._large = Large(records.open_plain(name, directory), kind, name, waits, late)
                return None
            return records.decode_object(records.read_bytes(name, WHOLE_LIMIT, directory) or b"{}", name)
        finally:
            _remove(name, directory)

    def _read_on(self, large: Large) -> None:
        hook_input: dict[str, Any] | None = None
        try:
            hook_input = large.read_on()
            if hook_input is None:
                return
        except (Malformed, OSError) as error:
            self._on_fault(f"hook file: {large.name}: {error}")
        self._leave_large()
        try:
            directory = os.open(self._directory, DIRECTORY_FLAGS)
        except OSError as error:
            self._on_fault(f"hook file: {error}")
            return
        try:
            self._hand_on(large.kind, large.name, hook_input, large.waits, large.late, directory)
        finally:
            os.close(directory)

    def _leave_large(self) -> None:
        if self._large is not None:
            os.close(self._large.fd)
            self._large = None

    def _hand_on(
        self, kind: str, name: str, hook_input: dict[str, Any] | None, waits: bool, late: float, directory: int
    ) -> None:
        reply = f"{name.removesuffix('.json')}.reply"
        answered = self._on_hook(kind, hook_input, waits, late) if hook_input is not None else 0
        if isinstance(answered, bytes):
            replies.give(reply, directory, answered)
        elif answered:
            self._on_held(answered, reply, directory)
        elif waits:
            replies.give(reply, directory)


def _parse(line: bytes) -> tuple[str, str, int, bool] | None:
    """Kind, file name, incarnation and whether it waits, of "stop 7.4711.json"; None for anything else."""
    if len(line) > 256 or not line.isascii():
        return None
    word, _, name = line.decode("ascii").partition(" ")
    name, waits, _ = name.partition(" held")
    kind = payload.kind_of(word)
    parts = name.split(".")
    if kind is None or len(parts) != 3 or parts[2] != "json" or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return kind, name, int(parts[0]), bool(waits)


def _age(name: str, directory: int) -> float:
    """Seconds since a file was written, within bounds: it is the agent's, and the clock may have been set since."""
    written = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime
    return min(max(0.0, time.time() - written), LATEST)


def _make_directory(above: int) -> None:
    try:
        os.mkdir(DIRECTORY, 0o700, dir_fd=above)
    except FileExistsError:
        return


def _make_fifo(place: Place) -> int:
    """A FIFO that never ends and never blocks, in the place of whatever a predecessor left; raises OSError."""
    _remove(FIFO, place.fd)
    os.mkfifo(FIFO, 0o600, dir_fd=place.fd)
    # Open for writing as well, or every last writer would leave an end of file behind.
    fd = os.open(FIFO, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.fd)
    if not stat.S_ISFIFO(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{place.path}/{FIFO}: replaced while it was made")
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, FIFO_SIZE)
    except OSError:  # The user's pages for pipes are used up; the usual 64 KiB serve too.
        pass
    return fd


def _remove(name: str, directory: int | None) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return
