"""Programs of the operator's that word briefs, papers and readings, as hostile as can be: held and ended whole."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.rules import BriefRules, HandoffRules
from phoenixd.core.spec import AgentSpec
from phoenixd.core.treatment.examined import ReaderRules
from phoenixd.directories import Directories
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.writers import project_command
from phoenixd.drivers.writers.command import CommandWriter
from phoenixd.drivers.writers.job import AGENT
from phoenixd.drivers.writers.project_command import ProjectCommand
from phoenixd.drivers.writers.reader import ClinicReader
from phoenixd.errors import LaunchFailed, WriterFailed
from phoenixd.ports.papers import WriterAnswer
from phoenixd.start.job_place import JobPlaces
from tests.drivers.writers.test_reader import asked
from tests.drivers.writers.test_writers import RUNNER, SPINS, is_alive, material
from tests.ending import ALARM, TESTS
from tests.waiting import eventually, eventually_sync

KINDS = ("brief", "handoff", "clinic")


class Desk:
    """One agent whose commands of all three kinds are the same program."""

    def __init__(self, root: Path, tree: CgroupTree | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.tree, self.monkeypatch = root, tree, monkeypatch
        self.seen = root / "seen"
        (root / "work").mkdir()
        directories = Directories(None, root / "state", root / "run")
        processes = Processes(leaves=None, reaper_of=lambda name: None)
        places = JobPlaces(
            directories, plain_files, tree.create_job_leaf if tree else None, tree.end_job if tree else None
        )
        plain_files.ensure_private_dir(directories.runtime)

        async def environment_of(_: Agent) -> Mapping[str, str]:
            return {"PATH": os.environ["PATH"], "HOME": str(root)}

        def ended(run_id: str) -> Awaitable[object]:
            return processes.fence(AGENT, 0, run_id, None)

        self.briefs = CommandWriter(lambda: RUNNER, environment_of, ended, places.of("brief"))
        self.papers = ProjectCommand(lambda: RUNNER, environment_of, ended, places.of("handoff"))
        readers = directories.runtime / "readers"
        self.reader = ClinicReader(lambda: RUNNER, environment_of, ended, places.of("clinic", readers))

    def runs(
        self, kind: str, text: str, *, timeout: float = 60.0, fence: str = "auto"
    ) -> Callable[[], Awaitable[object]]:
        """A job of that kind; {seen!r} in its text is a file by which it tells."""
        program = self.root / "hostile.py"
        program.write_text(textwrap.dedent(text).replace("{seen!r}", repr(str(self.seen))))
        argv = (sys.executable, "-I", str(program))
        spec = AgentSpec("a", ("x",), str(self.root / "work"), fence=fence)  # type: ignore[arg-type]
        spec = replace(spec, brief=BriefRules(command=argv, timeout=timeout), handoff=HandoffRules(command=argv))
        agent = Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")
        if kind == "brief":
            return lambda: self.briefs.write(agent, material())
        if kind == "handoff":
            self.monkeypatch.setattr(project_command, "TIME_LIMIT", timeout)
            return lambda: self.papers.write(agent, "{}")
        return lambda: self.reader.read(agent, asked(ReaderRules(command=argv, timeout=timeout)), "")

    @property
    def leaves(self) -> list[str]:
        """The job leaves that are there."""
        assert self.tree is not None
        return [one.name for one in (self.tree.root / "agents" / "a").iterdir() if one.is_dir()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """With a control group for each job."""
    tree = CgroupTree.find(tmp_path / "state")
    if tree is None:
        pytest.skip("not run: no control group can be made here")
    yield Desk(tmp_path, tree, monkeypatch)
    eventually_sync(lambda: tree.discard() or not tree.root.exists(), what="nothing lives in the tree")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """On a host without control groups."""
    return Desk(tmp_path, None, monkeypatch)


TELLS = """
import os
def tell(text):
    open({seen!r} + ".new", "w").write(text)
    os.rename({seen!r} + ".new", {seen!r})
"""
DEAF = """
import signal
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT): signal.signal(number, signal.SIG_IGN)
"""
HOPS = f"""{DEAF}{TELLS}
import sys, time
sys.path.append({TESTS!r})
from ending import SECONDS, hop
if os.fork() == 0:
    os.closerange(0, 3)
    # Each process lives for an instant: who lists processes, and then kills, comes too late.
    hop(time.monotonic() + SECONDS, told=lambda hops: hops > 1 or tell(str(os.getpid())))
