"""Promise 9, inside a run: an agent that obeys what it reads takes over no fleet."""

from __future__ import annotations

import os
import sys
from ast import literal_eval
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.puppet import Puppet
from tests.e2e.test_ownership import PATIENCE, running, tree
from tests.waiting import eventually_sync

pytestmark = pytest.mark.slow
CTL = [sys.executable, "-m", "phoenixd.ctl"]
DAEMON = [sys.executable, "-m", "phoenixd"]


@pytest.fixture
def home(short_tmp: Path) -> Path:
    home = short_tmp / "home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def stage(short_tmp: Path, home: Path) -> Iterator[Stage]:
    """With a home of its own: what an agent starts by default must not land in the home of the user who tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PHOENIX_", "XDG_"))}
    stage = Stage(short_tmp, {**kept, "HOME": str(home)})
    yield stage
    stage.down()


@pytest.fixture
def puppet(stage: Stage) -> Puppet:
    puppet = Puppet(stage.root / "puppet")
    stage.declare("a", f'[agent.a]\nargv = {puppet.argv}\ncwd = "{Path.cwd()}"\n'.replace("'", '"'))
    stage.up()
    running(stage, "a")
    return puppet


def said(puppet: Puppet, argv: Sequence[str], environ: str = "dict(os.environ)") -> tuple[int, str]:
    """Exit code and all that a command said which the agent ran."""
    source = (
        f"import os, subprocess\nasked = {list(argv)!r}\n"
        f"done = subprocess.run(asked, capture_output=True, text=True, env={environ})\n"
        "out = [done.returncode, done.stdout + done.stderr]"
    )
    code, words = literal_eval(puppet.do(source))
    return code, words


def refuses_all(stage: Stage, puppet: Puppet, asked: Sequence[Sequence[str]], starts: Sequence[Sequence[str]]) -> None:
    """While no daemon runs: what the agent reads, and what comes of it when it starts one."""
    for words in asked:
        _, told = said(puppet, [*CTL, *words])
        assert ("phoenixctl up" in told, "ask the operator" in told) == (False, True), (words, told)
    for argv in starts:
        code, told = said(puppet, argv)
        assert (code, "ask the operator" in told) == (6, True), (argv, told)
        assert "phoenixctl up" not in told, (argv, told)


def test_seen_1_an_obedient_agent_cannot_start_a_daemon_and_is_not_told_to(stage: Stage, puppet: Puppet) -> None:
    code, told = said(puppet, [*CTL, "run", "b", "-d", "--", "sleep", "9"])
    assert (code, "ask the operator" in told) == (6, True), told
    assert list(stage.rows()) == ["a"]
    stage.kill()
    eventually_sync(lambda: tree(stage.root) == tree(stage.root), PATIENCE, "nothing is written any more")
    before = tree(stage.root)
    refuses_all(
        stage,
        puppet,
        asked=(["status"], ["doctor"]),
        starts=([*CTL, "up"], [*CTL, "run", "b", "-d", "--", "sleep", "9"], [*CTL, "recover", "--take"], DAEMON),
    )
    # Without a word in its environment the shim is above it all the same.
    bare = "{'PATH': os.environ['PATH'], 'HOME': os.environ['HOME']}"
    assert (
        said(puppet, [*DAEMON, "--state-dir", str(stage.root / "f"), "--runtime-dir", str(stage.runtime)], bare)[0] == 6
    )
    assert tree(stage.root) == before
    stage.up()
    assert stage.row("a")["incarnation"] == 1


def test_seen_1_nor_by_way_of_the_terminal_server_of_the_agents(stage: Stage, puppet: Puppet) -> None:
    stage.kill()
    server, verdict = stage.runtime / "tmux.sock", stage.root / "verdict"
    command = f"env -i PATH=$PATH HOME=$HOME {' '.join(DAEMON)} 2>{verdict}.err; echo $? >{verdict}"
    code, told = said(puppet, ["tmux", "-S", str(server), "new-window", "-d", "-c", str(Path.cwd()), command])
    assert code == 0, told
    eventually_sync(lambda: verdict.exists() and verdict.read_text(), PATIENCE, "it ended")
    assert verdict.read_text() == "6\n", Path(f"{verdict}.err").read_text()


def test_a_daemon_with_both_directories_named_runs_in_a_pane(stage: Stage, puppet: Puppet) -> None:
    """As demos and tests do."""
    inner = stage.root / "i"
    named = ["--state-dir", str(inner / "s"), "--runtime-dir", str(inner / "r")]
    code, told = said(puppet, [*CTL, "up", *named])
    assert code == 0, told
    socket = ["--socket", str(inner / "r" / "api.sock")]
    code, told = said(puppet, [*CTL, *socket, "status"])
    assert code == 0, told
    assert stage.row("a")["state"] == "running"
    code, told = said(puppet, [*CTL, *socket, "down", "--agents"])
    assert code == 0, told


def test_an_environment_variable_alone_decides_nothing(stage: Stage) -> None:
    """A shell that an agent's tmux server left behind has them all, and is outside."""
    outside = stage.environ
    stage.environ = {
        **outside,
        "PHOENIX_AGENT": "a",
        "PHOENIX_RUN_ID": "x" * 16,
        "PHOENIX_STATE_DIR": str(stage.state / "agents/a"),
    }
    gone = stage.ctl("status")
    stage.up(wait=False)
    # Whose rights such a shell has is another matter, and told by the daemon.
    stage.environ = outside
    stage.until("the daemon answers", stage.answers, PATIENCE)
    assert (gone.returncode, "do: correct --socket" in gone.stderr) == (7, True), gone
