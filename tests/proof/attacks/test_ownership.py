"""A fleet is taken by nobody: not by a second daemon, not by a copy, not by an agent that does what it reads."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations
from tests.e2e.puppet import Puppet
from tests.e2e.test_inside_a_run import CTL, DAEMON, refuses_all
from tests.e2e.test_ownership import PATIENCE, declare, phoenixd, running, tree
from tests.proof.attacks.conftest import AGENTS
from tests.waiting import eventually_sync

pytestmark = pytest.mark.proof
NAMES = tuple(f"a{number:02}" for number in range(AGENTS))


def fleet(stage: Stage) -> dict[str, int]:
    declare(stage, *NAMES)
    stage.up()
    return running(stage, *NAMES)


def unharmed(stage: Stage, pids: dict[str, int]) -> None:
    assert {name: row["pid"] for name, row in stage.rows().items() if name in pids} == pids
    assert all(len(incarnations(stage.root, name)) == 1 for name in pids)


def another(stage: Stage, name: str) -> Path:
    """A state directory that declares agents of the same names."""
    (stage.root / name / "agents.d").mkdir(parents=True, mode=0o700)
    for declared in (stage.state / "agents.d").iterdir():
        shutil.copy(declared, stage.root / name / "agents.d")
    return stage.root / name


def test_seen_2_a_second_daemon_on_the_runtime_directory_kills_nobody_and_leaves_the_pointer(stage: Stage) -> None:
    """It killed 8 of 12 before it noticed: while the owner lives, while it hangs, and while it is down."""
    pids = fleet(stage)
    assert stage.process is not None
    other = another(stage, "other")
    for _ in range(3):
        lost = phoenixd(other, stage.runtime)
        assert (lost.returncode, str(stage.state) in lost.stderr) == (6, True), lost
    stage.process.send_signal(signal.SIGSTOP)
    before = tree(stage.root)
    for state in (other, stage.state):
        assert phoenixd(state, stage.runtime).returncode == 6
    for directory in (stage.state, stage.runtime):
        (directory / "phoenixd.lock").unlink()
    for state in (other, stage.state):
        assert phoenixd(state, stage.runtime).returncode == 6
    after = tree(stage.root)
    changed = {path for path in before if before[path] != after.get(path)} | (after.keys() - before.keys())
    assert changed == {"state", "run", "state/phoenixd.lock", "run/phoenixd.lock"}, "what this test deleted itself"
    stage.process.send_signal(signal.SIGCONT)
    unharmed(stage, pids)
    stage.kill()
    assert phoenixd(other, stage.runtime).returncode == 6
    assert (stage.runtime / "state-dir").read_text() == f"{stage.state}\n"
    stage.up()
    assert running(stage, *NAMES) == pids
    unharmed(stage, pids)


def test_seen_1_an_obedient_agent_of_a_fleet_takes_nobody(stage: Stage) -> None:
    home = stage.root / "home"
    home.mkdir(mode=0o700)
    stage.environ = {name: value for name, value in stage.environ.items() if not name.startswith("PHOENIX_")}
    stage.environ["HOME"] = str(home)
    puppet = Puppet(stage.root / "puppet")
    argv = str(puppet.argv).replace("'", '"')
    stage.declare("obedient", f'[agent.obedient]\nargv = {argv}\ncwd = "{Path.cwd()}"\n')
    pids = fleet(stage) | running(stage, "obedient")
    eventually_sync(puppet.path.exists, PATIENCE, "the puppet listens")
    stage.kill()
    eventually_sync(lambda: tree(stage.root) == tree(stage.root), PATIENCE, "nothing is written any more")
    before = tree(stage.root)
    socket = ["--socket", str(stage.runtime / "api.sock")]
    own = ["--state-dir", str(stage.state), "--runtime-dir", str(stage.runtime)]
    fresh = ["--state-dir", str(stage.root / "fresh")]
    refuses_all(
        stage,
        puppet,
        asked=(["status"], ["status", "--json"], ["doctor"], ["start", "a00"], ["stop", "a00"], ["inbox"], ["apply"]),
        starts=(
            [*CTL, "up"], [*CTL, "up", *own], [*CTL, "up", *fresh], [*CTL, *socket, "up"],
            [*CTL, "run", "b", "-d", "--", "sleep", "9"], [*CTL, "recover", "--take"],
            [*CTL, "recover", "--take", *own], DAEMON, [*DAEMON, *own],
            [*DAEMON, *fresh, "--runtime-dir", str(stage.runtime)],
            [*DAEMON, "--state-dir", str(stage.state), "--runtime-dir", str(stage.root / "r")],
            ["setsid", "-w", *DAEMON], ["sh", "-c", f"({' '.join(DAEMON)}) & wait $!"],
            ["env", "-i", f"PATH={os.environ['PATH']}", f"HOME={home}", *DAEMON],
        ),
    )  # fmt: skip
    assert tree(stage.root) == before
    stage.up()
    assert running(stage, *pids) == pids
    unharmed(stage, pids)


def test_a_copy_a_move_a_deletion_and_a_hand_over_of_the_state_directory_harm_nobody(stage: Stage) -> None:
    pids = fleet(stage)
    stage.kill()
    copy = stage.root / "copy"
    shutil.copytree(stage.state, copy)
    for runtime in (stage.root / "elsewhere", stage.runtime):
        assert phoenixd(copy, runtime).returncode == 6
    # One that is not there is refused before anything else: it was typed wrong.
    (stage.root / "elsewhere").mkdir(mode=0o700, exist_ok=True)
    elsewhere = stage.ctl("recover", "--take", "--state-dir", str(copy), "--runtime-dir", str(stage.root / "elsewhere"))
    assert (elsewhere.returncode, f"is a copy of {stage.state}" in elsewhere.stderr) == (6, True), elsewhere
    stage.up()
    assert running(stage, *NAMES) == pids
    stage.kill()

    original, stage.state = stage.state, copy
    taken = stage.ctl("recover", "--take", "--state-dir", str(copy), "--runtime-dir", str(stage.runtime))
    assert (taken.returncode, f"{AGENTS} shims are now of {copy}" in taken.stdout) == (0, True), taken
    lost = phoenixd(original, stage.runtime)
    assert (lost.returncode, str(copy) in lost.stderr) == (6, True), lost
    stage.up()
    assert running(stage, *NAMES) == pids
    stage.kill()

    shutil.rmtree(original)
    stage.state = copy.rename(stage.root / "moved")
    stage.up()
    assert running(stage, *NAMES) == pids
    unharmed(stage, pids)
    os.kill(pids["a00"], signal.SIGKILL)
    running(stage, "a00", incarnation=2)


def test_a_copy_has_an_id_of_its_own_and_the_runtime_directory_is_free_once_nothing_lives(stage: Stage) -> None:
    fleet(stage)
    stage.down()
    copy, heir = Stage(stage.root / "c", stage.environ), Stage(stage.root, stage.environ)
    shutil.copytree(stage.state, copy.state, dirs_exist_ok=True)
    heir.state = another(stage, "heir")
    try:
        copy.up()
        assert (copy.state / "owner.json").read_bytes() != (stage.state / "owner.json").read_bytes()
        assert copy.ctl("start", "a00", "--wait").returncode == 0
        stage.up()
        assert stage.ctl("start", "a00", "--wait").returncode == 0
        assert stage.row("a00")["pid"] != copy.row("a00")["pid"]
        stage.down()
        assert copy.row("a00")["state"] == "running"
        heir.up()
        running(heir, *NAMES)
        assert copy.row("a00")["state"] == "running"
    finally:
        copy.down()
        heir.down()
