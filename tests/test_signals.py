"""What the daemon's process says of itself when it is asked by a signal, also where its event loop does not turn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ending import ALARM
from tests.waiting import eventually_sync

HANGS = f"""
{ALARM}
import os
from phoenixd import signals

def waits_for_ever():
    os.read(0, 1)

signals.outlive()
signals.tell_stacks()
os.write(1, b"!")
waits_for_ever()
"""

WAITS = "in waits_for_ever"


@pytest.fixture
def hung() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits in the kernel, where no handler of Python's would ever be called."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HANGS], **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.read(1) == b"!"
        while WAITS not in asked(process, signal.SIGUSR2):
            pass
        yield process
        process.kill()


def asked(process: subprocess.Popen[bytes], number: signal.Signals) -> str:
    """What it writes when it gets a signal, to the line of its outermost frame."""
    assert process.stderr is not None
    # One that still writes what it was asked before writes nothing more.
    eventually_sync(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")
    process.send_signal(number)
    text = b""
    while b"in <module>" not in text:
        more = os.read(process.stderr.fileno(), 65536)
        assert more, f"it ended: {text!r}"
        text += more
    return text.decode()


def test_a_process_that_hangs_says_where_as_often_as_it_is_asked_and_lives_on(hung: subprocess.Popen[bytes]) -> None:
    assert WAITS in asked(hung, signal.SIGUSR2)
    assert hung.poll() is None


def test_a_process_that_a_watchdog_aborts_says_where_it_hung(hung: subprocess.Popen[bytes]) -> None:
    """systemd sends SIGABRT to a service that does not report; without this nothing tells what it was at."""
    assert WAITS in asked(hung, signal.SIGABRT)
    assert hung.wait() == -signal.SIGABRT


def test_a_process_without_a_standard_error_survives_the_question() -> None:
    """What is opened next has its number, and would be written into."""
    ask = "signals.outlive(); signals.tell_stacks(); os.kill(os.getpid(), signal.SIGUSR2); print('lives')"
    program = f"import os, signal; from phoenixd import signals; {ask}"
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "lives\n"


def test_a_process_survives_all_signals_without_a_meaning_at_once() -> None:
    """They wait together for a daemon that is stopped, or that gets no processor."""
    program = """
import os, signal
from phoenixd import signals
signals.outlive()
signals.tell_stacks()
signal.pthread_sigmask(signal.SIG_BLOCK, signals.MEANINGLESS)
for number in [*signals.MEANINGLESS, *[signal.SIGRTMIN] * 200]:
    os.kill(os.getpid(), number)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.MEANINGLESS)
print("lives")
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "lives\n"
