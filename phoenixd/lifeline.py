"""What ends a program of ours at once where this process is gone, also where it is killed and can do nothing itself.

The kernel does it, and nobody keeps a number that could become a stranger's. Of a pipe this process alone holds one
end; the program inherits the other, whose owner is the program's process group. When our end is gone, the kernel sends
SIGKILL to that group: to the program and to what it started, unless that left the group. It costs no process.

PR_SET_PDEATHSIG does less. It hears of the end of the thread that forked, which may be one of a pool; it covers no
grandchild; and it has to be set between fork and exec, where a process with threads must not run Python.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal


class Lifeline:
    """For one program. Raises OSError where no pipe can be had.

    `theirs` is to be passed to the program, which has to be a child of this process and lead a process group. A program
    that closes what it inherits, as csh does, is not held.
    """

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go: what still lives of the group then is no concern of the kernel's."""
        fcntl.fcntl(self.theirs, fcntl.F_SETOWN, 0)
        os.close(self._ours)
        os.close(self.theirs)

    def hold(self, pid: int) -> None:
        """Have the group of this child end with us."""
        fcntl.fcntl(self.theirs, fcntl.F_SETSIG, signal.SIGKILL)
        # One that has ended and was reaped has no group any more, or its number is another's.
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            fcntl.fcntl(self.theirs, fcntl.F_SETOWN, -pid)
            # Asked after it: while the child is not reaped, nobody else has its number, and the kernel notes no number.
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            flags = fcntl.fcntl(self.theirs, fcntl.F_GETFL)
            fcntl.fcntl(self.theirs, fcntl.F_SETFL, flags | os.O_ASYNC)
