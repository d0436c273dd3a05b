"""What tests started ends although the run of tests was killed."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests import ending

RUN_OF_TESTS = "import subprocess, sys, time; subprocess.Popen([sys.executable, *sys.argv[1:]]); time.sleep(1000)"


def test_a_chain_whose_test_was_killed_ends_by_itself() -> None:
    """No list of processes shows one, so what tells is the pipe that each of them holds."""
    chain = [ending.__file__, "2"]
    with subprocess.Popen([sys.executable, "-c", RUN_OF_TESTS, *chain], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.read(1)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        assert set(run.stdout.read()) == {ord(".")}
