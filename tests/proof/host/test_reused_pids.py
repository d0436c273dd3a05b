"""A pid alone identifies no process (promise 5)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.host.fleet import RUNNING

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]


def test_promise_5_strangers_with_the_pids_of_dead_agents_and_shims_live() -> None:
    own = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*own, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("not run: no pid namespace can be made here")
    # A shell is the first process there, because it reaps.
    done = subprocess.run(
        [*own, "sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", "tests.proof.host.reused_pids"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    again, dead, back = map(int, done.stdout.split())
    assert again >= len(RUNNING), "most pids have new holders"
    assert (dead, back) == (0, len(RUNNING))
