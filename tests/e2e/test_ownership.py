"""Promise 9: one daemon owns a state directory and a runtime directory, and owns them before it touches anything."""

from __future__ import annotations

import json
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
    argv = [sys.executable, "-m", "phoenixd", "--state-dir", str(state), "--runtime-dir", str(runtime)]
    env = {**os.environ, "XDG_CONFIG_HOME": str(state.parent / "config"), **environ}
    return Stage.run(argv, capture_output=True, text=True, check=False, input=None, env=env)


def test_promise_9_the_loser_of_either_directory_changes_nothing_and_names_the_owner(stage: Stage) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    assert stage.process is not None
    other = stage.root / "other"
    other.mkdir(mode=0o755)
    (other / "agents.d").mkdir()
    (other / "agents.d" / "a.toml").write_text('[agent.a]\nargv = ["sleep", "100000"]\ncwd = "/"\n')
    # The owner hangs: it neither writes nor answers, and owns all the same. So it does without its lock files.
    stage.process.send_signal(signal.SIGSTOP)
    try:
        for is_named, places in (
            (True, ((other, stage.runtime), (stage.state, stage.runtime))),
            (False, ((stage.root / "missing", stage.runtime), (stage.state, stage.root / "elsewhere"))),
        ):
            before = tree(stage.root)
            for state, runtime in places:
                lost = phoenixd(state, runtime)
                assert lost.returncode == 6, lost
                assert "Traceback" not in lost.stderr
                assert str(stage.state) in lost.stderr
                assert not is_named or f"pid {stage.process.pid}" in lost.stderr
            assert tree(stage.root) == before
            for directory in (stage.state, stage.runtime):
                (directory / "phoenixd.lock").unlink(missing_ok=True)
    finally:
        stage.process.send_signal(signal.SIGCONT)
    assert {name: stage.row(name)["pid"] for name in pids} == pids
    assert all(len(incarnations(stage.root, name)) == 1 for name in pids)


def test_promise_9_both_are_free_after_kill_9_of_a_daemon_that_started_tmux_but_for_strangers(stage: Stage) -> None:
    """A runtime directory belongs to one state directory as long as a shim below it lives."""
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    asked = ["tmux", "-N", "-S", str(stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
    server = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    assert is_locked(str(stage.state))
    assert is_locked(str(stage.runtime))
    stage.kill()
    os.kill(server, 0)
    assert not is_locked(str(stage.state))
    assert not is_locked(str(stage.runtime))

    other = stage.root / "other"
    other.mkdir(mode=0o700)
    eventually_sync(lambda: tree(stage.root) == tree(stage.root), PATIENCE, "nothing is written any more")
    before = tree(stage.root)
    for lost in (
        phoenixd(other, stage.runtime),
        stage.ctl("up", "--state-dir", str(stage.root / "missing"), "--runtime-dir", str(stage.runtime)),
    ):
        assert lost.returncode == 6, lost
        assert str(stage.state) in lost.stderr
        assert "a, b" in lost.stderr
        assert " recover --take --state-dir " in lost.stderr
    lost = phoenixd(stage.state, stage.root / "elsewhere")
    assert (lost.returncode, f"--runtime-dir {stage.runtime}" in lost.stderr) == (6, True), lost
    assert tree(stage.root) == before
    stage.up()
    assert running(stage, "a", "b") == pids


def test_promise_9_a_copied_state_directory_touches_no_agent_and_a_moved_one_keeps_its_own(stage: Stage) -> None:
    declare(stage, "a", "b")
    stage.up()
    pids = running(stage, "a", "b")
    stage.kill()
    eventually_sync(lambda: tree(stage.root) == tree(stage.root), PATIENCE, "nothing is written any more")
    copy = stage.root / "copy"
    shutil.copytree(stage.state, copy)
    before = tree(stage.root)
    for runtime in (stage.root / "elsewhere", stage.runtime):
        lost = phoenixd(copy, runtime)
        assert lost.returncode == 6, lost
        assert f"is a copy of {stage.state}" in lost.stderr
    assert tree(stage.root) == before
    shutil.rmtree(copy)
    stage.state = stage.state.rename(stage.root / "moved")
    stage.up()
    assert running(stage, "a", "b") == pids
    os.kill(pids["a"], signal.SIGKILL)
    assert running(stage, "a", incarnation=2)
    assert len(incarnations(stage.root, "a")) == 1
    assert stage.ctl("stop", "b").returncode == 0
    eventually_sync(lambda: not Path(f"/proc/{pids['b']}").exists(), PATIENCE, "b ends")


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


REPORTS = """
import os, subprocess, sys
def report(event):
    subprocess.run([os.environ["PHOENIX_HOOK"], event], input=b"{}", check=True, stdout=subprocess.DEVNULL)
report("session-start")
for line in sys.stdin:
    report("prompt-submit")
    report("stop")
"""


def test_promise_9_an_agent_of_a_moved_state_directory_is_heard_again_from_its_next_start_on(stage: Stage) -> None:
    """The runtime directory lies in the state directory by default, and moves with it: shims know the old path."""
    stage.runtime.rmdir()
    stage.runtime = stage.state / "run"
    argv = [sys.executable, "-c", REPORTS]
    stage.declare("a", f'[agent.a]\nargv = {json.dumps(argv)}\ncwd = "/"\n')
    stage.up()
    pid = running(stage, "a")["a"]
    assert stage.ctl("send", "a", "before").returncode == 0
    old = stage.state
    stage.kill()
    stage.state = old.rename(stage.root / "moved")
    stage.runtime = stage.state / "run"
    stage.up()
    assert running(stage, "a")["a"] == pid, "it lives on"
    (found,) = [one for one in json.loads(stage.ctl("doctor", "--json").stdout)["findings"] if "moved" in one["title"]]
    assert found["remedy"] == f"ln -s {stage.state} {old}"
    subprocess.run(["sh", "-c", found["remedy"]], check=True)
    assert "moved" not in stage.ctl("doctor", "--json").stdout
    assert stage.ctl("send", "a", "over the link").returncode == 0
    old.unlink()
    stage.ask("restart", "a")
    running(stage, "a", incarnation=2)
    sent = stage.ctl("send", "a", "after")
    assert sent.returncode == 0, sent
    assert not old.exists()
    assert len(incarnations(stage.root, "a")) == 1
    assert "moved" not in stage.ctl("doctor", "--json").stdout
