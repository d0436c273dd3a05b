"""`./dev test -n N`: nothing that a worker finds, or dies of, is lost on the way to the report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.report import Run, read_run

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import pytest
from tests import workers

def pytest_addoption(parser): workers.add_option(parser)
def pytest_addhooks(pluginmanager): pluginmanager.add_hookspecs(workers.Hooks)
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session): return workers.share(session)
"""
VERDICTS = """
import os, pytest, signal, threading
@pytest.fixture
def broken():
    yield
    raise OSError("at its end")
def test_passes(): print("said by the one that passes")
def test_fails():
    print("said by the one that fails")
    assert 1 == 2
def test_is_skipped(): pytest.skip("not run: no wool")
def test_clears_up_badly(broken): pass
def test_kills_its_worker(): os.kill(os.getpid(), signal.SIGKILL)
def test_comes_after_it(): pass
@pytest.mark.timeout(1)
def test_hangs(): threading.Event().wait()
def test_comes_last(tmp_path): (tmp_path / "a").touch()
"""
SHARED = """
import os, pytest
from pathlib import Path
@pytest.fixture(scope="session")
def once(): note("begins"); yield; note("is over")
@pytest.fixture(scope="module")
def of_module(): note("module begins"); yield; note("module is over")
def note(text):
    with Path(os.environ["NOTES"]).open("a") as notes: notes.write(f"{os.getpid()} {text}\\n")
def test_a(once, of_module): note("a")
def test_b(once, of_module): note("b")
"""

DIES_OF_ITS_END = """
import os, pytest, signal
@pytest.fixture
def deadly():
    yield
    os.kill(os.getpid(), signal.SIGKILL)
def test_fails_and_dies(deadly): assert "found" == "before it died"
"""
SENDS_HALF = """
import os, signal, threading
def test_sends_half():
    # Kills this worker while its report, which no pipe holds at once, is on its way.
    parent = os.getppid()
    os.kill(parent, signal.SIGSTOP)
    if os.fork() == 0:
        worker = os.getppid()
        threading.Event().wait(3)
        os.kill(worker, signal.SIGKILL)
        os.kill(parent, signal.SIGCONT)
        os._exit(0)
    raise AssertionError("x" * 4_000_000)
def test_comes_after_it(): pass
"""
LEAVES_A_CHILD = """
import os, signal, threading, time
from pathlib import Path
NOTES = Path(os.environ["NOTES"])
def test_leaves_a_child():
    if os.fork() == 0:
        deadline = time.monotonic() + 60
        while not NOTES.exists() and time.monotonic() < deadline: threading.Event().wait(0.02)
        if not NOTES.exists(): NOTES.with_name("alone").touch()
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
def test_comes_after_it(): NOTES.touch()
"""
LEAVES = """
import builtins, gc, weakref
class Left: pass
def test_leaves():
    lost = Left()
    lost.itself = lost
    builtins.kept_by_tests, builtins.lost_by_tests = Left(), weakref.ref(lost)
"""
LOOKS = """
import builtins, gc
def test_looks():
    assert builtins.kept_by_tests not in [one for one in gc.get_objects() if type(one).__name__ == "Left"]
    assert builtins.lost_by_tests() is None
"""
STOPS = """
import os, time
from pathlib import Path
def test_fails():
    while not Path(os.environ["NOTES"]).exists(): time.sleep(0.01)
    assert 0
"""
WAITS = """
import os, pytest, threading
from pathlib import Path
@pytest.fixture
def notes():
    path = Path(os.environ["NOTES"])
    path.touch()
    yield
    path.write_text("cleared")
def test_waits(notes): threading.Event().wait()
"""


