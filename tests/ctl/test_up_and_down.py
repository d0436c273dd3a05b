"""up, run and down with the real daemon: it outlives the terminal that started it, and the agents outlive it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from phoenixd.drivers.files.lock import is_ending
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.tables import SCHEMA_KEY, SCHEMA_VERSION
from tests.ctl.conftest import Ran, environment, run_ctl
from tests.ctl.forked import run_forked
from tests.full_disk import fill, small_disk
from tests.slow_disk import slow_syncs
from tests.waiting import eventually


class Place:
    """A home with a state and a runtime directory of its own."""

    def __init__(self, runtime: Path, home: Path) -> None:
        self.runtime = runtime
        self.state = home / "state"
        self.env = environment(
            home,
            PHOENIX_STATE_DIR=os.fspath(self.state),
            PHOENIX_RUNTIME_DIR=os.fspath(runtime),
            PATH=os.environ["PATH"],
        )

    async def ctl(self, *arguments: str) -> Ran:
        # What starts a daemon shows by its pipes' ends that the daemon does not hold them.
        run = run_ctl if arguments[:1] in (("up",), ("run",)) else run_forked
        return await run(*arguments, env=self.env)

    async def daemon_pid(self) -> int:
        return int((await self.ctl("version", "--json")).json["daemon"]["pid"])

    def clear(self) -> None:
        """End what a failed test may have left: by the pids that this place's files and sockets name."""
        for pid in _holders(self.state / "phoenixd.lock"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(
            ["tmux", "-N", "-S", self.runtime / "tmux.sock", "kill-server"], capture_output=True, check=False
        )


def _holders(path: Path) -> set[int]:
    """The processes that have a file open, as far as we may see them."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.readlink() == path.resolve():
                found.add(int(link.parts[2]))
    return found


@pytest.fixture
def place(runtime: Path, home: Path) -> Iterator[Place]:
    place = Place(runtime, home)
    yield place
    place.clear()


async def _nobody_is_left(place: Place) -> bool:
    return "no agent of that one runs" in (await place.ctl("status")).err


async def test_promise_7_no_file_of_the_directory_in_which_up_is_typed_is_a_module_of_the_daemons(
    place: Place, tmp_path: Path
) -> None:
    """It is typed in a workspace, where agents write, or where somebody works on what phoenixd needs."""
    (tmp_path / "phoenixd").mkdir()
    for name in ("structlog", "anyio", "phoenixd/__init__", "phoenixd/__main__"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the workspace was run')\n")

    typed = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "phoenixd.ctl", "up", cwd=tmp_path, env=place.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await typed.communicate()

    assert typed.returncode == 0, said.decode()
    assert await place.daemon_pid()
    await place.ctl("down")


async def test_up_run_down_and_up_again_leave_the_agent_at_work(place: Place) -> None:
    ran = await place.ctl("run", "docs", "-d", "--", "sleep", "1000")
    assert ran.code == 0, ran.err
    await eventually(lambda: _runs(place), 20, "the agent runs")
    agent = (await place.ctl("status", "docs", "--json")).json["agents"][0]
    daemon = await place.daemon_pid()
    assert os.getsid(daemon) == daemon, "a session of its own"
    assert "is up already" in (await place.ctl("up")).out

    assert (await place.ctl("down")).code == 0
    gone = await place.ctl("status")
    assert gone.code == 7
    assert "phoenixd does not answer. Your agent runs on." in gone.err
    assert _has_ended(daemon)
    os.kill(agent["pid"], 0)
    late = await place.ctl("down", "--agents")
    remedy = late.err.rstrip().rpartition("do: ")[2]
    assert (late.code, remedy) == (7, "phoenixctl up && phoenixctl down --agents"), "what alone leads there"

    again = await place.ctl("up")
    assert again.code == 0, again.err
    same = (await place.ctl("status", "docs", "--json")).json["agents"][0]
    assert (same["pid"], same["incarnation"]) == (agent["pid"], agent["incarnation"])
    assert (await place.ctl("down", "--agents")).code == 0
    await eventually(lambda: _nobody_is_left(place), 20, "the shims leave")


@pytest.mark.parametrize("words", [("down",), ("down", "--agents")])
async def test_down_where_nothing_runs_says_so_and_what_starts_phoenixd(place: Place, words: tuple[str, ...]) -> None:
    """Its code is 7, so `down && up` starts nothing: the message has to name what does."""
    assert (await place.ctl("run", "docs", "-d", "--", "sleep", "1000")).code == 0
    await eventually(lambda: _runs(place), 20, "the agent runs")
    assert (await place.ctl("down", "--agents")).code == 0
    await eventually(lambda: _nobody_is_left(place), 20, "the shims leave")
    late = await place.ctl(*words)
    assert late.code == 7
    assert "nothing runs: neither phoenixd nor any of its agents is there" in late.err
    assert "do: to start phoenixd: phoenixctl up; to end one that runs elsewhere: phoenixctl --socket" in late.err


async def test_down_where_the_agents_alone_run_says_how_they_are_ended(place: Place) -> None:
    assert (await place.ctl("run", "docs", "-d", "--", "sleep", "1000")).code == 0
    await eventually(lambda: _runs(place), 20, "the agent runs")
    assert (await place.ctl("down")).code == 0
    late = await place.ctl("down")
    assert late.code == 7
    assert "Your agent runs on." in late.err
    both = "phoenixctl up && phoenixctl down --agents"
    assert late.err.rstrip().endswith(f"do: to start phoenixd: phoenixctl up; to end the agents as well: {both}")
    assert (await place.ctl("up")).code == 0
    assert (await place.ctl("down", "--agents")).code == 0


async def test_down_leaves_no_tmux_server_in_which_nothing_runs(place: Place) -> None:
    """It stayed for ever, with 0 agents, or with those that were stopped."""
    assert (await place.ctl("up")).code == 0
    for agents in (("run", "docs", "-d", "--", "sleep", "1000"), ("stop", "docs")), ():
        for words in agents:
            assert (await place.ctl(*words)).code == 0
        assert _tmux_listens(place)
        down = await place.ctl("down")
        assert (down.code, down.out.partition(". ")[0]) == (0, "phoenixd ends; no agent runs"), down.out
        await eventually(lambda: _tmux_has_ended(place), 60, "the tmux server ends")
        assert (await place.ctl("up")).code == 0
    assert (await place.ctl("start", "docs", "--wait")).code == 0
    assert (await place.ctl("down", "--agents")).code == 0


def _tmux_listens(place: Place) -> bool:
    asked = ["tmux", "-N", "-S", str(place.runtime / "tmux.sock"), "display-message", "-p", "yes"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


async def _tmux_has_ended(place: Place) -> bool:
    return not await asyncio.to_thread(_tmux_listens, place)


def _has_ended(pid: int) -> bool:
    """Gone, or dead and not yet reaped by its parent of now."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def _runs(place: Place) -> bool:
    return bool((await place.ctl("wait", "docs", "--for", "running", "--timeout", "1")).code == 0)


async def test_the_options_of_up_name_the_daemon_that_is_asked(place: Place, home: Path, short_tmp: Path) -> None:
    mine, other = home / "mine.toml", home / "other.toml"
    for file in (mine, other):
        file.write_text("")
    assert (await place.ctl("up", "--config", os.fspath(mine))).code == 0
    first = await place.daemon_pid()
    again = await place.ctl("up", "--config", os.fspath(mine), "--state-dir", os.fspath(place.state))
    assert (again.code, f"is up already, pid {first}" in again.out) == (0, True)

    # Another configuration, another state directory, another place for a state directory that is taken.
    for arguments, shown in (
        (("--config", os.fspath(other)), (other, mine)),
        (("--state-dir", os.fspath(home / "elsewhere")), (home / "elsewhere", place.state)),
        (("--runtime-dir", os.fspath(short_tmp / "third")), (place.state, first)),
    ):
        refused = await place.ctl("up", *arguments)
        assert (refused.code, refused.out) == (6, ""), refused
        assert f"pid {first}" in refused.err
        assert all(str(one) in refused.err for one in shown), refused.err
        assert "do: " in refused.err

    beside = ("--state-dir", os.fspath(short_tmp / "state"), "--runtime-dir", os.fspath(short_tmp / "run"))
    second = await place.ctl("up", *beside)
    try:
        assert (second.code, "already" in second.out) == (0, False), second
        assert f"pid {first}" not in second.out
        assert "already" in (await place.ctl("up", *beside)).out
        assert await place.daemon_pid() == first
    finally:
        socket = os.fspath(short_tmp / "run" / "api.sock")
        assert (await place.ctl("down", "--agents", "--socket", socket)).code == 0
        assert (await place.ctl("down", "--agents")).code == 0


@pytest.mark.parametrize("packages", ["apt-get", "another manager"])
async def test_up_without_tmux_says_how_it_is_installed(place: Place, home: Path, packages: str) -> None:
    """F-TMUX-7"""
    programs = home / "bin"
    programs.mkdir()
    if packages == "apt-get":
        (programs / "apt-get").write_text("#!/bin/sh\n")
        (programs / "apt-get").chmod(0o755)
    place.env["PATH"] = os.fspath(programs)

    for words in (("up",), ("run", "docs", "-d", "--", "true")):
        ran = await place.ctl(*words)

        assert (ran.code, ran.out) == (1, "")
        assert "tmux is not installed" in ran.err
        assert ("apt-get install -y tmux" in ran.err) == (packages == "apt-get")
        assert "systemctl" not in ran.err
    assert not place.state.exists(), "nothing was begun"


async def test_up_refuses_a_tmux_that_is_too_old(place: Place, home: Path) -> None:
    """F-TMUX-7"""
    programs = home / "bin"
    programs.mkdir()
    (programs / "tmux").write_text("#!/bin/sh\necho tmux 3.1c\n")
    (programs / "tmux").chmod(0o755)
    place.env["PATH"] = os.fspath(programs)

    ran = await place.ctl("up")

    assert ran.code == 1
    assert "tmux 3.1c is too old: 3.2 is the lowest\ndo: install tmux 3.2 or newer; then: phoenixctl up" in ran.err


@pytest.mark.slow
async def test_up_of_a_new_place_says_how_it_is_reached_and_down_how_it_is_started_again(
    place: Place, home: Path
) -> None:
    """`status` without an option goes on asking the other daemon."""
    assert (await place.ctl("up")).out.rstrip().endswith("See: phoenixctl status")
    mine, runtime = home / "mine", place.runtime / "2"
    options = ("--state-dir", os.fspath(mine), "--runtime-dir", os.fspath(runtime))
    try:
        ran = await place.ctl("up", *options)
        socket = os.fspath(runtime / "api.sock")
        first, second = ran.out.splitlines()
        assert first.endswith(f"See: phoenixctl --socket {socket} status")
        assert second == f"It is a phoenixd of its own, without agents: {mine} is new"
        assert (await place.ctl("--socket", socket, "status")).code == 0
        down = await place.ctl("--socket", socket, "down")
        assert down.out.rstrip().endswith(f"Start it again: phoenixctl up {shlex.join(options)}")
        again = await place.ctl("up", *options)
        assert "is new" not in again.out
    finally:
        await place.ctl("--socket", os.fspath(runtime / "api.sock"), "down", "--agents")
    # As the environment names it, which the next shell need not have.
    again_here = f"Start it again: phoenixctl up --state-dir {home / 'state'} --runtime-dir {place.runtime}"
    assert (await place.ctl("down")).out.rstrip().endswith(again_here)


async def test_up_runs_no_agent_of_another_daemon_twice_unless_that_is_asked_for(
    place: Place, home: Path, short_tmp: Path
) -> None:
    """Both would work in the same directory."""
    config = home / ".config" / "phoenixd"
    config.mkdir(parents=True)
    assert (await place.ctl("up")).code == 0
    agent = f'[agent.docs]\nargv = ["sleep", "1000"]\nautostart = false\ncwd = "{home}"\n'
    (config / "phoenixd.toml").write_text(agent)
    assert (await place.ctl("apply")).code == 0
    beside = ("--state-dir", os.fspath(short_tmp / "state"), "--runtime-dir", os.fspath(short_tmp / "run"))
    try:
        refused = await place.ctl("up", *beside)
        assert (refused.code, refused.out) == (6, ""), refused
        assert f"pid {await place.daemon_pid()}" in refused.err
        assert "docs" in refused.err
        assert f"phoenixctl up {shlex.join(beside)} --config {config}" in refused.err
        assert not (short_tmp / "state").exists()

        meant = await place.ctl("up", *beside, "--config", os.fspath(config))
        assert meant.out.splitlines()[-1] == (
            f"It is a phoenixd of its own, with 1 agent of {config}: {short_tmp / 'state'} is new"
        )
    finally:
        await place.ctl("--socket", os.fspath(short_tmp / "run" / "api.sock"), "down", "--agents")
        await place.ctl("down", "--agents")


@pytest.mark.slow
async def test_up_takes_the_configuration_that_came_after_the_daemon_for_its_own(place: Place, home: Path) -> None:
    assert (await place.ctl("up")).code == 0
    config = home / ".config" / "phoenixd"
    config.mkdir(parents=True)
    try:
        assert (await place.ctl("up", "--config", os.fspath(config))).code == 0
    finally:
        await place.ctl("down")


async def test_no_shim_is_said_to_be_dead_that_was_not_looked_for(place: Place, home: Path) -> None:
    assert "no agent of that one runs" in (await place.ctl("status")).err
    directory = place.runtime / "agents" / "docs"
    directory.mkdir(parents=True)
    # A shim locks its directory for as long as it lives; the terminal server has gone.
    held = os.open(directory, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert (
        "1 shim (phoenixd's program beside an agent) is alive; whether agents run is not known"
        in (await place.ctl("status")).err
    )
    os.close(held)
    assert "no agent of that one runs" in (await place.ctl("status")).err
    # A terminal server that cannot be asked, because tmux is not to be found.
    (place.runtime / "tmux.sock").touch()
    place.env["PATH"] = os.fspath(home)
    unknown = (await place.ctl("status")).err
    assert "Whether agents run is not known (the terminal server in" in unknown


ENDS = """
import sys
from pathlib import Path
from phoenixd.drivers.files.ownership import own
with own(*map(Path, sys.argv[1:])) as owned:
    owned.say_ending()
    print(flush=True)
    sys.stdin.read()
"""


async def test_up_waits_for_a_daemon_that_is_ending_and_then_starts_one(place: Place) -> None:
    """As on a slow disk."""
    ending = subprocess.Popen([sys.executable, "-c", ENDS, place.state, place.runtime], stdin=-1, stdout=-1)
    assert ending.stdout is not None
    assert ending.stdout.readline() == b"\n"
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "phoenixd.ctl", "up", env=place.env, stdout=-1, stderr=-1
    )
    try:
        down = await place.ctl("down")
        assert down.code == 7
        assert f"phoenixd (pid {ending.pid}) was told to end, and has not ended yet" in down.err
        assert started.stderr is not None
        said = (await asyncio.wait_for(started.stderr.readline(), 60)).decode()
    finally:
        ending.communicate()
    assert all(word in said for word in (f"pid {ending.pid}", "it is ending", "Waiting")), said
    out, err = await asyncio.wait_for(started.communicate(), 60)
    assert started.returncode == 0, err
    assert f"phoenixd is up, pid {await place.daemon_pid()}".encode() in out
    assert (await place.ctl("down", "--agents")).code == 0


@pytest.mark.slow
async def test_up_right_after_a_daemon_was_told_to_end_starts_another_one(place: Place) -> None:
    assert (await place.ctl("up")).code == 0
    first = await place.daemon_pid()
    with slow_syncs(first, 2.5):
        os.kill(first, signal.SIGTERM)
        await eventually(lambda: is_ending(place.state), 60, "it has heard that it is to end")
        again = await place.ctl("up")
    assert again.code == 0, again.err
    assert await place.daemon_pid() != first
    assert (await place.ctl("down", "--agents")).code == 0


async def test_up_shows_what_a_daemon_that_cannot_start_has_said(place: Place, home: Path) -> None:
    bad = home / "bad.toml"
    bad.write_text("[agent.docs]\nfish = 1\n")

    ran = await place.ctl("up", "--config", os.fspath(bad))

    assert (ran.code, ran.out) == (1, "")
    assert "exit code 78" in ran.err
    assert "fish" in ran.err
    assert ran.err.endswith(f"do: phoenixctl config check --config {bad}\n")
    assert oct((place.state / "phoenixd.log").stat().st_mode & 0o777) == "0o600"


@pytest.mark.slow
async def test_up_sends_nobody_to_a_configuration_that_is_in_order(place: Place, home: Path) -> None:
    """The journal of a newer version ends the daemon as a wrong configuration does; its own remedy is what helps."""
    assert (await place.ctl("up")).code == 0
    assert (await place.ctl("down", "--agents")).code == 0
    with closing(sqlite3.connect(place.state / "journal.sqlite3")) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        newer = sealed("meta", SCHEMA_KEY, str(SCHEMA_VERSION + 1))
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", newer)

    ran = await place.ctl("up")

    assert (ran.code, ran.out) == (1, "")
    assert f"this version of phoenixd knows {SCHEMA_VERSION}\n  run the newer version" in ran.err
    assert ran.err.splitlines()[-1].startswith("do: what it says, then: phoenixctl up")
    assert (await place.ctl("config", "check")).code == 0


async def test_config_check_names_file_and_key(place: Place, home: Path) -> None:
    bad = home / "bad.toml"
    bad.write_text("[agent.docs]\nfish = 1\n")

    ran = await place.ctl("config", "check", "--config", os.fspath(bad))

    assert (ran.code, ran.out) == (1, "")
    assert "bad.toml:2" in ran.err
    assert "the configuration cannot be used: 1 error\n" in ran.err, "and how many errors there are"
    assert ran.err.endswith(f"then: phoenixctl config check --config {bad}\n")
    problems = (await place.ctl("config", "check", "--config", os.fspath(bad), "--json")).out
    assert json.loads(problems)["problems"][0]["key"] == "agent.docs.fish"


async def test_up_on_a_full_disk_says_that_it_is_full(place: Place, short_tmp: Path) -> None:
    """The daemon cannot even say so in its log."""
    with small_disk(short_tmp / "disk", "64k") as disk:
        fill(disk)
        ran = await place.ctl("up", "--state-dir", os.fspath(disk), "--runtime-dir", os.fspath(short_tmp / "run"))
    assert ran.code == 1, ran
    assert f"without a word: the disk of {disk} is full" in ran.err
    assert f"do: free space there (df -h {disk}), then: phoenixctl up --state-dir {disk}" in ran.err
