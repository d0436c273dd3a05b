"""A tree is proven gone by an empty leaf and no child; only then may the sweep for strays follow the next start.

Promises 2 and 5: either proof alone still blocks, and who does not sweep has the shim sweep before it tells the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shim.pane import DEADLINE, Daemon, Event, Pane, is_running
from tests.shim.test_tree import make_leaf
from tests.waiting import eventually_sync


@pytest.fixture
def leaf() -> Iterator[Path]:
    leaf = make_leaf()
    yield leaf
    with contextlib.suppress(FileNotFoundError):
        eventually_sync(lambda: "populated 0" in (leaf / "cgroup.events").read_text(), what="the leaf is empty")
        leaf.rmdir()


@pytest.fixture
def sweeping(pane: Pane) -> Daemon:
    return greeted(pane)


def greeted(pane: Pane, *, sweeps: bool = True) -> Daemon:
    daemon = pane.connect()
    daemon.send(op="hello", protocol=1, version="0.1.0", sweeps=sweeps)
    daemon.expect("hello")
    return daemon


@contextlib.contextmanager
def stray_of(run: Event) -> Iterator[subprocess.Popen[bytes]]:
    """As a tmux server or a service manager starts it: no descendant, in no leaf, but with the run's marks."""
    marks = {"PATH": os.environ["PATH"], "PHOENIX_AGENT": "a", "PHOENIX_RUN_ID": run["run_id"]}
    stray = subprocess.Popen(["sleep", "271828"], env=marks)
    # In the middle of its exec a program has no environment yet, and is already told to have begun.
    eventually_sync(Path(f"/proc/{stray.pid}/environ").read_bytes, DEADLINE)
    try:
        yield stray
    finally:
        stray.kill()
        stray.wait()


def crash(daemon: Daemon, run: Event) -> Event:
    os.kill(run["pid"], signal.SIGKILL)
    return daemon.expect("exited")


def named(run: Event) -> dict[str, Any]:
    return {"incarnation": run["incarnation"], "run_id": run["run_id"]}


def test_a_death_with_both_proofs_is_told_before_any_sweep_until_the_daemon_has_swept(
    sweeping: Daemon, leaf: Path
) -> None:
    pane = sweeping.pane
    first = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
    with stray_of(first) as stray:
        exited = crash(sweeping, first)
        assert exited["unswept"] == pane.record("exit.json")["unswept"] == [named(first)]
        second = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
        assert stray.poll() is None
        exited = crash(sweeping, second)
        assert exited["unswept"] == [named(first), named(second)]
        assert greeted(pane).events[-1]["unswept"] == [named(first), named(second)]
    back = greeted(pane)
    back.send(op="swept", run_ids=[first["run_id"], "another"])
    assert back.hello()["unswept"] == [named(second)]


@pytest.mark.parametrize("why", ["an older daemon", "no daemon", "no leaf", "ordered", "asked to end"])
def test_a_stray_is_ended_before_the_end_is_told_where_nobody_sweeps_later(pane: Pane, leaf: Path, why: str) -> None:
    daemon = greeted(pane, sweeps=why != "an older daemon")
    started = daemon.start(["sleep", "1000"], cgroup=None if why == "no leaf" else str(leaf))
    with stray_of(started) as stray:
        if why == "no daemon":
            older = greeted(pane, sweeps=False)  # It takes the line, and hangs up as well.
            older.close()
        if why == "ordered":
            exited = daemon.kill(started)
        elif why == "asked to end":
            daemon.send(op="terminate", incarnation=started["incarnation"])
            exited = daemon.expect("exited")
        elif why == "no daemon":
            os.kill(started["pid"], signal.SIGKILL)
            eventually_sync((pane.state / "exit.json").exists)
            exited = pane.record("exit.json")
        else:
            exited = crash(daemon, started)
        assert exited["unswept"] == []
        assert stray.wait(DEADLINE) == -signal.SIGKILL
        assert [one["pid"] for one in exited["killed"]] == [stray.pid]


