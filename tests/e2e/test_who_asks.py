"""Who asks, and what asks too much: a real daemon at its limits, beside a terminal server that hangs, and signalled."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from phoenixd.api.places import AGENTS, OPERATORS, STREAMS
from phoenixd.demo.stage import Stage
from phoenixd.signals import MEANINGLESS
from tests.stacks import stacks_of

PATIENCE = 60.0
FOLLOW = b"GET /v1/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n"


def declare(stage: Stage, name: str) -> None:
    stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\nautostart = false\n')


def started(stage: Stage, *names: str) -> Stage:
    for name in names:
        declare(stage, name)
    stage.up()
    for name in names:
        stage.ask("start", name)
    for name in names:
        stage.until_running(name, 1, patience=PATIENCE)
    return stage


def pid_of(stage: Stage) -> int:
    assert stage.process is not None
    return stage.process.pid


def descriptors(pid: int) -> list[int]:
    return sorted(map(int, os.listdir(f"/proc/{pid}/fd")))


@contextmanager
def free_descriptors(pid: int, count: int) -> Iterator[None]:
    """Leave a process `count`: the kernel limits the number itself, and the lowest free ones are given."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    taken = set(descriptors(pid))
    limit = next(limit for limit in range(4096) if len(set(range(limit)) - taken) == count)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_an_operator_at_the_descriptor_limit_is_told_busy_and_never_denied(stage: Stage) -> None:
    """With a descriptor for the connection and none to look with, his own daemon called him a stranger."""
    started(stage)
    told = set()
    for free in (1, 2, 3):
        with free_descriptors(pid_of(stage), free):
            asked = stage.ctl("status", "--json")
        told.add((asked.returncode, "no descriptors" in asked.stderr))

    assert told <= {(0, False), (1, True)}
    assert (1, True) in told
    assert stage.ctl("status", "--json").returncode == 0


def test_six_hundred_followers_bind_no_more_than_their_places_and_stop_gets_through(stage: Stage) -> None:
    started(stage, "a")
    path, pid = os.fsencode(stage.runtime / "api.sock"), pid_of(stage)
    before = len(descriptors(pid))
    with ExitStack() as opened:
        most = 0
        for _ in range(600):
            client = opened.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(path)  # Blocking, so that it waits for a place in a full backlog.
            client.settimeout(PATIENCE)
            try:
                client.sendall(FOLLOW)
            except ConnectionError:
                continue  # It was sent away at once.
            most = max(most, len(descriptors(pid)) - before)
        stopped = stage.ctl("stop", "a")
        refused = stage.ctl("events", "--follow")

    assert stopped.returncode == 0, stopped.stderr
    assert f"{STREAMS} followers" in refused.stderr
    assert most <= AGENTS + OPERATORS
    assert stage.row("a")["state"] == "stopped"


def test_a_hung_tmux_is_told_by_doctor_with_what_mends_it(stage: Stage) -> None:
    """phoenixctl waited for 60 s, and then said that phoenixd does not answer."""
    started(stage, "a")
    asked = ["tmux", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    server = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    os.kill(server, signal.SIGSTOP)
    try:
        examined = stage.ctl("doctor", "--json")
    finally:
        os.kill(server, signal.SIGCONT)
    found = {one["title"]: one["remedy"] for one in json.loads(examined.stdout)["findings"] if one["level"] != "ok"}

    assert examined.returncode == 3
    assert found["tmux does not answer"].endswith(f"kill -CONT {server}")
    assert not any("tmux" in title for title in set(found) - {"tmux does not answer"})


def test_signals_that_mean_nothing_end_neither_daemon_nor_agents_and_quit_ends_it_in_order(stage: Stage) -> None:
    started(stage, "a")
    pid, agent = pid_of(stage), stage.row("a")["pid"]

    for number in MEANINGLESS:
        os.kill(pid, number)
    stage.until("they are told", lambda: "SIGUSR1" in stage.log.read_text(), PATIENCE)
    assert stage.row("a")["pid"] == agent

    os.kill(pid, signal.SIGQUIT)
    assert stage.process is not None
    assert stage.process.wait(PATIENCE) == 0
    assert Path(f"/proc/{agent}").exists()
    stage.up()
    assert stage.row("a")["pid"] == agent


def test_sigusr2_has_the_daemon_write_what_it_is_at_and_work_on(stage: Stage) -> None:
    """A failed test shows the same: which of its threads waits where, or how it ended."""
    assert stacks_of(stage) == "no daemon was started"
    started(stage, "a")

    told = stacks_of(stage)
    assert "journal-writer" in told or "phoenixd/drivers/journal/thread.py" in told
    assert "phoenixd/daemon.py" in told
    assert stage.row("a")["state"] == "running"

    stage.kill()
    assert "-9" in stacks_of(stage)
    stage.up()


def test_programs_that_were_removed_are_made_again_without_a_restart_and_private_under_umask_0(stage: Stage) -> None:
    """Every new agent failed until the daemon was started again, also while another still lived on the old copy."""
    before = os.umask(0)
    try:
        stage.up()
        for name in ("a", "b"):
            stage.ask("add", name, "--cwd", "/", "--", "sleep", "100000")
        stage.ask("start", "a", "--wait")
        stage.ask("brief", "generate", "a")
        for place in ("lib", "bin"):
            shutil.rmtree(stage.state / place)

        stage.ask("start", "b", "--wait")
        os.kill(stage.row("a")["pid"], signal.SIGKILL)
        stage.until_running("a", 2, patience=PATIENCE)
        assert [path.name for path in (stage.state / "bin").iterdir()] == ["phoenixctl"]
    finally:
        os.umask(before)

    made = [path for root in (stage.state, stage.runtime) for path in (root, *root.rglob("*"))]
    modes = {str(path.relative_to(stage.root)): path.lstat().st_mode for path in made}
    assert {"state/agents", "run/agents", "state/journal.sqlite3", "run/tmux.sock"} <= set(modes)
    assert [name for name, mode in modes.items() if mode & 0o077 and not stat.S_ISLNK(mode)] == []
