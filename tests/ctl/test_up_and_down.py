"""up, run and down with the real daemon: it outlives the terminal that started it, and the agents outlive it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ctl.conftest import Ran, environment, run_ctl
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
        return await run_ctl(*arguments, env=self.env)

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
    return "No shim is alive" in (await place.ctl("status")).err


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
    assert "1 shim is alive: your agent runs on." in gone.err
    assert _has_ended(daemon)
    os.kill(agent["pid"], 0)

    again = await place.ctl("up")
    assert again.code == 0, again.err
    same = (await place.ctl("status", "docs", "--json")).json["agents"][0]
    assert (same["pid"], same["incarnation"]) == (agent["pid"], agent["incarnation"])
    assert (await place.ctl("down", "--agents")).code == 0
    await eventually(lambda: _nobody_is_left(place), 20, "the shims leave")


def _has_ended(pid: int) -> bool:
    """Gone, or dead and not yet reaped by whoever is its parent now."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def _runs(place: Place) -> bool:
    return bool((await place.ctl("wait", "docs", "--for", "running", "--timeout", "1")).code == 0)


async def test_up_shows_what_a_daemon_that_cannot_start_has_said(place: Place, home: Path) -> None:
    bad = home / "bad.toml"
    bad.write_text("[agent.docs]\nfish = 1\n")

    ran = await place.ctl("up", "--config", os.fspath(bad))

    assert (ran.code, ran.out) == (1, "")
    assert "exit code 78" in ran.err
    assert "fish" in ran.err
    assert "do: phoenixctl config check" in ran.err
    assert oct((place.state / "phoenixd.log").stat().st_mode & 0o777) == "0o600"


async def test_config_check_names_file_and_key(place: Place, home: Path) -> None:
    bad = home / "bad.toml"
    bad.write_text("[agent.docs]\nfish = 1\n")

    ran = await place.ctl("config", "check", "--config", os.fspath(bad))

    assert (ran.code, ran.out) == (1, "")
    assert "bad.toml:2" in ran.err
    problems = (await place.ctl("config", "check", "--config", os.fspath(bad), "--json")).out
    assert json.loads(problems)["problems"][0]["key"] == "agent.docs.fish"
