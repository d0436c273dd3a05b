"""A remedy, typed as it stands, reaches the daemon that was meant, and never the one of the default places."""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.ctl import wire
from tests.api.conftest import Live
from tests.ctl.conftest import environment
from tests.ctl.forked import run_forked


class Ended:
    """A daemon that has ended, and whose agent lives on: its shim holds the agent's directory."""

    def __init__(self, root: Path) -> None:
        self.state, self.runtime = root / "st2", root / "st2" / "rt"
        agent = self.runtime / "agents" / "docs"
        agent.mkdir(parents=True)
        (self.runtime / "state-dir").write_text(f"{self.state}\n")
        self.socket = self.runtime / "api.sock"
        self.held = os.open(agent, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.held, fcntl.LOCK_EX)

    @property
    def up(self) -> str:
        return f"phoenixctl up --state-dir {self.state} --runtime-dir {self.runtime}"


@pytest.fixture
def ended(short_tmp: Path) -> Iterator[Ended]:
    daemon = Ended(short_tmp)
    yield daemon
    os.close(daemon.held)


async def test_down_agents_below_socket_never_ends_the_agents_of_the_main_daemon(ended: Ended, home: Path) -> None:
    ran = await run_forked("--socket", os.fspath(ended.socket), "down", "--agents", env=environment(home))

    assert ran.err.splitlines()[-1] == f"do: {ended.up} && phoenixctl --socket {ended.socket} down --agents"


@pytest.mark.parametrize("verb", ["status", "down", "inbox"])
async def test_the_daemon_that_socket_names_is_the_one_that_a_remedy_starts(
    ended: Ended, home: Path, verb: str
) -> None:
    ran = await run_forked("--socket", os.fspath(ended.socket), verb, env=environment(home))

    then = f" && phoenixctl --socket {ended.socket} down --agents" if verb == "down" else ""
    before = f"to start phoenixd: {ended.up}; to end the agents as well: " if verb == "down" else ""
    assert (ran.code, ran.err.splitlines()[-1]) == (7, f"do: {before}{ended.up}{then}")


@pytest.mark.parametrize(
    ("name", "value"), [("PHOENIX_SOCKET", "rt/api.sock"), ("PHOENIX_RUNTIME_DIR", "rt"), ("PHOENIX_STATE_DIR", "")]
)
async def test_what_a_remedy_starts_where_the_environment_names_the_daemon(
    ended: Ended, home: Path, name: str, value: str
) -> None:
    """Typed in the same shell."""
    (ended.state / "run").symlink_to(ended.runtime)
    env = environment(home, **{name: os.fspath(ended.state / value)})

    ran = await run_forked("status", env=env)

    words = shlex.split(ran.err.splitlines()[-1].removeprefix("do: "))
    given = dict(zip(words[2::2], words[3::2], strict=True))
    state = given.get("--state-dir") or env.get("PHOENIX_STATE_DIR")
    runtime = given.get("--runtime-dir") or env.get("PHOENIX_RUNTIME_DIR") or ended.state / "run"
    assert words[:2] == ["phoenixctl", "up"]
    assert state == os.fspath(ended.state)
    assert os.path.realpath(runtime) == os.path.realpath(ended.runtime)


async def test_doctor_starts_the_daemon_that_socket_names_and_says_one_thing(ended: Ended, home: Path) -> None:
    there = await run_forked("--socket", os.fspath(ended.socket), "doctor", env=environment(home))
    nowhere = await run_forked("doctor", "--socket", os.fspath(home / "nowhere"), env=environment(home))

    assert f"--state-dir {ended.state}" in " ".join(there.out.split())
    assert "correct --socket" in nowhere.out + nowhere.err
    assert "phoenixctl up" not in nowhere.out + nowhere.err


async def test_the_daemon_is_started_with_the_configuration_that_it_was_told_to_read(ended: Ended, home: Path) -> None:
    (ended.runtime / "configuration").write_text("/etc/mine.toml\n")

    ran = await run_forked("--socket", os.fspath(ended.socket), "status", env=environment(home))

    assert ran.err.splitlines()[-1] == f"do: {ended.up} --config /etc/mine.toml"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
