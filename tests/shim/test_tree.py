"""Every kill ends, takes the whole tree, and touches nothing else: promise 5."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ending import TESTS
from tests.shim.pane import DEADLINE, Daemon, is_running
from tests.shim.test_pure import load
from tests.waiting import eventually_sync

SHIM = Path(__file__).resolve().parents[2] / "phoenixd" / "shim"

with pytest.MonkeyPatch.context() as patched:
    patched.setitem(sys.modules, "procfs", load("procfs"))
    tree = load("tree")

# Ten ways out of a process tree. Each process writes its pid, then sleeps; the agent goes on when all ten have.
ESCAPES = r"""
import os, signal, subprocess, sys, time
directory, then = sys.argv[1], sys.argv[2]
SLEEP = '''import os, sys, signal, time
%s
open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
%s
time.sleep(271828)
'''
def start(name, before="", last="", **options):
    return subprocess.Popen([sys.executable, "-S", "-c", SLEEP % (before, last), directory + "/" + name], **options)
start("child")
start("grandchild", "if os.fork(): time.sleep(271828)")
start("setsid", "os.setsid()")
start("double-fork", "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)")
start("empty-env", env={})
start("orphan", "if os.fork(): os._exit(0)")
start("nohup", "signal.signal(signal.SIGHUP, signal.SIG_IGN)")
start("setsid-empty-env", "if os.fork(): os._exit(0)\nos.setsid()", env={})
start("deaf", "for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)")
start("stopped", "", "os.kill(os.getpid(), signal.SIGSTOP)")
while len([n for n in os.listdir(directory) if not n.endswith(".new")]) < 10: time.sleep(0.005)
open(directory + "/../ready", "w").close()
if then == "exit": os._exit(3)
if then == "crash": os.kill(os.getpid(), signal.SIGSEGV)
time.sleep(271828)
"""

# Twenty lineages that leave session and pid every few milliseconds: who looks and then kills is too late.
STORM = f"""
import os, sys, time
sys.path.append({TESTS!r})
from ending import SECONDS, hop
until = time.monotonic() + SECONDS
for number in range(20):
    if os.fork() == 0: hop(until, 0.002, lambda hops: number == 19 and hops == 20 and open(sys.argv[1], "w").close())