class Suite:
    """A suite of its own, with the workers of this one."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.report = directory, directory / "report.xml"
        (directory / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
        (directory / "conftest.py").write_text(CONFTEST)

    def run(self, *options: str) -> tuple[int, Run, str]:
        argv = [sys.executable, "-m", "pytest", "-q", f"--junitxml={self.report}", f"--rootdir={self.directory}"]
        done = subprocess.run(
            [*argv, f"--basetemp={self.directory}/tmp", *options, str(self.directory)],
            cwd=ROOT, env={"PATH": "/usr/bin:/bin", "NOTES": str(self.directory / "notes")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, read_run("suite", self.report), done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


@pytest.mark.parametrize("count", [1, 3])
def test_each_verdict_arrives_also_that_of_a_test_that_hangs_or_kills_its_worker(suite: Suite, count: int) -> None:
    (suite.directory / "test_verdicts.py").write_text(VERDICTS)
    (suite.directory / "test_other.py").write_text("def test_elsewhere(): pass\n")

    code, run, said = suite.run("-n", str(count))

    assert code == 1
    assert {name.partition("::")[2] for name in run.failed} == {
        "test_fails", "test_clears_up_badly", "test_kills_its_worker", "test_hangs",
    }, said  # fmt: skip
    assert (run.counts["passed"], run.counts["skipped"]) == (4, 1), said
    assert "no wool" in "".join(run.skipped.values())
    assert "said by the one that fails" in said
    assert "said by the one that passes" not in said
    assert "the worker that ran this test ended with -9" in said
    assert "Timeout" in said


def test_what_a_test_found_arrives_also_where_its_end_kills_the_worker(suite: Suite) -> None:
    (suite.directory / "test_dies.py").write_text(DIES_OF_ITS_END)

    code, run, said = suite.run("-n", "1")

    assert (code, [name.partition("::")[2] for name in run.failed]) == (1, ["test_fails_and_dies"]), said
    assert "before it died" in said
    assert "the worker that ran this test ended with -9" in said


@pytest.mark.parametrize("dies", [SENDS_HALF, LEAVES_A_CHILD], ids=["in mid report", "with a child"])
def test_a_worker_that_ends_in_mid_report_or_leaves_a_child_loses_no_test(suite: Suite, dies: str) -> None:
    """Half a report ended the whole run, and for a child that held the worker's end of the link all others waited."""
    (suite.directory / "test_dies.py").write_text(dies)

    code, run, said = suite.run("-n", "1")

    assert (code, len(run.failed), run.counts["passed"]) == (1, 1, 1), said
    assert not (suite.directory / "alone").exists(), "the rest went on while the child lived"
    assert "the worker that ran this test ended with -9" in said


def test_a_worker_keeps_what_the_session_shares_and_ends_what_a_file_shares(suite: Suite) -> None:
    for name in ("one", "two"):
        (suite.directory / f"test_{name}.py").write_text(SHARED)

    code, run, said = suite.run("-n", "1")

    assert (code, run.counts["passed"]) == (0, 4), said
    notes = [line.split(" ", 1) for line in (suite.directory / "notes").read_text().splitlines()]
    assert len({pid for pid, _ in notes}) == 1
    of_file = ["module begins", "a", "b", "module is over"]
    told = [text for _, text in notes]
    assert told == ["begins", *of_file, "begins", *of_file, "is over", "is over"], "each file has its own fixture"


def test_a_worker_does_not_look_again_for_garbage_in_what_earlier_files_left(suite: Suite) -> None:
    """To look through all that lives until its end was a sixth of a worker's time. What is lost is freed before."""
    (suite.directory / "test_1_leaves.py").write_text(LEAVES)
    (suite.directory / "test_2_looks.py").write_text(LOOKS)

    code, run, said = suite.run("-n", "1")

    assert (code, run.counts["passed"]) == (0, 2), said


def test_the_first_failure_ends_the_others_where_that_is_asked_for(suite: Suite) -> None:
    (suite.directory / "test_stops.py").write_text(STOPS)
    (suite.directory / "test_waits.py").write_text(WAITS)

    code, run, said = suite.run("-n", "2", "-x")

    assert code == 1
    assert [name.partition("::")[2] for name in run.failed] == ["test_fails"], said
    assert (suite.directory / "notes").read_text() == "cleared", "the other one's fixtures are cleared up"
