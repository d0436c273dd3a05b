"""Which signals mean something to the daemon; all others that would end it are survived, and told in the log.

SIGQUIT ends it as SIGINT does: a person at the terminal of a daemon in the foreground who presses Ctrl-\\ wants it to
end, and the agents live on either way; a core file would help nobody and hold every secret. A signal that somebody
sends by mistake (a log rotation's USR1, an alarm of a library's) is no wish to end a supervisor.

SIGUSR2 asks what the daemon is at, and needs no event loop that turns: the stacks of all threads go to standard error
at once. So they do before SIGABRT ends a daemon, by which systemd's watchdog ends one that hangs.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
import sys
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
APPLYING = signal.SIGHUP
ASKING = signal.SIGUSR2
MEANINGLESS = (
    signal.SIGUSR1, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPOLL, signal.SIGPWR,
    signal.SIGSTKFLT, signal.SIGXCPU, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
)  # fmt: skip
"""By default each of them ends the process that gets it. What tells of a fault of our own (SEGV, ABRT) is not here."""
HEARD = (*ENDING, APPLYING, *(number for number in MEANINGLESS if isinstance(number, signal.Signals)))
"""Those that have a name to tell; the real-time ones are survived in silence."""


def tell_stacks() -> None:
    """From now on write the stacks where SIGUSR2 or a fault of our own asks for them: places in the code, no values."""
    # A daemon without a standard error has somebody else's file in its place.
    if sys.stderr is None:
        signal.signal(ASKING, _nothing)
        return
    faulthandler.enable()
    faulthandler.register(ASKING)
    _leave_the_small_stack()


def outlive() -> None:
    """Survive them from now on; only in the main thread.

    By handlers: what is ignored stays so in every program that is started, and those have a use for their signals.
    """
    for number in MEANINGLESS:
        signal.signal(number, _nothing)


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


class _Stack(ctypes.Structure):
    """stack_t of <signal.h>."""

    _fields_ = (("place", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


_NO_STACK = 2
"""SS_DISABLE of <signal.h>."""


def _leave_the_small_stack() -> None:
    """Have this thread's handlers run on its own stack again: faulthandler gives it one of 16 KiB, for all signals.

    The kernel puts every signal that waits onto the stack before the first handler runs, 3 KiB each, and ends a process
    whose signals do not fit. Six of them at once ended the daemon.
    """
    ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(None, _NO_STACK, 0)), None)
