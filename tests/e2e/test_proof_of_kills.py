"""The proof of kills, interrupted, leaves nothing of its stages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.census import runs_of, survivors
from tests.waiting import eventually_sync

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.proof)])
def test_a_proof_that_is_interrupted_leaves_no_process_and_no_file(short_tmp: Path, sign: signal.Signals) -> None:
    proof = subprocess.Popen(
        [sys.executable, "-m", "tests.proof.kills", "orders-1", "--kills", "50", "--seed", "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(short_tmp)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        eventually_sync(lambda: len(runs_of(short_tmp)) >= 20, 90, what="its agents run")
        proof.send_signal(sign)
        # As one who presses Ctrl-C again.
        proof.send_signal(sign)

        assert proof.wait(90) == 128 + sign
        assert survivors(short_tmp) == {}
        assert list(short_tmp.glob("phx-*")) == []
    finally:
        proof.kill()
        for pid in survivors(short_tmp):
            os.kill(pid, signal.SIGKILL)