time.sleep(271828)
"""


@pytest.fixture(params=["without a cgroup", "with a cgroup"])
def cgroup(request: pytest.FixtureRequest) -> Iterator[Path | None]:
    """A leaf of our own where the kernel and the rights allow one."""
    if request.param == "without a cgroup":
        yield None
        return
    leaf = make_leaf()
    yield leaf
    eventually_sync(lambda: "populated 0" in (leaf / "cgroup.events").read_text(), what="the leaf is empty")
    leaf.rmdir()


def make_leaf() -> Path:
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        leaf = root / f"phoenixd-test-{os.getpid()}-{time.monotonic_ns()}"
        if (root / "cgroup.procs").exists() and os.access(root, os.W_OK):
            leaf.mkdir()
            return leaf
    pytest.skip("not run: no writable cgroup v2 here")


def escape(daemon: Daemon, then: str, cgroup: Path | None) -> dict[str, object]:
    """Start an agent that has ten descendants in hiding."""
    directory = daemon.pane.room / "pids"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return daemon.start([sys.executable, "-S", "-c", ESCAPES, str(directory), then], cgroup=cgroup and str(cgroup))


def pids_in_hiding(daemon: Daemon) -> dict[str, int]:
    directory = daemon.pane.room / "pids"
    eventually_sync((daemon.pane.room / "ready").exists, what="all ten are out")
    return {path.name: int(path.read_text()) for path in directory.iterdir()}


@pytest.mark.parametrize("then", ["exit", "crash"])
def test_what_an_agent_leaves_behind_is_dead_before_its_exit_is_told(
    daemon: Daemon, decoy: subprocess.Popen[bytes], cgroup: Path | None, then: str
) -> None:
    escape(daemon, then, cgroup)
    exited = daemon.expect("exited")
    hidden = pids_in_hiding(daemon)
    assert len(hidden) == 10
    assert [name for name, pid in hidden.items() if is_running(pid)] == []
    assert (exited["code"], exited["signal"]) == ((3, None) if then == "exit" else (None, 11))
    assert set(hidden.values()) <= {killed["pid"] for killed in exited["killed"]}
    assert decoy.poll() is None


def test_kill_takes_all_ten_escapes_and_the_agent(daemon: Daemon, cgroup: Path | None) -> None:
    started = escape(daemon, "stay", cgroup)
    hidden = pids_in_hiding(daemon)
    exited = daemon.kill(started)
    assert [name for name, pid in hidden.items() if is_running(pid)] == []
    assert exited["signal"] == 9
    assert started["pid"] not in {killed["pid"] for killed in exited["killed"]}


def test_the_agent_joins_its_leaf_before_its_first_instruction(daemon: Daemon) -> None:
    leaf = make_leaf()
    try:
        report = daemon.pane.room / "cgroup"
        daemon.run_to_end(["sh", "-c", f"cat /proc/self/cgroup > {report}"], cgroup=str(leaf))
        assert f"0::/{leaf.name}\n" in report.read_text()
        assert leaf.name not in Path(f"/proc/{daemon.pane.pid}/cgroup").read_text()
    finally:
        leaf.rmdir()


def test_an_agent_that_moves_the_shim_into_its_own_leaf_does_not_get_it_killed(daemon: Daemon) -> None:
    leaf = make_leaf()
    home = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
    try:
        script = f"echo {daemon.pane.pid} > {leaf}/cgroup.procs; (setsid sleep 271828 &); exit 8"
        exited = daemon.run_to_end(["sh", "-c", script], cgroup=str(leaf))
        assert exited["code"] == 8
        assert len(exited["killed"]) == 1
        assert daemon.run_to_end(["true"])["code"] == 0
    finally:
        (leaf.parent / home.strip("/") / "cgroup.procs").write_text(str(daemon.pane.pid))
        leaf.rmdir()


def test_whoever_sits_in_the_runs_leaf_goes_with_it(daemon: Daemon, decoy: subprocess.Popen[bytes]) -> None:
    """No descendant and without a mark, but the leaf is the run's own: nothing else has any business there."""
    leaf = make_leaf()
    squatter = subprocess.Popen(["sleep", "271828"], env={})
    try:
        (leaf / "cgroup.procs").write_text(str(squatter.pid))
        exited = daemon.kill(daemon.start(["sleep", "271828"], cgroup=str(leaf)))
        assert squatter.wait(DEADLINE) == -9
        assert [killed["pid"] for killed in exited["killed"]] == [squatter.pid]
        assert decoy.poll() is None
    finally:
        squatter.kill()
        squatter.wait()
        leaf.rmdir()


def test_a_fork_storm_dies(daemon: Daemon, cgroup: Path | None) -> None:
    ready = daemon.pane.room / "storming"
    started = daemon.start([sys.executable, "-S", "-c", STORM, str(ready)], cgroup=cgroup and str(cgroup))
    eventually_sync(ready.exists)
    daemon.kill(started)
    assert descendants(daemon.pane.pid) == set()
    assert daemon.run_to_end(["true"])["killed"] == []


@pytest.mark.parametrize(
    ("root", "before", "now", "limit", "last", "oldest"),
    [
        (500, 1000, 1100, 32768, 620, 500),
        (500, 1000, 1100, 32768, 301, 0),  # They began again from below.
        (500, 1000, 40_000, 32768, 620, 0),  # Or may have, and are above it once more.
        (32_000, 1000, 1500, 32768, 32_700, 0),  # They are about to.
        (500, 0, 0, 32768, 620, 0),  # The kernel does not say how many there were.
        (500, 1000, 900, 32768, 620, 0),
        (500, 1000, 17_133, 32768, 620, 500),
        (500, 1000, 17_134, 32768, 620, 0),  # Half of all numbers were given since.
        (500, 1000, 1100, 0, 620, 0),
        (500, 1000, 1100, 32768, 0, 0),
    ],
)
def test_only_processes_begun_after_the_agent_are_looked_at_while_pids_are_given_in_turn(
    root: int, before: int, now: int, limit: int, last: int, oldest: int
) -> None:
    asked = f"import tree; print(tree.oldest_pid({root}, {before}, {now}, {limit}, {last}))"
    done = subprocess.run([sys.executable, "-c", asked], cwd=SHIM, capture_output=True, text=True, check=True)
    assert int(done.stdout) == oldest


