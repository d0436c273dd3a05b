"""The pane's terminal: given to the agent, taken back after it in a usable state, inert while nothing runs."""

from __future__ import annotations

import itertools
import os
import select
import termios

from notice import marked
from reactor import HUNG_UP, READABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from reactor import Reactor

    Attributes = list[Any]  # As termios has them: a list of numbers, and the characters last.

IFLAG, LFLAG = 0, 3
MAX_LINES = 40
MAX_DISCARDS = 64

# What a full-screen program leaves behind when it is killed. ST ends a sequence that it was in the middle of.
RESET = (
    b"\x1b\\"
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l"  # the mouse, in all its dialects
    b"\x1b[?2004l\x1b[?1004l\x1b[?2026l"  # bracketed paste, focus reports, synchronised output
    b"\x1b[<u\x1b[>4m"  # the keyboard protocols of kitty and xterm
    b"\x1b[?1l\x1b>\x1b[4l\x1b[?7h"  # cursor keys, keypad, insert mode; wrapping on
    # The alternate screen, origin and scroll region: the latter two move the cursor to the top, and leaving the other
    # screen brings it back. Entered first: tmux goes back to where it was last time, if it is left without having been.
    b"\x1b[?1049h\x1b[?6l\x1b[r\x1b[?1049l"
    b"\x0f\x1b(B\x1b[0m\x1b[?25h"  # character set, colours, a visible cursor
)
# Removes rows above the cursor. They are the last ones, so that nothing that scrolled away is touched.
ROWS_ABOVE = b"\x1b[%dF\x1b[%dM"
# Away with the notice that nothing was started, which is all that stands there. Deleted lines leave no history.
NOTHING_YET = b"\x1b[H\x1b[999M"


class Terminal:
    """Opened anew by its path, so that O_NONBLOCK is ours alone: a stopped terminal must not stop the shim."""

    def __init__(self, fd: int, reactor: Reactor, on_lost: Callable[[], None]) -> None:
        self._fd = fd
        self._reactor = reactor
        self._on_lost = on_lost
        self._sane = termios.tcgetattr(fd)
        self._swallows = False
        self._columns, self._rows = 0, 0  # Of the last line that was shown, at the width that the terminal had then.
        reactor.watch(fd, 0, self._ready)

    @property
    def controlling_fd(self) -> int | None:
        """The descriptor to hand the foreground over with; None where it is not the session's own terminal."""
        try:
            os.tcgetpgrp(self._fd)
        except OSError:
            return None
        return self._fd

    def prepare_for_agent(self, is_first: bool) -> None:
        """Hand over a sane terminal without a key that was typed at nobody. is_first: nothing has run in it yet."""
        self._swallow(False)
        self._discard_typed()
        for inherited in (0, 1, 2):  # A past agent may have left it so, and the open file is the same one.
            os.set_blocking(inherited, True)
        self._set(self._sane)
        if is_first:
            self._write(NOTHING_YET)
        elif self._rows and self._columns == self._width():
            # It says that nothing runs here. How the run before ended stays above.
            self._write(ROWS_ABOVE % (self._rows, self._rows))
        self._rows = 0

    def take_back(self) -> None:
        """After the agent: foreground, modes, screen."""
        foreground = self.controlling_fd
        if foreground is not None:
            try:
                os.tcsetpgrp(foreground, os.getpgrp())
            except OSError:
                pass
        self._set(self._sane)
        # What stood below the cursor, a menu or a status line, would show through what is written next.
        self._write(RESET + b"\r\n\x1b[J")

    def show(self, lines: Iterable[str]) -> None:
        """Say why nothing runs here, and make the keyboard dead: no echo, no signals, nothing kept."""
        inert = list(self._sane)
        inert[IFLAG] &= ~termios.IXON
        inert[LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        self._set(inert)
        self._swallow(True)
        last = ""
        for last in map(marked, itertools.islice(lines, MAX_LINES)):
            self._write(last.encode("utf-8", "replace") + b"\r\n")
        self._columns = self._width()
        self._rows = -(-len(last) // self._columns) if self._columns and last.isascii() else 0

    def is_lost(self) -> bool:
        """Whether the other end, the terminal emulator or tmux, is gone."""
        poll = select.poll()
        poll.register(self._fd, 0)
        return any(mask & (select.POLLHUP | select.POLLERR) for _, mask in poll.poll(0))

    def _width(self) -> int:
        """Columns; 0 where they are not known."""
        try:
            return os.get_terminal_size(self._fd).columns
        except OSError:
            return 0

    def _ready(self, mask: int) -> None:
        if mask & HUNG_UP:
            self._reactor.forget(self._fd)
            self._on_lost()
            return
        if not self._discard_typed():
            self._swallow(False)

    def _discard_typed(self) -> bool:
        """False where this is not the foreground any more, and what is typed goes to another process."""
        # Reading makes room for what the kernel holds back behind a full buffer, where tcflush does not reach.
        for _ in range(MAX_DISCARDS):
            try:
                if not os.read(self._fd, 4096):
                    return True
            except BlockingIOError:
                return True
            except OSError:
                return False
        return True

    def _swallow(self, wanted: bool) -> None:
        if wanted != self._swallows and not self.is_lost():
            self._swallows = wanted
            self._reactor.change(self._fd, READABLE if wanted else 0)

    def _set(self, attributes: Attributes) -> None:
        try:
            # Never TCSADRAIN: output that nobody takes would hold the caller for ever.
            termios.tcsetattr(self._fd, termios.TCSANOW, attributes)
            termios.tcflush(self._fd, termios.TCIFLUSH)
            termios.tcflow(self._fd, termios.TCOON)
        except termios.error:  # The terminal is gone, and its hang-up is on its way to _ready.
            return

    def _write(self, text: bytes) -> None:
        try:
            os.write(self._fd, text)
        except OSError:  # Full, stopped or gone: a notice is not worth waiting for.
            return


def open_terminal(reactor: Reactor, on_lost: Callable[[], None]) -> Terminal | None:
    """The terminal on standard input, by a descriptor of our own; None where there is none."""
    try:
        fd = os.open(os.ttyname(0), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    return Terminal(fd, reactor, on_lost)


def server_of_pane() -> int | None:
    """The tmux server that this shim's pane belongs to; None where it is started otherwise."""
    parent, named = os.getppid(), os.environ.get("TMUX", "").split(",")
    return parent if len(named) == 3 and named[1] == str(parent) else None
