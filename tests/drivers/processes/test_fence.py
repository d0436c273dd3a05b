"""Promise 5: a kill ends, takes the whole tree, and never touches a process that the run does not own."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.processes import unread as processes_unread
from phoenixd.drivers.processes.fence import Fence
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import carries, process_ids, read_stat
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import Fenced, ProcessIdentity
from tests.drivers.processes.processes import ESCAPES, Run, identity
from tests.ending import SECONDS, TESTS
from tests.waiting import eventually_sync

THIS_RUN = f"this-run-{uuid.uuid4()}"
"""Of this process of tests: another one beside it would end what bears the same."""
ALL = len(ESCAPES) + 2
"""The grandchild's parent sleeps as well, and the tmux server has its pane's arguments."""
WITHOUT_A_SHIM = [name for name in ESCAPES if name != "daemon with empty environment"]
"""What a fence finds with neither cgroup nor shim. A daemon without the run id bears no mark then: that is why the tier
is named in `phoenixctl doctor`."""


def carriers(run_id: str) -> list[int]:
    return [pid for pid in process_ids() if carries(pid, run_id)]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[CgroupTree]:
    found = CgroupTree.find(tmp_path)
    if found is None:
        pytest.skip("not run: no cgroup v2 tree is writable here")
    yield found
    eventually_sync(lambda: found.discard() or not found.root.exists(), what="nothing lives in the tree")


@pytest.fixture
def decoys() -> Iterator[list[ProcessIdentity]]:
    """Strangers that look like the run: same names, a similar run id, the id in another variable or in an argument.

    They are no children of this process, because a fence spares those.
    """
    made = [
        identity(int(subprocess.check_output(["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"], env=environment)))
        for environment in (
            {},
            {"PHOENIX_AGENT": "a", "PHOENIX_INCARNATION": "7"},
            {"PHOENIX_RUN_ID": "another-run"},
            {"NOT_PHOENIX_RUN_ID": THIS_RUN},
            {"X": f"PHOENIX_RUN_ID={THIS_RUN}"},
            {"PHOENIX_RUN_ID": f"{THIS_RUN}-2"},
            {"PHOENIX_RUN_ID": ""},
        )
    ]
    yield made
    for decoy in made:
        if Processes().is_alive(decoy):
            os.kill(decoy.pid, signal.SIGKILL)


async def test_promise_2_only_a_leaf_or_a_living_shim_proves_that_nothing_is_left(
    tmp_path: Path, short_tmp: Path, tree: CgroupTree
) -> None:
    run = Run(short_tmp, [])
    try:
        tree.create_leaf("a", 7)
        run.kill_agent()
        with_leaf = await Processes(leaves=tree).fence("a", 7, run.run_id, run.agent)
        without = await Processes(leaves=tree).fence("a", 8, run.run_id, run.agent)
        guarded = await Processes(reaper_of=lambda _: run.shim).fence("a", 7, run.run_id, run.agent)
        run.kill_shim()
        unguarded = await Processes(reaper_of=lambda _: run.shim).fence("a", 7, run.run_id, run.agent)
    finally:
        run.close()

    assert [with_leaf.unproven, without.unproven, guarded.unproven, unguarded.unproven] == [False, True, False, True]
    assert unguarded.unread == (), "root reads everything"


async def test_p5_ten_escapes_end_with_a_cgroup(tmp_path: Path, short_tmp: Path, tree: CgroupTree) -> None:
    leaf = tree.create_leaf("a", 7)
    run = Run(short_tmp, list(ESCAPES.values()), leaf=leaf)
    try:
        run.wait_for_sleepers(ALL)
        run.kill_agent()
        run.kill_shim()
        # A run id that nobody carries, so that the leaf alone has to find everything.
        fenced = await Processes(leaves=tree).fence("a", 7, "nobody", run.agent)

        assert fenced.remaining == ()
        assert len(fenced.killed) >= len(ESCAPES)
        assert run.sleepers() == []
        assert tree.members("a", 7) == frozenset()
    finally:
        run.close()


async def test_p5_ten_escapes_end_without_a_cgroup_while_the_shim_lives(short_tmp: Path) -> None:
    run = Run(short_tmp, list(ESCAPES.values()))
    try:
        run.wait_for_sleepers(ALL)
        run.kill_agent()
        fenced = await Processes(reaper_of=lambda agent: run.shim).fence("a", 7, run.run_id, run.agent)

        assert fenced.remaining == ()
        assert run.sleepers() == []
        assert run.shim_process.poll() is None, "the shim is not part of the run"
    finally:
        run.close()


async def test_p5_a_stopped_shim_hides_nothing(short_tmp: Path) -> None:
    run = Run(short_tmp, list(ESCAPES.values()))
    try:
        run.wait_for_sleepers(ALL)
        run.shim_process.send_signal(signal.SIGSTOP)
        fenced = await Processes(reaper_of=lambda agent: run.shim).fence("a", 7, run.run_id, run.agent)

        assert fenced.remaining == ()
        assert run.sleepers() == []
    finally:
        run.close()


async def test_p5_a_lost_shims_run_ends_by_its_run_id(short_tmp: Path) -> None:
    run = Run(short_tmp, [ESCAPES[name] for name in WITHOUT_A_SHIM])
    try:
        run.wait_for_sleepers(ALL - 1)
        run.kill_shim()
        fenced = await Processes().fence("a", 7, run.run_id, run.agent)

        assert fenced.remaining == ()
        assert run.sleepers() == []
        assert read_stat(run.agent.pid) is None or read_stat(run.agent.pid).state == "Z"  # type: ignore[union-attr]
    finally:
        run.close()


async def test_p5_strangers_that_look_like_the_run_survive(short_tmp: Path, decoys: list[ProcessIdentity]) -> None:
    run = Run(short_tmp, ["fork()"])
    try:
        for run_id in (THIS_RUN, run.run_id, ""):
            await Processes(reaper_of=lambda agent: run.shim).fence("a", 7, run_id, run.agent)

        assert run.sleepers() == []
        assert [stat.state for decoy in decoys if (stat := read_stat(decoy.pid))] == ["S"] * len(decoys)
    finally:
        run.close()


async def test_p5_the_next_run_of_a_shim_is_not_taken_for_the_last(short_tmp: Path) -> None:
    run = Run(short_tmp, ["fork()"])
    try:
        run.wait_for_sleepers(1)
        fenced = await Processes(reaper_of=lambda agent: run.shim).fence("a", 6, "the-run-before", None)

        assert fenced.killed == ()
        assert len(run.sleepers()) == 1
    finally:
        run.close()


async def test_a_daemon_that_was_started_within_the_run_spares_itself_and_its_children() -> None:
    script = (
        "import asyncio, subprocess, sys\n"
        "from phoenixd.drivers.processes.pidfds import Processes\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"asyncio.run(Processes().fence('a', 1, {THIS_RUN!r}, None))\n"
        "print(child.poll()); child.kill(); child.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PHOENIX_RUN_ID": THIS_RUN}, capture_output=True, text=True
    )

    assert done.stdout == "None\n"


STORM = f"""
sys.path.append({TESTS!r})
from ending import hop
until = time.monotonic() + {SECONDS}
for lineage in range(10):
    if os.fork() == 0: hop(until, 0.002, lambda hops: open(room + "/hops", "ab").write(b"."))
