"""Promise 9: one daemon owns a state directory and a runtime directory, and owns them before it touches anything."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.runs import is_locked
from tests.e2e.census import incarnations
from tests.waiting import eventually_sync

pytestmark = pytest.mark.slow
PATIENCE = 60.0


def declare(stage: Stage, *names: str) -> None:
    for name in names:
        stage.declare(name, f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n')


def running(stage: Stage, *names: str, incarnation: int = 1) -> dict[str, int]:
    return {name: stage.until_running(name, incarnation, patience=PATIENCE)["pid"] for name in names}


def tree(root: Path) -> dict[str, object]:
    """All that a directory holds: kinds, sizes, contents and times to the nanosecond."""
    found: dict[str, object] = {}
    for path in (root, *sorted(root.rglob("*"))):
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path.relative_to(root))] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, content)
    return found


def phoenixd(state: Path, runtime: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """A daemon that must end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "phoenixd", "--state-dir", str(state), "--runtime-dir", str(runtime)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "XDG_CONFIG_HOME": str(state.parent / "config"), **environ},
    )


def test_promise_9_the_loser_of_a_runtime_directory_changes_nothing_and_names_the_owner(stage: Stage) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    assert stage.process is not None
    other = stage.root / "other"
    other.mkdir(mode=0o755)
    (other / "agents.d").mkdir()
    (other / "agents.d" / "a.toml").write_text('[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    # The owner hangs: it neither writes nor answers, and owns all the same.
    stage.process.send_signal(signal.SIGSTOP)
    try:
        before = tree(stage.root)
        for state in (other, stage.root / "missing"):
            lost = phoenixd(state, stage.runtime)
            assert lost.returncode == 6, lost
            assert "Traceback" not in lost.stderr
            assert f"pid {stage.process.pid}" in lost.stderr
            assert str(stage.state) in lost.stderr
        assert tree(stage.root) == before
    finally:
        stage.process.send_signal(signal.SIGCONT)
    assert {name: stage.row(name)["pid"] for name in pids} == pids
    assert all(len(incarnations(stage.root, name)) == 1 for name in pids)


def test_promise_9_a_state_directory_is_owned_though_its_lock_file_is_deleted(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    running(stage, "a")
    assert stage.process is not None
    stage.process.send_signal(signal.SIGSTOP)
    try:
        (stage.state / "phoenixd.lock").unlink()
        before = tree(stage.root)
        for runtime in (stage.runtime, stage.root / "elsewhere"):
            lost = phoenixd(stage.state, runtime)
            assert lost.returncode == 6, lost
            assert str(stage.state) in lost.stderr
        assert tree(stage.root) == before
    finally:
        stage.process.send_signal(signal.SIGCONT)


def test_promise_9_both_directories_are_free_after_a_kill_9_of_a_daemon_that_had_started_tmux(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    pids = running(stage, "a")
    server = int(
        subprocess.run(
            ["tmux", "-N", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert is_locked(str(stage.state))
    assert is_locked(str(stage.runtime))
    stage.kill()
    os.kill(server, 0)
    assert not is_locked(str(stage.state))
    assert not is_locked(str(stage.runtime))
    stage.up()
    assert running(stage, "a") == pids


def test_promise_9_a_runtime_directory_belongs_to_one_state_directory_as_long_as_a_shim_of_its_lives(
    stage: Stage,
) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    stage.kill()
    other = stage.root / "other"
    other.mkdir(mode=0o700)
    eventually_sync(lambda: tree(stage.root) == tree(stage.root), PATIENCE, "nothing is written any more")
    before = tree(stage.root)
    lost = phoenixd(other, stage.runtime)
    assert lost.returncode == 6, lost
    assert str(stage.state) in lost.stderr
    assert "a, b" in lost.stderr
    assert "phoenixctl recover --take" in lost.stderr
    assert tree(stage.root) == before
    stage.up()
    assert running(stage, "a", "b") == pids


def test_promise_9_without_a_living_shim_the_runtime_directory_is_free(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    running(stage, "a")
    stage.down()
    heir = Stage(stage.root, stage.environ)
    heir.state = stage.root / "heir"
    (heir.state / "agents.d").mkdir(parents=True, mode=0o700)
    declare(heir, "a")
    try:
        heir.up()
        running(heir, "a")
    finally:
        heir.down()


def test_promise_9_a_state_directory_that_was_moved_keeps_its_agents(stage: Stage) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    stage.kill()
    moved = stage.root / "moved"
    stage.state.rename(moved)
    stage.state = moved
    stage.up()
    assert running(stage, "a", "b") == pids
    os.kill(pids["a"], signal.SIGKILL)
    assert running(stage, "a", incarnation=2)
    assert len(incarnations(stage.root, "a")) == 1
    assert stage.ctl("stop", "b").returncode == 0
    eventually_sync(lambda: not Path(f"/proc/{pids['b']}").exists(), PATIENCE, "b ends")


def test_promise_9_a_copy_of_a_state_directory_touches_no_agent_of_the_original(stage: Stage) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    stage.kill()
    copy = stage.root / "copy"
    shutil.copytree(stage.state, copy)
    before = tree(stage.root)
    for runtime in (stage.root / "elsewhere", stage.runtime):
        lost = phoenixd(copy, runtime)
        assert lost.returncode == 6, lost
        assert f"is a copy of {stage.state}" in lost.stderr
    assert tree(stage.root) == before
    stage.up()
    assert running(stage, "a", "b") == pids
    lost = phoenixd(copy, stage.root / "elsewhere")
    assert lost.returncode == 6, lost
    assert {name: stage.row(name)["pid"] for name in pids} == pids


def test_promise_9_a_copy_has_an_id_of_its_own_once_nothing_of_the_original_lives(stage: Stage) -> None:
    declare(stage, "a")
    stage.up()
    running(stage, "a")
    stage.down()
    copy = Stage(stage.root / "c", stage.environ)
    shutil.copytree(stage.state, copy.state, dirs_exist_ok=True)
    try:
        copy.up()
        assert (copy.state / "owner.json").read_bytes() != (stage.state / "owner.json").read_bytes()
        assert copy.ctl("start", "a", "--wait").returncode == 0
        stage.up()
        assert stage.ctl("start", "a", "--wait").returncode == 0
        assert len({stage.row("a")["pid"], copy.row("a")["pid"]}) == 2
        stage.kill()
        stage.up()
        assert copy.row("a")["state"] == "running"
    finally:
        copy.down()


def test_promise_9_recover_take_hands_living_shims_over_and_they_obey_nobody_else(stage: Stage) -> None:
    """A state directory that was deleted, beside a runtime directory that was not."""
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    busy = stage.ctl("recover", "--take", "--state-dir", str(stage.root / "n"), "--runtime-dir", str(stage.runtime))
    assert (busy.returncode, str(stage.process.pid if stage.process else "") in busy.stderr) == (6, True), busy
    stage.kill()
    shutil.rmtree(stage.state)
    heir = Stage(stage.root, stage.environ)
    assert phoenixd(heir.state, heir.runtime).returncode == 6
    taken = heir.ctl("recover", "--take", "--state-dir", str(heir.state), "--runtime-dir", str(heir.runtime))
    assert taken.returncode == 0, taken
    assert "a, b: 2 shims are now of" in taken.stdout
    assert {pid for pid in pids.values() if Path(f"/proc/{pid}").exists()} == set(pids.values())
    lost = phoenixd(heir.root / "third", heir.runtime)
    assert lost.returncode == 6, lost
    heir.up()
    try:
        assert heir.ctl("status").returncode == 0
        assert {pid for pid in pids.values() if Path(f"/proc/{pid}").exists()} == set(pids.values())
    finally:
        stage.process = heir.process