def test_f_proc_19_what_an_outsider_started_for_the_run_is_found_by_its_run_id(
    daemon: Daemon, decoy: subprocess.Popen[bytes]
) -> None:
    """A tmux server or a service manager starts it elsewhere: no descendant, but it carries the run's marks."""
    started = daemon.start(["sleep", "271828"])
    marks = {"PATH": os.environ["PATH"], "PHOENIX_AGENT": "a", "PHOENIX_RUN_ID": started["run_id"]}
    ours = subprocess.Popen(["sleep", "271828"], env=marks)
    others = [
        subprocess.Popen(["sleep", "271828"], env={**marks, "PHOENIX_AGENT": "b"}),
        subprocess.Popen(["sleep", "271828"], env={**marks, "PHOENIX_RUN_ID": started["run_id"] + "0"}),
        subprocess.Popen(["sleep", "271828"], env={**marks, "PHOENIX_RUN_ID": started["run_id"][:-1]}),
    ]
    try:
        exited = daemon.kill(started)
        assert ours.wait(DEADLINE) == -9
        assert {killed["pid"] for killed in exited["killed"]} == {ours.pid}
        assert [other.poll() for other in [*others, decoy]] == [None] * 4
    finally:
        for process in [ours, *others]:
            process.kill()
            process.wait()


def test_zombies_do_not_pile_up_while_the_agent_lives(daemon: Daemon) -> None:
    started = daemon.start(
        ["sh", "-c", "i=0; while [ $i -lt 200 ]; do (true & ); i=$((i+1)); done; echo > done; exec sleep 1000"]
    )
    eventually_sync((daemon.pane.room / "done").exists)
    eventually_sync(lambda: descendants(daemon.pane.pid) == {started["pid"]}, what="only the agent is left")


def test_an_op_for_another_incarnation_changes_nothing(daemon: Daemon) -> None:
    started = daemon.start(["sleep", "1000"])
    for op in ("kill", "terminate"):
        daemon.send(op=op, incarnation=started["incarnation"] + 1)
        assert daemon.receive() == {"event": "ignored", "op": op, "incarnation": started["incarnation"] + 1}
    assert is_running(started["pid"])
    daemon.kill(started)
    daemon.send(op="kill", incarnation=started["incarnation"])
    assert daemon.receive()["event"] == "ignored"


def test_a_tree_that_will_not_die_is_reported(daemon: Daemon) -> None:
    """A process that no signal ends: one that a frozen control group holds."""
    leaf = make_leaf()
    freezer = Path("/sys/fs/cgroup/freezer")
    if not freezer.is_dir() or not os.access(freezer, os.W_OK):
        leaf.rmdir()
        pytest.skip("not run: no v1 freezer here, and v2 kills what is frozen")
    frozen = freezer / leaf.name
    frozen.mkdir()
    try:
        started = daemon.start(["sleep", "271828"])
        (frozen / "cgroup.procs").write_text(str(started["pid"]))
        (frozen / "freezer.state").write_text("FROZEN")
        daemon.send(op="kill", incarnation=started["incarnation"])
        lingering = daemon.expect("lingering")
        assert (lingering["incarnation"], lingering["pids"]) == (started["incarnation"], [started["pid"]])
        (frozen / "freezer.state").write_text("THAWED")
        assert daemon.expect("exited")["signal"] == 9
    finally:
        (frozen / "freezer.state").write_text("THAWED")
        eventually_sync(lambda: not (frozen / "cgroup.procs").read_text())
        frozen.rmdir()
        leaf.rmdir()


def descendants(pid: int) -> set[int]:
    children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children.union(*(descendants(child) for child in children if Path(f"/proc/{child}").exists()))


@pytest.mark.parametrize("target", ["file", "/dev/full"])
def test_a_kill_of_the_leaf_leaves_no_descriptor_open_also_where_it_is_refused(tmp_path: Path, target: str) -> None:
    """The shim does it again in each round of a kill, and lives as long as its agent."""
    (tmp_path / "file").touch()
    (tmp_path / "cgroup.kill").symlink_to(target)
    before = os.listdir("/proc/self/fd")

    tree.Leaf(str(tmp_path)).kill()

    assert os.listdir("/proc/self/fd") == before
    assert (tmp_path / "file").read_text() == ("1" if target == "file" else "")