"""


@pytest.mark.faults
@pytest.mark.parametrize("net", ["cgroup", "shim", "run id"])
async def test_p5_a_fork_storm_that_changes_its_numbers_ends(
    net: str, short_tmp: Path, request: pytest.FixtureRequest
) -> None:
    """Ten lineages, each with a new process and a new session every 2 ms."""
    tree: CgroupTree | None = request.getfixturevalue("tree") if net == "cgroup" else None
    run = Run(short_tmp, [], body=STORM, leaf=tree.create_leaf("a", 7) if tree else None)
    try:
        eventually_sync(lambda: (short_tmp / "hops").exists() and (short_tmp / "hops").stat().st_size > 500)
        processes = Processes(leaves=tree, reaper_of=lambda agent: run.shim if net == "shim" else None)
        run_id = "nobody" if net == "cgroup" else run.run_id
        fenced = await processes.fence("a", 7, run_id, run.agent)

        assert fenced.remaining == ()
        assert carriers(run.run_id) == []
    finally:
        run.close()


def test_what_bears_the_run_is_looked_for_among_the_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that lives for an instant is gone before thousands of others have been asked."""
    asked: list[int] = []

    def carries(pid: int, run_id: str) -> bool:
        asked.append(pid)
        return False

    monkeypatch.setattr("phoenixd.drivers.processes.fence.proc.carries", carries)
    Fence("a", 7, THIS_RUN)._hold_carriers()

    assert asked == sorted(asked, reverse=True)
    assert os.getpid() in asked
    assert len(asked) > 1


