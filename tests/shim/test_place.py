"""A shim lives in its directory for as long as it runs: what a hand takes away there, it makes again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.shim.pane import TOKEN, Pane
from tests.shim.posting import Poster
from tests.waiting import eventually_sync


def another_socket(path: Path) -> None:
    """Somebody else's socket, which answers nobody."""
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(path))


def anew(pane: Pane) -> None:
    shutil.rmtree(pane.run)
    pane.run.mkdir(0o700)


@contextlib.contextmanager
def asleep(pane: Pane) -> Iterator[None]:
    """A shim that looked in the midst would put something back into what is being removed."""
    os.kill(pane.pid, signal.SIGSTOP)
    stopped = Path(f"/proc/{pane.pid}/stat")
    eventually_sync(lambda: stopped.read_text().rpartition(")")[2].split()[0] == "T", what="the shim is stopped")
    yield
    os.kill(pane.pid, signal.SIGCONT)


LOSSES: dict[str, Callable[[Pane], object]] = {
    "the socket was removed": lambda pane: (pane.run / "link.sock").unlink(),
    "another socket is in its place": lambda pane: another_socket(pane.run / "link.sock"),
    "the directory was removed": lambda pane: shutil.rmtree(pane.run),
    "the directory was moved away": lambda pane: pane.run.rename(pane.room / "aside"),
    "the directory is another": anew,
}


def post_by_program(pane: Pane, incarnation: int, word: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "PHOENIX_AGENT": pane.agent,
        "PHOENIX_INCARNATION": str(incarnation),
        "PHOENIX_HOOK_DIR": str(pane.run),
        "PHOENIX_TOKEN": TOKEN,
    }
    hook = [str(pane.library / "phoenix-hook"), "stop"]
    subprocess.run(hook, input=f'{{"session_id": "{word}"}}', text=True, env=env, check=True, timeout=60)


@pytest.mark.parametrize("is_connected", [True, False], ids=["under a daemon", "while no daemon is there"])
@pytest.mark.parametrize("loss", LOSSES)
def test_promise_10_a_shim_whose_place_was_taken_away_can_be_reached_again(
    pane: Pane, loss: str, is_connected: bool
) -> None:
    daemon = pane.daemon()
    started = daemon.start(["sleep", "1000"])
    if not is_connected:
        daemon.close()
    with asleep(pane):
        LOSSES[loss](pane)
    daemon.close()
    again = pane.daemon()
    assert again.events[0]["run"]["run_id"] == started["run_id"]
    assert stat.S_IMODE((pane.run / "link.sock").stat().st_mode) == 0o600
    assert stat.S_IMODE(pane.run.stat().st_mode) == 0o700
    eventually_sync(lambda: stat.S_ISFIFO((pane.run / "hook.fifo").stat().st_mode), what="hooks have their place again")
    post_by_program(pane, 1, "by the program")
    again.expect("hook", lambda event: event["payload"]["session_id"] == "by the program")
    with Poster(pane) as poster:
        poster.post("stop", {"session_id": "by the socket"})
    again.expect("hook", lambda event: event["payload"]["session_id"] == "by the socket")
    again.kill(started)


def test_promise_9_a_shim_leaves_the_place_alone_that_another_one_holds(pane: Pane) -> None:
    daemon = pane.daemon()
    daemon.start(["sleep", "1000"])
    anew(pane)
    holder = os.open(pane.run, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    mine = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.bind(str(pane.run / "link.sock"))
    before = (pane.run / "link.sock").stat().st_ino
    daemon.close()
    looks = looks_at(pane)
    eventually_sync(lambda: looks_at(pane) >= looks + 3, what="it has looked a few times")
    assert (pane.run / "link.sock").stat().st_ino == before
    mine.close()
    os.close(holder)
    assert pane.daemon().events[0]["run"]["incarnation"] == 1


def test_promise_9_a_shim_follows_no_link_to_another_place(pane: Pane) -> None:
    daemon = pane.daemon()
    pane.run.rename(pane.room / "aside")
    (pane.room / "elsewhere").mkdir(0o700)
    pane.run.symlink_to(pane.room / "elsewhere")
    daemon.close()
    looks = looks_at(pane)
    eventually_sync(lambda: looks_at(pane) >= looks + 3, what="it has looked a few times")
    assert list((pane.room / "elsewhere").iterdir()) == []


def looks_at(pane: Pane) -> int:
    """How often the shim woke up by itself: without a daemon and a run it has nothing else to wake up for."""
    lines = Path(f"/proc/{pane.pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
