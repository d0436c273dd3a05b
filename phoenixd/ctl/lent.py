"""This terminal, lent to a program that draws on it, and given back as it was, whatever ended that program."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from types import FrameType

PR_SET_PDEATHSIG = 1
RESET = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l"  # the mouse, in all its dialects
    b"\x1b[?2004l\x1b[?1004l\x1b[>4m"  # bracketed paste, focus reports, keys with modifiers
    # Cursor keys, keypad, scroll region; that one moves the cursor, and leaving the alternate screen brings it back.
    b"\x1b[?1l\x1b>\x1b[r\x1b[?1049l"
    b"\x0f\x1b(B\x1b[0m\x1b[?25h"  # character set, colours, a visible cursor
)
"""What a program that fills the screen takes back at its end, where something else did not keep it from that."""


def lend(argv: Sequence[str], errors: int | None = None) -> int:
    """Run a program on the terminal that is our standard input; its exit status, as a shell would tell it.

    A tmux client leaves the terminal's settings to its server, and where that is killed nobody gives them back. The
    program ends with us, also where we are killed: a client that is left would read the keys that a shell reads too.
    errors: the descriptor that takes its standard error, where that is not for the person. Raises FileNotFoundError.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    us, prctl = os.getpid(), ctypes.CDLL(None, use_errno=True).prctl
    # No thread lives here that could hold a lock in the child.
    program = subprocess.Popen(argv, stderr=errors, preexec_fn=lambda: end_with(us, prctl))
    descriptor = os.pidfd_open(program.pid)

    def pass_on(number: int, frame: FrameType | None) -> None:
        _tell(descriptor, number)

    # A key that makes a signal reaches the program as well, and it decides what that means.
    taken = {number: signal.signal(number, lambda number, frame: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    taken |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        status = _wait(program, descriptor)
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        os.close(descriptor)
    if _settings(terminal) != before:
        _give_back(terminal, before)
    return status


def end_with(parent: int, prctl: Callable[..., int]) -> None:
    """Have the kernel send SIGTERM when this parent is gone; end at once where it is gone already."""
    prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _tell(descriptor: int, number: int) -> None:
    """Send it a signal. Popen would look for its end first, and `_wait` would wait for what is not there any more."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, number)


def _wait(program: subprocess.Popen[bytes], descriptor: int) -> int:
    """Wait for its end; where it stops itself, stop as well, for a shell looks at us alone."""
    while True:
        _, status = os.waitpid(program.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            program.returncode = os.waitstatus_to_exitcode(status)
            return program.returncode if program.returncode >= 0 else 128 - program.returncode
        os.kill(os.getpid(), signal.SIGSTOP)
        _tell(descriptor, signal.SIGCONT)


def _settings(terminal: int) -> list[object] | None:
    """The terminal's settings; None where it is gone."""
    try:
        return termios.tcgetattr(terminal)
    except termios.error:
        return None


def _give_back(terminal: int, before: list[object]) -> None:
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, before)  # type: ignore[arg-type]
        # What was typed for the program is no command for a shell.
        termios.tcflush(terminal, termios.TCIFLUSH)
        screen = os.open(os.ttyname(terminal), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, termios.error):  # It is gone, and with it whatever would have to be given back.
        return
    try:
        os.write(screen, RESET)
    except OSError:  # Full or stopped: the settings are what a shell cannot do without.
        return
    finally:
        os.close(screen)