time.sleep(1000)
"""
"""Ignores every signal that can be ignored, and hops from one process to the next, each in a session of its own."""

HOSTILE = {
    "ignores every signal": (f"{DEAF}\nwhile True: signal.pause()", "no answer within"),
    "spins without reading": (SPINS, "no answer within"),
    "hops from process to process": (HOPS, "no answer within"),
    "talks without end": ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "answered more than"),
    "complains without end": (f"{ALARM}\nimport sys\nwhile True: sys.stderr.write('x' * 65536)", "no answer within"),
}

tries = pytest.mark.parametrize(
    ("kind", "case"),
    [
        pytest.param(kind, case, marks=() if number % len(KINDS) == at else [pytest.mark.slow, pytest.mark.proof])
        for number, case in enumerate(HOSTILE)
        for at, kind in enumerate(KINDS)
    ],
)
"""Each program as a job of one kind, for the runner is the same: `./dev proof slow` has it as the others."""


TIMEOUTS = (0.8, 3.0, 20.0)
"""What spins does so for as long as it is let: more only where this machine did not get it to run by then."""


async def fails(desk: Desk, kind: str, case: str) -> None:
    """It ran, and it was ended."""
    text, why = HOSTILE[case]
    begun = desk.root / "begun"
    text = f"open({str(begun)!r}, 'w').close()\n{textwrap.dedent(text)}"
    for timeout in (60.0,) if "more than" in why else TIMEOUTS:
        with pytest.raises(WriterFailed, match=re.escape(why)):
            await desk.runs(kind, text, timeout=timeout)()
        if begun.exists():
            return
    pytest.fail("it never ran")


@tries
async def test_p5_a_hostile_program_is_held_in_a_leaf_and_ended_whole_at_its_timeout(
    desk: Desk, kind: str, case: str
) -> None:
    await fails(desk, kind, case)
    # What a job starts is born in its leaf, so one that could be removed was empty.
    assert desk.leaves == []


@tries
async def test_p5_without_control_groups_its_runner_ends_it_whole(bare: Desk, kind: str, case: str) -> None:
    await fails(bare, kind, case)
    marks = str(bare.root / "hostile.py").encode()
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and marks in command_line(pid)]
    assert left == []


def command_line(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_has_a_leaf_of_its_own_and_goes_first_when_memory_runs_out(desk: Desk, kind: str) -> None:
    job = desk.runs(
        kind,
        f"{TELLS}\ntell(open('/proc/self/cgroup').read() + open('/proc/self/oom_score_adj').read())",
    )
    try:
        await job()
    except WriterFailed:
        assert kind == "clinic", "it gave no answer that a clinic could read"
    *_, group, rank = desk.seen.read_text().split()
    assert re.search(rf"/agents/a/{kind}-[0-9a-f]{{8}}$", group)
    assert rank == "1000"
    assert desk.leaves == []


async def test_a_leaf_that_cannot_be_entered_is_gone_without_unless_the_fence_is_one(desk: Desk) -> None:
    """So it is where a service's user may not move a process into the unit of the agents."""
    tree = desk.tree
    assert tree is not None

    def forbidden(agent: str, job: str) -> str:
        return "/proc/self/fd"

    directories = Directories(None, desk.root / "state", desk.root / "run")
    places = JobPlaces(directories, plain_files, forbidden, lambda agent, job: None)
    desk.papers._place_of = places.of("handoff")
    assert await desk.runs("handoff", "print('worded')")() == WriterAnswer("worded\n")
    with pytest.raises(WriterFailed, match=r"exit 126: .*/proc/self/fd"):
        await desk.runs("handoff", "print('worded')", fence="cgroup")()


DETACHED = f"""{DEAF}
import os, sys, time
TELLING = "import os, sys, time; name = sys.argv[1]; open(name + '.new', 'w').write(str(os.getpid())); " \\
    "os.rename(name + '.new', name); time.sleep(1000)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-I", "-c", TELLING, {{seen!r}}], {{}})
    os._exit(0)
time.sleep(1000)
"""


async def test_a_lost_runner_takes_its_job_with_it(desk: Desk) -> None:
    """Also what left its session, emptied its environment and holds the pipe open: the leaf knows it."""
    failed: list[WriterFailed] = []

    async def works() -> None:
        try:
            await desk.runs("handoff", DETACHED, timeout=10.0)()
        except WriterFailed as failure:
            failed.append(failure)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(works)
        await eventually(desk.seen.exists, 60, "the program runs")
        for runner in runners_of(desk.root / "hostile.py"):
            os.kill(runner, signal.SIGKILL)
    assert failed
    await eventually(lambda: not is_alive(desk.seen), 60, "nothing lives")


