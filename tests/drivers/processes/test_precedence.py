"""The daemon goes before its agents where all want the processors; what it starts has none of that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import subprocess
from phoenixd.drivers.processes.precedence import take_precedence
print(take_precedence())
subprocess.run(["cat", "/proc/self/autogroup"], check=True)
subprocess.run(["cat", "/proc/self/autogroup"], check=True, start_new_session=True)
"""


def run(*below: str) -> list[str]:
    """What the program says in a session of its own, or below what leads that session; never in that of the tests."""
    argv = [*below, sys.executable, "-c", PROGRAM]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, start_new_session=True)
    # Where it may not, it says why in a line before.
    return [line.rpartition("nice ")[2] for line in done.stdout.splitlines()[-3:]]


@pytest.fixture(autouse=True)
def sessions_that_are_weighed() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("not run: this kernel does not weigh sessions against each other")


def test_a_daemon_goes_before_what_it_starts() -> None:
    took, own, childs = run()
    if took == "False":
        pytest.skip("not run: this user may not weigh more")
    assert (own, childs) == ("-10", "0")


def test_a_daemon_in_another_ones_session_takes_no_precedence_for_that() -> None:
    assert run("sh", "-c", '"$0" "$@"; exit $?') == ["False", "0", "0"]
