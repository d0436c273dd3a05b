"""Trials: a fork tells what the file itself would, and an interrupted proof leaves nothing that runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.mutants.__main__ import ROOT
from tests.proof.mutants.operators import mutants
from tests.proof.mutants.trials import Copy
from tests.waiting import eventually_sync

A_TREE = """
from functools import cache
def plain(a, b=1):
    return a < b
@cache
def kept(a):
    return a + 1
class A:
    async def method(self, a):
        def inner():
            return a == 1
        return inner()
def unseen(a):
    return not a
def endless(a):
    while a < 3:
        a += 1
    return a
kept(1)
"""

ITS_TESTS = """
import asyncio
import a
def test_all():
    a.unseen(1)
    assert (a.plain(0), a.plain(1), a.kept(1), asyncio.run(a.A().method(1)), a.endless(0)) == (True, False, 2, True, 3)
"""


def test_a_fork_tells_of_a_mutant_what_its_own_interpreter_would(tmp_path: Path) -> None:
    """Also of what was called and kept before the fork; of a default, which was made before, it tells nothing."""
    tree = tmp_path / "source"
    tree.mkdir()
    (tree / "a.py").write_text(A_TREE)
    (tree / "test_a.py").write_text(ITS_TESTS)
    (tree / "tests").symlink_to(ROOT / "tests")
    every = mutants("a.py", A_TREE.encode())
    copy = Copy(tree, tmp_path / "room", 60)
    asked = [(-1, None, ["test_a.py::test_all"], 60.0)]
    # Of those that end, none ends by its limit; of the others one second is enough.
    limits = [1.0 if mutant.kind in ("dropped statement", "arithmetic") else 60.0 for mutant in every]
    asked += [(number, every[number], ["test_a.py::test_all"], limit) for number, limit in enumerate(limits)]

    found = {number: verdict.word for number, verdict in copy.forks(asked, 2)}

    words = {(every[number].function, every[number].becomes): word for number, word in found.items() if number >= 0}
    assert found[-1] == "survived"
    assert {place for place, word in words.items() if word == "cold"} == {("plain", "2"), ("", "2"), ("", "pass")}
    assert {place for place, word in words.items() if word == "survived"} == {("unseen", "(a)")}
    assert (
        {"endless"} <= {function for (function, _), word in words.items() if word == "timed out"} <= {"endless", "kept"}
    )
    assert {"plain", "kept", "A.method.inner", "endless"} == {
        function for (function, _), word in words.items() if word in ("killed", "timed out")
    }


def test_a_mutant_that_hangs_costs_what_one_test_may_take(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "source" / "a.py").write_text("def ends(n):\n    while n:\n        n -= 1\n    return True\n")
    (tmp_path / "source" / "test_a.py").write_text("import a\ndef test_it():\n    assert a.ends(3)\n")
    source = (tmp_path / "source" / "a.py").read_bytes()
    hangs = [one for one in mutants("a.py", source) if one.becomes == "pass"]
    copy = Copy(tmp_path / "source", tmp_path / "room", 600.0)

    found = copy.forks([(0, hangs[0], ["test_a.py::test_it"], 600.0)], 1, {"test_a.py::test_it": 1.0})

    assert [(verdict.word, verdict.by) for _, verdict in found] == [("killed", "test_a.py::test_it")]


INTERRUPTED = """
import signal, sys
from pathlib import Path
from tests.proof.mutants import __main__ as program
from tests.proof.mutants.lines import Lines
from tests.proof.mutants.operators import mutants
program.ROOT = Path(sys.argv[1])
program.CONTROLS = 0
Lines.chosen = lambda self, mutant: [sys.argv[3]]
for number in (signal.SIGINT, signal.SIGTERM):  # Ignored, as in a background job, they would be inherited so.
    signal.signal(number, signal.default_int_handler)
drawn = mutants("a.py", (program.ROOT / "a.py").read_bytes()) * 3
program.try_all(drawn, Lines([], {}), Path(sys.argv[2]), 2, program.Kept(Path(sys.argv[2], "kept")))
"""

ENDLESS = """
import os, subprocess, sys, time
import a
def test_it():
    place = os.environ["SEEN"]
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", "trial-of", place])
    open(f"{place}/{os.getpid()}-{time.monotonic_ns()}", "w").close()
    child.wait()
"""


@pytest.mark.parametrize(
    ("number", "chosen"),
    [(signal.SIGINT, "test_a.py"), (signal.SIGTERM, "test_a.py::test_it")],
)
def test_an_interrupted_proof_leaves_no_process_of_its_trials(
    tmp_path: Path, number: signal.Signals, chosen: str
) -> None:
    tree, seen = tmp_path / "source", tmp_path / "seen"
    tree.mkdir()
    seen.mkdir()
    (tree / "a.py").write_text("def f(a, b):\n    return a == b\n")
    (tree / "test_a.py").write_text(ENDLESS)
    (tree / "tests").symlink_to(ROOT / "tests")
    proof = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tree), str(tmp_path / "room"), chosen], cwd=ROOT,
        env={**os.environ, "SEEN": str(seen)}, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        eventually_sync(lambda: len(list(seen.iterdir())) == 2, 60, "both trials run")
        proof.send_signal(number)
        assert proof.wait(60) != 0
        assert living(str(seen)) == []
        assert len(list(seen.iterdir())) == 2, "none begins any more"
    finally:
        proof.kill()
        proof.wait()
        for pid in living(str(seen)):
            os.kill(pid, signal.SIGKILL)


def test_no_trial_begins_in_a_copy_whose_trials_were_ended(tmp_path: Path) -> None:
    """One may have been about to."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "tests").symlink_to(ROOT / "tests")
    copy = Copy(tmp_path / "source", tmp_path / "room", 60)
    copy.end()

    assert copy.ask(["test_a.py"]) == ("interrupted", "")


def test_a_proof_ends_with_the_program_that_runs_it(tmp_path: Path) -> None:
    place = tmp_path / "begun"
    proof = f"open({str(place)!r}, 'w').close(); import time; time.sleep(1000)"
    script = (
        "import sys; from tests.proof import __main__ as program; "
        "program.PROOFS = (program.Proof('one', 'it', (sys.executable, '-c', sys.argv[1])),); program.main([])"
    )
    runner = subprocess.Popen([sys.executable, "-c", script, proof], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        eventually_sync(place.exists, 60, "the proof runs")
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(60) != 0
        assert living(str(place)) == []
    finally:
        runner.kill()
        runner.wait()
        for pid in living(str(place)):
            os.kill(pid, signal.SIGKILL)


def living(word: str) -> list[int]:
    """Processes with this word in their command line, or in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (place / "cmdline").read_bytes() + (place / "environ").read_bytes():
                found.append(int(place.name))
    return found
