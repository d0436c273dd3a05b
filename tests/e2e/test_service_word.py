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

    assert stage.process.wait(60) == 0
    stage.up()
    assert stage.row("a")["incarnation"] == 1


def test_promise_9_a_service_waits_for_its_directories_says_so_and_then_serves(stage: Stage, short_tmp: Path) -> None:
    """systemd would only start it again and again; and as long as it waits it must not run into TimeoutStartSec."""
    stage.declare("a", '[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    stage.up()
    pid, owner = stage.until_running("a", 1, patience=60)["pid"], stage.process
    assert owner is not None
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service_manager:
        service_manager.bind(os.fspath(short_tmp / "notify"))
        service_manager.settimeout(60)
        stage.environ |= {"NOTIFY_SOCKET": os.fspath(short_tmp / "notify")}
        stage.up(wait=False)
        heard = b""
        while b"EXTEND_TIMEOUT_USEC=" not in heard or b"STATUS=waits: " not in heard:
            heard += service_manager.recv(4096)
            assert b"READY=1" not in heard
        assert f"pid {owner.pid}".encode() in heard
        assert os.fsencode(stage.state) in heard
        # What is declared meanwhile is read by the daemon that has the directories in the end.
        stage.declare("b", '[agent.b]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
        owner.kill()
        owner.wait()
        while b"READY=1" not in heard:
            heard += service_manager.recv(4096)
        assert stage.until_running("a", 1, patience=60)["pid"] == pid
        stage.until_running("b", 1, patience=60)
        del stage.environ["NOTIFY_SOCKET"]