def runners_of(program: Path) -> list[int]:
    """The runners of a program: this process started them."""
    mine = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in mine if b"--job" in command_line(pid) and str(program).encode() in command_line(pid)]


def test_a_runner_whose_daemon_is_gone_ends_whatever_is_in_the_leaf(tmp_path: Path) -> None:
    """At once, however fast it forks; also what an outsider put there."""
    tree = CgroupTree.find(tmp_path / "state")
    if tree is None:
        pytest.skip("not run: no control group can be made here")
    leaf = tree.create_job_leaf("a", "handoff-00c0ffee")
    assert leaf is not None
    other = subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: Path(leaf, "cgroup.procs").write_text("0"))
    try:
        setup = json.dumps({"cgroup": leaf})
        assert subprocess.run([*RUNNER, "--setup", setup, "true"], check=False, timeout=60).returncode == 0
        assert other.wait(60) == -9
    finally:
        other.kill()
        other.wait()
        eventually_sync(lambda: tree.discard() or not tree.root.exists(), what="nothing lives in the tree")


def test_a_runner_whose_daemon_died_before_the_runner_could_hear_of_it_runs_nothing(tmp_path: Path) -> None:
    """Its parent is another one by then, of which nothing would ever be heard."""
    daemon = subprocess.Popen(["true"])
    daemon.wait()
    touches = [*RUNNER, "--parent", str(daemon.pid), "touch", str(tmp_path / "ran")]
    assert subprocess.run(touches, check=False, timeout=60).returncode == 143
    assert not (tmp_path / "ran").exists()
    touches[touches.index(str(daemon.pid))] = str(os.getpid())
    assert subprocess.run(touches, check=False, timeout=60).returncode == 0
    assert (tmp_path / "ran").exists()


def test_jobs_of_a_daemon_that_was_killed_with_their_runners_end_with_the_next_one(tmp_path: Path) -> None:
    tree = CgroupTree.find(tmp_path / "state")
    if tree is None:
        pytest.skip("not run: no control group can be made here")
    job, run = tree.create_job_leaf("a", "handoff-00c0ffee"), tree.create_leaf("a", 1)
    assert job is not None
    assert run is not None
    left, agent = (
        subprocess.Popen(["sleep", "1000"], preexec_fn=lambda leaf=leaf: Path(leaf, "cgroup.procs").write_text("0"))
        for leaf in (job, run)
    )
    try:
        after = CgroupTree.find(tmp_path / "state")
        assert after is not None
        after.end_jobs()
        assert left.wait(60) == -9
        assert agent.poll() is None, "an agent's run outlives the daemon"
        eventually_sync(lambda: after.prune("a", keep=1) or not Path(job).exists(), what="its leaf is gone")
    finally:
        for process in (left, agent):
            process.kill()
            process.wait()
        eventually_sync(lambda: tree.discard() or not tree.root.exists(), what="nothing lives in the tree")


def test_a_runs_start_leaves_the_leaf_of_a_job_that_begins(tmp_path: Path) -> None:
    tree = CgroupTree.find(tmp_path / "state")
    if tree is None:
        pytest.skip("not run: no control group can be made here")
    try:
        leaf = Path(str(tree.create_job_leaf("a", "brief-00000001")))
        tree.prune("a", keep=1)
        assert leaf.is_dir()
        tree.end_job("a", "brief-00000001")
        assert not leaf.exists()
        with pytest.raises(ValueError, match="job"):
            tree.create_job_leaf("a", "../b")
    finally:
        tree.discard()


def test_a_job_that_is_refused_its_fence_leaves_no_control_group(tmp_path: Path) -> None:
    made: list[str] = []

    def create(agent: str, job: str) -> str:
        made.append(job)
        return "/proc/self/fd"

    directories = Directories(None, tmp_path / "state", tmp_path / "run")
    places = JobPlaces(directories, plain_files, create, lambda agent, job: made.remove(job))
    inside = directories.state / "agents" / "a"
    inside.mkdir(parents=True)
    spec = AgentSpec("a", ("x",), str(inside), fence="namespace")
    agent = Agent(spec, Desired.RUNNING, Stopped(), 0.0, "")
    with pytest.raises(LaunchFailed):
        places.of("handoff")(agent, {})
    assert made == []


async def test_the_fence_of_a_job_needs_no_control_group_of_an_agent(desk: Desk) -> None:
    """It is asked where the runner itself was killed."""
    processes = Processes(leaves=desk.tree, reaper_of=lambda name: None)

    assert not (await processes.fence(AGENT, 0, "0" * 32, None)).remaining
