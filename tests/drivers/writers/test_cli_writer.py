"""The agent's own CLI as a job, played by a program: held as a run is, and however it ends, nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import textwrap
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.drivers.cgroups.tree import CgroupTree
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.writers.cli import CliWriter
from phoenixd.drivers.writers.job import AGENT
from phoenixd.errors import WriterFailed
from phoenixd.installed import SOURCE, interpreter
from phoenixd.start.job_place import JobPlaces
from tests.drivers.writers.test_writers import RUNNER, is_alive, material
from tests.waiting import eventually, eventually_sync

ANSWER = {"type": "result", "result": '{"agent": "a"}', "usage": {"input_tokens": 9, "output_tokens": 3}}
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwx1234"


class Desk:
    """A user with a program called claude, and the writer that asks it."""

    def __init__(self, root: Path, tree: CgroupTree | None = None) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.program = self.home / "claude"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "ANTHROPIC_API_KEY": KEY}
        self.directories = Directories(None, root / "state", root / "run")
        processes = Processes(leaves=None, reaper_of=lambda name: None)
        places = JobPlaces(
            self.directories,
            plain_files,
            tree.create_job_leaf if tree is not None else None,
            tree.end_job if tree is not None else None,
        )

        async def environment_of(_: Agent) -> dict[str, str]:
            return self.environment

        self.writer = CliWriter(
            lambda: RUNNER,
            environment_of,
            lambda run_id: processes.fence(AGENT, 0, run_id, None),
            places.place,
            places.users_file,
        )

    def says(self, text: str) -> None:
        self.program.write_text(f"#!/usr/bin/env python3\n{textwrap.dedent(text)}")
        self.program.chmod(0o700)

    def agent(self, fence: str = "auto", timeout: float = 60.0) -> Agent:
        rules = BriefRules(writer=WriterKind.AUTO, timeout=timeout)
        spec = AgentSpec("a", (str(self.program),), "/", harness="claude", brief=rules, fence=fence)  # type: ignore[arg-type]
        return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")

    @property
    def places(self) -> list[str]:
        return os.listdir(self.directories.runtime / "writers")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_it_works_in_an_empty_directory_of_its_own_that_goes_with_it(desk: Desk) -> None:
    desk.says(
        f"""
        import json, os, sys
        told = [os.listdir("."), os.getcwd(), os.environ["PWD"]]
        told += [len(sys.stdin.read()) > 1000, "--safe-mode" in sys.argv]
        open({str(desk.home / "told")!r}, "w").write(json.dumps(told))
        open("left-behind", "w").close()
        os.symlink({str(desk.home)!r}, "a-way-out")
        print(json.dumps({ANSWER!r}))
        """
    )

    answer = await desk.writer.write(desk.agent(), material())

    empty = str(desk.directories.runtime / "writers" / "a" / "empty")
    assert (answer.text, answer.tokens) == ('{"agent": "a"}', 12)
    assert json.loads((desk.home / "told").read_text()) == [[], empty, empty, True, True]
    assert desk.places == []
    assert desk.program.exists(), "a link out of the directory is removed, and not followed"


FAILURES: dict[str, tuple[str, str, str]] = {
    "prints a secret": (
        f"import json; print(json.dumps({{'result': 'use {KEY}', 'usage': {{}}}}))", "held a secret", "brief.writer",
    ),
    "takes too long": ("import time; time.sleep(1000)", "no answer within 2 s", "raise brief.timeout"),
    "says too much": ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "answered more than", ""),
    "is too old": ("import sys; sys.exit(\"error: unknown option '--safe-mode'\")", "does not know --safe-mode", "npm"),
    "is logged out": (
        "import json, sys; print(json.dumps({'result': 'Please run /login', 'is_error': True})); sys.exit(1)",
        "claude is not logged in: Please run /login", "log in with /login",
    ),
    "fails with a key": (f"import sys; sys.exit('bad {KEY}')", "claude failed: bad [redacted]", "phoenixctl doctor"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
async def test_what_goes_wrong_is_told_with_its_remedy(desk: Desk, case: str) -> None:
    program, why, remedy = FAILURES[case]
    desk.says(program)

    with pytest.raises(WriterFailed) as failed:
        await desk.writer.write(desk.agent(timeout=2.0 if case == "takes too long" else 60.0), material())

    assert why in failed.value.message
    assert remedy in failed.value.remedy
    assert KEY not in failed.value.message
    assert desk.places == []


async def test_a_cli_that_is_not_there_and_one_without_a_login(desk: Desk) -> None:
    with pytest.raises(WriterFailed, match="cannot be run") as absent:
        await desk.writer.write(desk.agent(), material())
    del desk.environment["ANTHROPIC_API_KEY"]
    with pytest.raises(WriterFailed, match=r"not logged in: there is no .*/\.claude/\.credentials\.json") as stranger:
        await desk.writer.write(desk.agent(), material())

    assert (absent.value.remedy, "/login" in stranger.value.remedy) == (
        "install it, or give its whole path in argv",
        True,
    )
    assert desk.places == []


DETACHED = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({path!r} + ".new", "w").write(str(os.getpid()))
        os.rename({path!r} + ".new", {path!r})
        while True: time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""


async def test_a_call_that_is_broken_off_leaves_no_process_and_no_file(desk: Desk) -> None:
    path = desk.home / "pid"
    desk.says(DETACHED.format(path=str(path)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.writer.write, desk.agent(), material())
        await eventually(path.exists, 60, "the program runs")
        tasks.cancel_scope.cancel()

    assert not is_alive(path)
    assert desk.places == []


def test_kill_9_of_the_daemon_leaves_no_process_and_no_file(desk: Desk, tmp_path: Path) -> None:
    """Nobody is left to tidy up but the runner."""
    path, place = desk.home / "pid", tmp_path / "place"
    (place / "home" / "deep").mkdir(parents=True)
    (place / "home" / "login").symlink_to(desk.home)
    desk.says(DETACHED.format(path=str(path)))
    setup = json.dumps({"directory": str(place), "cgroup": None, "fence": None})
    daemon = os.fork()
    if daemon == 0:
        os.posix_spawn(RUNNER[0], [*RUNNER, "--setup", setup, str(desk.program)], {"PATH": os.environ["PATH"]})
        signal.pause()
        os._exit(0)
    try:
        eventually_sync(path.exists, 60, "the program runs")
    finally:
        os.kill(daemon, signal.SIGKILL)
        os.waitpid(daemon, 0)

    eventually_sync(lambda: not is_alive(path) and not place.exists(), 60, "all is gone")
    assert desk.program.exists()


async def test_a_fence_that_is_not_to_be_had_is_no_reason_to_go_without(desk: Desk) -> None:
    desk.says(f"print({json.dumps(ANSWER)!r})")

    with pytest.raises(WriterFailed, match="no control group is to be had here") as failed:
        await desk.writer.write(desk.agent(fence="cgroup"), material())

    assert "phoenixctl install-service" in failed.value.remedy


async def test_it_runs_in_a_control_group_beside_those_of_the_runs(tmp_path: Path) -> None:
    tree = CgroupTree.find(tmp_path / "state")
    if tree is None:
        pytest.skip("not run: no control group can be made here")
    desk = Desk(tmp_path, tree)
    desk.says(
        f"""
        import json
        open({str(desk.home / "group")!r}, "w").write(open("/proc/self/cgroup").read())
        print(json.dumps({ANSWER!r}))
        """
    )
    try:
        await desk.writer.write(desk.agent(fence="cgroup"), material())

        assert re.search(r"/agents/a/brief-[0-9a-f]{8}$", (desk.home / "group").read_text().strip())
        assert tree.owner_of(os.getpid()) is None
        assert [one for one in (tree.root / "agents" / "a").iterdir() if one.is_dir()] == []
    finally:
        tree.discard()


async def test_a_fenced_call_sees_its_own_directory_and_none_of_ours(desk: Desk) -> None:
    lacks = subprocess.run(
        [interpreter(), "-c", "import fence, sys; sys.exit(fence.missing() or 0)"],
        env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if lacks.stderr.strip():
        pytest.skip(f"not run: {lacks.stderr.strip()}")
    for directory in (desk.directories.state, desk.directories.runtime):
        plain_files.ensure_private_dir(directory)
    (desk.directories.state / "journal").touch()
    desk.says(
        f"""
        import json, os
        seen = [os.listdir({str(desk.directories.state)!r}), os.listdir({str(desk.directories.runtime)!r})]
        open("written", "w").close()
        open({str(desk.home / "told")!r}, "w").write(json.dumps([*seen, os.getcwd()]))
        print(json.dumps({ANSWER!r}))
        """
    )

    await desk.writer.write(desk.agent(fence="namespace"), material())

    state, runtime, cwd = json.loads((desk.home / "told").read_text())
    assert ("journal" in state, runtime) == (False, ["writers"])
    assert cwd.endswith("/writers/a/empty")
    assert desk.places == []
