"""A daemon that begins warm is what `python -m` would have started; where it cannot be, it begins cold."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests import warm
from tests.e2e.conftest import stage as stage
from tests.waiting import eventually_sync

# As a module of a directory of its own: what it says of itself is read from its standard output.
SAYS = """
import json, os, signal, sys
from pathlib import Path
own = Path("/proc/self/cmdline").read_bytes().rstrip(b"\\0").decode().split("\\0")
print(json.dumps({
    "argv": sys.argv[1:], "name": __name__, "cwd": os.getcwd(), "session": os.getsid(0) == os.getpid(),
    "environ": dict(os.environ), "umask": os.umask(0), "line": own,
    "files": [n for n in range(3, 100) if Path(f"/proc/self/fd/{n}").exists()],
    "input": sys.stdin.read(), "pid": os.getpid(),
}), flush=True)
if sys.argv[1:] == ["wait"]:
    signal.pause()
sys.exit(7)
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "says.py").write_text(SAYS)
    return tmp_path


def begin(popen: Any, module: Path, *words: str, **environ: str) -> Any:
    with (module / "out").open("wb") as out:
        return popen(
            [sys.executable, "-m", "says", *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, **environ},
            cwd=module,
        )


def said(module: Path) -> Mapping[str, Any]:
    told: dict[str, Any] = json.loads((module / "out").read_text())
    return told


def test_a_warm_process_is_what_a_cold_one_is_but_for_its_pid(module: Path) -> None:
    assert begin(warm.popen, module).wait(60) == 7, "what forks has the umask of its own start"
    before = os.umask(0o027)
    try:
        seen = []
        for popen in (subprocess.Popen, warm.popen):
            process = begin(popen, module, "a", "b c", ROOM="here")
            assert process.wait(60) == 7, (module / "out").read_text()
            seen.append(dict(said(module)))
    finally:
        os.umask(before)
    assert isinstance(process, warm.Forked)
    assert seen[1]["pid"] == process.pid
    del seen[0]["pid"], seen[1]["pid"]
    assert seen[1] == seen[0]


def test_a_signal_ends_it_and_its_code_says_so(module: Path) -> None:
    process = begin(warm.popen, module, "wait")
    eventually_sync(lambda: (module / "out").read_text().endswith("\n"), what="it waits")
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    process.kill()
    assert process.wait(60) == process.returncode == -signal.SIGKILL
    process.kill()


ENDS = """
import atexit, sys, threading, time
def late():
    time.sleep(0.2)
    print("the thread")
atexit.register(print, "at exit")
threading.Thread(target=late).start()
code = {"none": None, "words": "its last words", "big": 300}
if sys.argv[1] == "raises":
    raise ValueError("so")
if sys.argv[1] != "returns":
    sys.exit(code[sys.argv[1]])
"""


@pytest.mark.parametrize("how", ["returns", "none", "words", "big", "raises"])
def test_a_warm_process_ends_as_a_cold_one_does(module: Path, how: str) -> None:
    (module / "says.py").write_text(ENDS)
    ended = []
    for popen in (subprocess.Popen, warm.popen):
        code = begin(popen, module, how).wait(60)
        ended.append((code, (module / "out").read_text().splitlines()[-3:]))
    assert ended[1] == ended[0]
    assert {"the thread", "at exit"} <= set(ended[1][1])


def test_the_first_shim_of_a_warm_daemon_has_nothing_to_compile(stage: Stage) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.up()
    assert isinstance(stage.process, warm.Forked)
    (copy,) = (stage.state / "lib").glob("*/shim")
    compiled = {path: path.stat().st_mtime_ns for path in (copy / "__pycache__").iterdir()}
    assert {cache_from_source(str(path)) for path in copy.glob("*.py")} == set(map(str, compiled))

    stage.until_running("a", 1)

    assert {path: path.stat().st_mtime_ns for path in (copy / "__pycache__").iterdir()} == compiled


def test_what_only_a_start_of_the_interpreter_reads_begins_cold(module: Path) -> None:
    process = begin(warm.popen, module, PYTHONHASHSEED="1")
    assert isinstance(process, subprocess.Popen)
    assert process.wait(60) == 7


def test_two_at_once_are_told_apart(module: Path) -> None:
    waits, ends = begin(warm.popen, module, "wait"), begin(warm.popen, module)
    try:
        assert ends.wait(60) == 7
        assert waits.poll() is None
    finally:
        waits.terminate()
    assert waits.wait(60) == -signal.SIGTERM


def test_what_runs_to_its_end_gives_the_code_and_the_words_of_a_cold_one(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(module)
    given: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "check": False,
        "input": "héllo\n",
        "env": {**os.environ},
    }
    cold, hot = (run([sys.executable, "-m", "says", "a"], **given) for run in (subprocess.run, warm.run))

    assert (hot.returncode, hot.stderr) == (cold.returncode, cold.stderr) == (7, "")
    told = [json.loads(done.stdout) for done in (cold, hot)]
    assert told[0]["input"] == told[1]["input"] == "héllo\n"
    assert [one["line"] for one in told[1:]] == [one["line"] for one in told[:1]]


def test_a_worker_has_a_fork_of_what_its_parent_has_begun(module: Path) -> None:
    warm.prepare()
    ours = {one._process.pid for one in warm._both if one._process is not None}
    pid = os.fork()
    if pid == 0:
        try:
            codes = [begin(warm.popen, module).wait(60) for _ in range(3)]
            own = [one._process for one in warm._both]
            os._exit(0 if (codes, own) == ([7, 7, 7], [None, None]) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert begin(warm.popen, module).wait(60) == 7, "its parent's still forks for its parent"
    assert ours == {one._process.pid for one in warm._both if one._process is not None}


def test_a_daemon_ends_when_the_tests_that_began_it_were_killed(module: Path) -> None:
    trunk = warm.Forker()
    worker = warm.Forker(trunk)
    with (module / "out").open("wb") as out:
        line, files = [sys.executable, "-m", "says", "wait"], [out.fileno(), out.fileno()]
        ours, theirs = (one.fork(line, files, {**os.environ}, os.fspath(module)) for one in (trunk, worker))
    assert ours._pidfd is not None
    assert theirs._pidfd is not None

    worker._link.close()  # As the kernel does at a kill.

    assert select.select([theirs._pidfd], [], [], 60)[0]
    assert ours.poll() is None, "those of other workers go on"
    trunk._link.close()
    assert select.select([ours._pidfd], [], [], 60)[0]
