"""How a program is begun whose file may lie on a disk that does not answer.

A process that starts another stands still, with all its threads, until that one's program is executed: on such a disk
the whole daemon would wait. So an interpreter is begun, whose own disk answers, and it becomes the program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import BinaryIO

BEGIN = """
import os, signal, sys
told = int(sys.argv[1])
os.set_inheritable(told, False)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    os.write(told, str(error.errno).encode())
os._exit(127)
"""


def becoming(argv: Sequence[str], told: int) -> list[str]:
    """The argv of what becomes that program, or writes into `told`, a descriptor that it gets, why it cannot."""
    return [sys.executable, "-I", "-S", "-c", BEGIN, str(told), *argv]


def why_not_begun(told: BinaryIO) -> str | None:
    """Why a program that has ended never was one; None where it was. told: the other end of that descriptor."""
    number = told.read(16)
    return os.strerror(int(number)) if number else None
