"""What the daemon says to a service manager while nothing happens, and how fast it ends on its word."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from phoenixd.demo.stage import Stage

INTERVAL = 2.0


def test_a_daemon_with_nothing_to_do_feeds_a_short_watchdog(stage: Stage, short_tmp: Path) -> None:
    """A WatchdogSec shorter than the loop's own longest pause must not get an idle daemon killed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service_manager:
        service_manager.bind(os.fspath(short_tmp / "notify"))
        stage.environ |= {
            "NOTIFY_SOCKET": os.fspath(short_tmp / "notify"),
            "WATCHDOG_USEC": str(int(INTERVAL * 1e6)),
        }
        stage.up()
        service_manager.settimeout(4 * INTERVAL)
        beats = 0
        while beats < 3:
            beats += b"WATCHDOG=1" in service_manager.recv(4096)


def test_sigterm_ends_a_daemon_that_watches_files_of_living_agents(stage: Stage) -> None:
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    stage.up()
    stage.ask("add", "a", "--", *command)
    stage.ask("start", "a", "--wait")
    assert stage.process is not None

    stage.process.send_signal(signal.SIGTERM)

    assert stage.process.wait(10) == 0
    stage.up()
    assert stage.row("a")["incarnation"] == 1
