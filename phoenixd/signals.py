"""Which signals mean something to the daemon; all others that would end it are survived, and told in the log.

SIGQUIT ends it as SIGINT does: a person at the terminal of a daemon in the foreground who presses Ctrl-\\ wants it to
end, and the agents live on either way; a core file would help nobody and hold every secret. A signal that somebody
sends by mistake (a log rotation's USR1, an alarm of a library's) is no wish to end a supervisor.
"""

from __future__ import annotations

import signal
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
APPLYING = signal.SIGHUP
MEANINGLESS = (
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPOLL, signal.SIGPWR,
    signal.SIGSTKFLT, signal.SIGXCPU, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
)  # fmt: skip
"""By default each of them ends the process that gets it. What tells of a fault of our own (SEGV, ABRT) is not here."""
HEARD = (*ENDING, APPLYING, *(number for number in MEANINGLESS if isinstance(number, signal.Signals)))
"""Those that have a name to tell; the real-time ones are survived in silence."""


def outlive() -> None:
    """Survive them from now on; only in the main thread.

    By handlers: what is ignored stays so in every program that is started, and those have a use for their signals.
    """
    for number in MEANINGLESS:
        signal.signal(number, _nothing)


def _nothing(number: int, frame: FrameType | None) -> None:
    pass