def test_an_empty_leaf_alone_is_no_proof(sweeping: Daemon, leaf: Path) -> None:
    """What was moved out of the leaf by hand is still below the shim."""
    elsewhere = make_leaf()
    try:
        pane = sweeping.pane
        script = f"setsid sleep 271828 & echo $! > {elsewhere}/cgroup.procs; echo $! > moved; exec sleep 1000"
        started = sweeping.start(["sh", "-c", script], cgroup=str(leaf))
        eventually_sync(lambda: (pane.room / "moved").exists() and (pane.room / "moved").read_text().strip())
        moved = int((pane.room / "moved").read_text())
        assert is_running(moved)
        exited = crash(sweeping, started)
        assert not is_running(moved)
        assert moved in {one["pid"] for one in exited["killed"]}
    finally:
        eventually_sync(lambda: "populated 0" in (elsewhere / "cgroup.events").read_text())
        elsewhere.rmdir()


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """No signal ends it in here."""
    freezer = Path("/sys/fs/cgroup/freezer")
    if not freezer.is_dir() or not os.access(freezer, os.W_OK):
        pytest.skip("not run: no v1 freezer here, and v2 kills what is frozen")
    home = freezer / f"phoenixd-test-{pid}"
    home.mkdir()
    try:
        (home / "cgroup.procs").write_text(str(pid))
        (home / "freezer.state").write_text("FROZEN")
        yield
    finally:
        (home / "freezer.state").write_text("THAWED")
        eventually_sync(lambda: not (home / "cgroup.procs").read_text())
        home.rmdir()


def test_promise_2_no_end_is_told_while_a_child_outside_of_the_leaf_lives(sweeping: Daemon, leaf: Path) -> None:
    elsewhere = make_leaf()
    try:
        moved_file = sweeping.pane.room / "moved"
        script = f"setsid sleep 271828 & echo $! > {elsewhere}/cgroup.procs; echo $! > moved; exec sleep 1000"
        started = sweeping.start(["sh", "-c", script], cgroup=str(leaf))
        eventually_sync(lambda: moved_file.exists() and moved_file.read_text().strip())
        moved = int(moved_file.read_text())
        with frozen(moved):
            os.kill(started["pid"], signal.SIGKILL)
            assert sweeping.expect("lingering")["pids"] == [moved]
            assert not (sweeping.pane.state / "exit.json").exists()
        assert sweeping.expect("exited")["signal"] == signal.SIGKILL
    finally:
        eventually_sync(lambda: "populated 0" in (elsewhere / "cgroup.events").read_text())
        elsewhere.rmdir()


def test_promise_2_no_end_is_told_while_anything_lives_in_the_leaf(sweeping: Daemon, leaf: Path) -> None:
    started = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
    squatter = subprocess.Popen(["sleep", "271828"], env={})
    try:
        (leaf / "cgroup.procs").write_text(str(squatter.pid))
        with frozen(squatter.pid):
            os.kill(started["pid"], signal.SIGKILL)
            assert sweeping.expect("lingering")["pids"] == [squatter.pid]
            assert not (sweeping.pane.state / "exit.json").exists()
            # A zombie would stay in the freezer for as long as nobody asks for it.
            (Path("/sys/fs/cgroup/freezer") / f"phoenixd-test-{squatter.pid}" / "freezer.state").write_text("THAWED")
            assert squatter.wait(DEADLINE) == -signal.SIGKILL
        assert sweeping.expect("exited")["signal"] == signal.SIGKILL
    finally:
        squatter.kill()
        squatter.wait()


def test_a_scope_of_systemds_is_no_way_out(sweeping: Daemon, leaf: Path) -> None:
    """systemd-run --scope moves what it runs into another leaf, and leaves it below the shim."""
    if shutil.which("systemd-run") is None or not Path("/run/systemd/system").is_dir():
        pytest.skip("not run: no systemd runs here, so systemd-run --scope cannot")
    pane = sweeping.pane
    script = "systemd-run --quiet --scope sh -c 'echo $$ > scoped; exec sleep 271828' & exec sleep 1000"
    started = sweeping.start(["sh", "-c", script], cgroup=str(leaf))
    eventually_sync(lambda: (pane.room / "scoped").exists() and (pane.room / "scoped").read_text().strip())
    scoped = int((pane.room / "scoped").read_text())
    crash(sweeping, started)
    assert not is_running(scoped)


def test_no_child_alone_is_no_proof(sweeping: Daemon, leaf: Path) -> None:
    """It sits in the leaf without descending from the shim."""
    started = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
    squatter = subprocess.Popen(["sleep", "271828"], env={})
    try:
        (leaf / "cgroup.procs").write_text(str(squatter.pid))
        exited = crash(sweeping, started)
        assert squatter.wait(DEADLINE) == -signal.SIGKILL
        assert [one["pid"] for one in exited["killed"]] == [squatter.pid]
    finally:
        squatter.kill()
        squatter.wait()


