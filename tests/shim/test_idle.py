"""A shim with nothing to do sleeps: a hundred of them must cost nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.ending import A_WHILE
from tests.shim.pane import Daemon, sleeps_without_a_deadline
from tests.shim.posting import Poster
from tests.waiting import eventually_sync


def switches(pid: int) -> int:
    """How often the process has gone to sleep or was put off the processor."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


@pytest.mark.parametrize("situation", ["nothing runs", "an agent lives", "an agent talks to its terminal"])
def test_an_idle_shim_does_not_wake_up(daemon: Daemon, situation: str) -> None:
    if situation != "nothing runs":
        noisy = f"while {A_WHILE}; do echo x; sleep 0.01; done" if "talks" in situation else "exec sleep 1000"
        daemon.start(["sh", "-c", noisy])
        if "talks" not in situation:
            # A hook arms two deadlines, the beat's and the request's: both must be gone again.
            with Poster(daemon.pane, daemon.events[0]["hook_port"]) as poster:
                for _ in range(3):
                    poster.post("stop", {"session_id": "last"})
            eventually_sync(lambda: daemon.pane.record("heartbeat.json")["session_id"] == "last")
    pid = daemon.pane.pid
    if "talks" in situation:
        # Each `sleep` is the shell's own child, so its end is none of the shim's business.
        daemon.pane.shows("x\r\nx\r\n")
    eventually_sync(lambda: sleeps_without_a_deadline(pid), what="every deadline is over or cancelled")
    settled = switches(pid)
    watched_until = time.monotonic() + 1.5
    while time.monotonic() < watched_until:
        time.sleep(0.05)
        daemon.pane.read_screen()
    assert switches(pid) == settled