async def test_p5_what_moved_on_while_it_was_looked_for_is_looked_for_again(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends between the listing and the look may have handed the run on to a child."""
    run = Run(short_tmp, ["daemon()"])
    try:
        run.wait_for_sleepers(1)
        [hidden] = run.sleepers()
        looks = 0

        def hide(pid: int, run_id: str) -> bool | None:
            nonlocal looks
            looks += pid == hidden
            return None if pid == hidden and looks <= 6 else carries(pid, run_id)

        monkeypatch.setattr("phoenixd.drivers.processes.fence.proc.carries", hide)
        fenced = await Processes().fence("a", 7, run.run_id, run.agent)

        assert fenced.remaining == ()
        assert run.sleepers() == []
    finally:
        run.close()


async def test_what_cannot_be_seen_is_not_gone(short_tmp: Path) -> None:
    """Without free descriptors the fence says that it could not look, never that nothing is left."""
    run = Run(short_tmp, ["fork()"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = Processes(fence_limit=0.2)
    await processes.fence("a", 1, "nobody", None)  # The worker thread needs descriptors of its own.
    lowest_free = os.dup(0)
    os.close(lowest_free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        with pytest.raises(PhoenixdError, match="cannot be seen"):
            await processes.fence("a", 7, run.run_id, run.agent)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        run.close()


def test_what_does_not_end_is_named(short_tmp: Path) -> None:
    """A process of another user may not be signalled by an ordinary daemon: it stands for all that will not die."""
    if os.geteuid() != 0:
        pytest.skip("not run: only root can become another user and come back")
    run = Run(short_tmp, [])
    fence = Fence("a", 7, "", child=run.agent)
    os.setresuid(65534, 65534, 0)
    try:
        fenced = fence.run(limit=0.2)
    finally:
        os.setresuid(0, 0, 0)
        run.close()

    assert fenced == Fenced((), (run.agent.pid,))


def test_the_sweep_reads_only_processes_of_our_own() -> None:
    """Root can read everybody's environment, and must not act on it."""
    if os.geteuid() != 0:
        pytest.skip("not run: only root can make another user's process")
    stranger = subprocess.Popen(["sleep", "1000"], env={"PHOENIX_RUN_ID": THIS_RUN}, user=65534)
    ours = subprocess.Popen(["sleep", "1000"], env={"PHOENIX_RUN_ID": THIS_RUN})
    try:
        eventually_sync(lambda: carriers(THIS_RUN))
        assert carriers(THIS_RUN) == [ours.pid]
        assert stranger.pid in process_ids()
    finally:
        for process in (stranger, ours):
            process.kill()
            process.wait()
    assert carriers(THIS_RUN) == []


async def test_promise_2_threads_of_the_kernel_are_of_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Linux 6.16 the environment of each reads as if it were gone, and it is not."""
    threads = [pid for pid in process_ids() if (stat := read_stat(pid)) and stat.is_kernel]
    if not threads:
        pytest.skip("not run: no thread of the kernel is seen here, as in a container")
    monkeypatch.setattr("phoenixd.drivers.processes.proc.process_ids", lambda: threads)

    assert Fence("a", 7, THIS_RUN).run() == Fenced((), unproven=True)
    assert [carries(pid, THIS_RUN) for pid in threads] == [False] * len(threads)


async def test_promise_2_without_descriptors_what_cannot_be_read_is_not_called_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else an unfenced start would go on at the very moment at which nobody could look."""
    program = subprocess.Popen(["sleep", "1000"])
    try:
        monkeypatch.setattr(processes_unread, "_reads", lambda pid: pid != program.pid)
        assert processes_unread.unread(None) == (program.pid,)

        def scarce(pid: int, flags: int = 0) -> int:
            raise OSError(errno.EMFILE, "Too many open files")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pidfd_open", scarce)
            with pytest.raises(PhoenixdError, match="cannot be told"):
                Fence("a", 7, "nobody")._found_nothing()
    finally:
        program.kill()
        program.wait()