def test_who_leaves_the_subreaper_by_another_pid_namespace_stays_in_the_leaf(sweeping: Daemon, leaf: Path) -> None:
    """The one way out: an orphan goes to the first process of its namespace, and that is no child of the shim."""
    outside = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "sleep", "271828"], stderr=subprocess.DEVNULL
    )
    try:
        init = eventually_sync(lambda: first_child(outside) or outside.poll() is not None, what="a namespace")
        if outside.poll() is not None or shutil.which("nsenter") is None:
            pytest.skip("not run: no pid namespace can be made here")
        pane = sweeping.pane
        escape = f"nsenter --target {init} --pid sh -c 'setsid sleep 271828 & exit 0'; echo > out; exec sleep 1000"
        started = sweeping.start(["sh", "-c", escape], cgroup=str(leaf))
        eventually_sync((pane.room / "out").exists, what="it is out")
        escaped = eventually_sync(lambda: [pid for pid in members(leaf) if parent_of(pid) == init])
        assert escaped
        crash(sweeping, started)
        assert not [pid for pid in escaped if is_running(pid)]
    finally:
        outside.kill()
        outside.wait()


def test_a_leaf_with_nothing_but_a_zombie_is_empty(sweeping: Daemon, leaf: Path) -> None:
    started = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
    zombie = subprocess.Popen(["sleep", "271828"], env={})
    try:
        (leaf / "cgroup.procs").write_text(str(zombie.pid))
        zombie.kill()
        eventually_sync(lambda: not is_running(zombie.pid))
        assert crash(sweeping, started)["unswept"] == [named(started)]
    finally:
        zombie.wait()


def test_a_leaf_that_cannot_be_read_proves_nothing(sweeping: Daemon) -> None:
    """As one of another namespace, or one that somebody removed."""
    leaf = make_leaf()
    home = Path(f"/proc/{os.getpid()}/cgroup").read_text().rpartition("0::")[2].strip().strip("/")
    started = sweeping.start(["sleep", "1000"], cgroup=str(leaf))
    (leaf.parent / home / "cgroup.procs").write_text(str(started["pid"]))
    eventually_sync(lambda: "populated 0" in (leaf / "cgroup.events").read_text())
    leaf.rmdir()
    with stray_of(started) as stray:
        assert crash(sweeping, started)["unswept"] == []
        assert stray.wait(DEADLINE) == -signal.SIGKILL


def test_children_that_were_handed_to_the_shim_and_live_are_ended_first(sweeping: Daemon, leaf: Path) -> None:
    script = "(setsid sleep 271828 & echo $! > orphan); exec sleep 1000"
    started = sweeping.start(["sh", "-c", script], cgroup=str(leaf))
    orphan_file = sweeping.pane.room / "orphan"
    eventually_sync(lambda: orphan_file.exists() and orphan_file.read_text().strip())
    orphan = int(orphan_file.read_text())
    exited = crash(sweeping, started)
    assert not is_running(orphan)
    assert orphan in {one["pid"] for one in exited["killed"]}


def test_a_shim_that_is_killed_hands_on_what_is_unswept(open_pane: Callable[..., Pane], leaf: Path) -> None:
    first = open_pane()
    started = greeted(first).start(["true"], cgroup=str(leaf))
    eventually_sync((first.state / "exit.json").exists)
    first.process.kill()
    first.process.wait()
    successor = open_pane(room=first.room)
    assert greeted(successor).events[-1]["unswept"] == [named(started)]


@pytest.mark.parametrize(
    "unswept", [None, 7, [7], [{}], [{"incarnation": "1", "run_id": "x"}], [{"incarnation": 1, "run_id": "x" * 65}]]
)
def test_a_record_that_an_agent_forged_costs_the_next_shim_nothing(
    open_pane: Callable[..., Pane], short_tmp: Path, unswept: object
) -> None:
    state = short_tmp / "a" / "state"
    state.mkdir(parents=True)
    record = {"incarnation": 1, "run_id": "xxxxxxxx", "code": 0, "signal": None, "unswept": unswept}
    (state / "exit.json").write_text(json.dumps(record))
    assert greeted(open_pane()).events[-1]["unswept"] == []


def test_what_nobody_sweeps_for_is_bounded(sweeping: Daemon, leaf: Path) -> None:
    for number in range(1, 18):
        exited = sweeping.run_to_end(["true"], cgroup=str(leaf))
        assert len(exited["unswept"]) == min(number, 16)


def first_child(process: subprocess.Popen[bytes]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    found = children.read_text().split() if children.exists() else []
    return int(found[0]) if found else 0


def members(leaf: Path) -> list[int]:
    return [int(pid) for pid in (leaf / "cgroup.procs").read_text().split()]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