async def test_a_refusal_of_the_daemon_that_socket_names_sends_nobody_to_another_one(
    live: Live, home: Path, as_json: tuple[str, ...]
) -> None:
    ran = await run_forked("--socket", os.fspath(live.socket), "start", "nobody", *as_json, env=environment(home))

    remedy = ran.err.splitlines()[-1]
    assert remedy.startswith(f"do: phoenixctl --socket {live.socket} ")


def test_only_commands_that_ask_a_daemon_are_told_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire._Shown, "socket", "/x y/api.sock")

    assert wire.reaching(b"phoenixctl up --state-dir /x && phoenixctl down") == (
        b"phoenixctl up --state-dir /x && phoenixctl --socket '/x y/api.sock' down"
    )
    assert wire.reaching(b"phoenixctl send docs hi --socket /z") == b"phoenixctl send docs hi --socket /z"


async def test_a_loop_that_is_not_there_is_looked_for_in_the_daemon_that_socket_names(ended: Ended, home: Path) -> None:
    (ended.state / "phoenixd.lock").touch()
    words = ("--socket", os.fspath(ended.socket), "resolve", "x", "why")

    ran = await run_forked(*words, env=environment(home))

    assert ran.err.splitlines()[-1] == f"do: {ended.up} && phoenixctl --socket {ended.socket} loops"


async def test_doctor_without_a_daemon_names_the_socket_in_each_of_its_commands(ended: Ended, home: Path) -> None:
    ran = await run_forked("--socket", os.fspath(ended.socket), "doctor", env=environment(home))

    assert ran.out.splitlines()[-1].endswith(f"see: phoenixctl --socket {ended.socket} doctor --all")


@pytest.mark.parametrize("name", ["--socket", "PHOENIX_SOCKET"])
async def test_up_with_the_socket_of_another_daemon_alone_names_what_starts_that(
    ended: Ended, home: Path, name: str
) -> None:
    there = os.fspath(ended.socket)
    words, more = (["--socket", there], {}) if name == "--socket" else ([], {"PHOENIX_SOCKET": there})

    ran = await run_forked(*words, "up", env=environment(home, **more))

    assert (ran.code, ran.err.splitlines()[-1]) == (6, f"do: {ended.up}")
    assert f"keeps another state directory than {home}/.local/state/phoenixd" in ran.err


async def test_phase_init_leads_on_to_the_same_project_of_the_same_daemon(ended: Ended, home: Path) -> None:
    (home / "shop").mkdir()
    place = ("--project", "shop", "--workspace", os.fspath(home / "shop"))

    ran = await run_forked(
        "phase", "init", "--standard", *place, "--socket", os.fspath(ended.socket), env=environment(home)
    )

    see = f"see: phoenixctl --socket {ended.socket} phase list {shlex.join(place)}"
    assert ran.out.splitlines()[-1] == see


@pytest.mark.parametrize("name", ["--socket", "PHOENIX_SOCKET"])
async def test_config_reads_the_files_of_the_daemon_that_is_named(ended: Ended, home: Path, name: str) -> None:
    there = os.fspath(ended.socket)
    words, more = (["--socket", there], {}) if name == "--socket" else ([], {"PHOENIX_SOCKET": there})
    (ended.runtime / "configuration").write_text(os.fspath(ended.state / "its.toml"))
    (ended.state / "its.toml").write_text('[daemon]\nlog_level = "loud"\n')
    (ended.state / "agents.d").mkdir()
    (ended.state / "agents.d" / "late.toml").write_text('[agent.late]\nargv = ["true"]\ncwd = "/"\n')

    checked = await run_forked(*words, "config", "check", env=environment(home, **more))
    shown = await run_forked(*words, "config", "show", env=environment(home, **more))

    assert (checked.code, shown.code) == (1, 1)
    assert f"{ended.state}/its.toml:2" in checked.err
    assert f"{ended.state}/agents.d/late.toml" in shown.out
    again = f"phoenixctl --socket {there} config check" if words else "phoenixctl config check"
    assert checked.err.splitlines()[-1] == f"do: fix these, then: {again}"


async def test_config_says_whose_files_it_reads_where_those_of_the_socket_are_not_known(home: Path) -> None:
    ran = await run_forked("config", "check", "--socket", "/nowhere/api.sock", env=environment(home))

    why = "nothing tells which directories the phoenixd of /nowhere/api.sock has"
    assert (ran.code, ran.err) == (0, f"{why}: this is the configuration for {home}/.local/state/phoenixd\n")
