"""Mutants: what is changed and what is left alone, that each change parses, and how survivors are counted."""

from __future__ import annotations

import ast
import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof.mutants.__main__ import BUDGET, ROOT, Kept, draw, targets, told, within_budget
from tests.proof.mutants.lines import MOST, Lines, combined, imported, parts_of
from tests.proof.mutants.operators import Mutant, mutants
from tests.proof.mutants.trials import Copy, Verdict
from tests.waiting import eventually_sync

ONE = "def f(a, b):\n    "


def becomes(line: str) -> set[str]:
    source = (ONE + line).encode()
    return {mutant.applied(source).decode().removeprefix(ONE) for mutant in mutants("a.py", source)}


@pytest.mark.parametrize(
    ("line", "mutated"),
    [
        ("return a == b", {"return (a != b)"}),
        ("return a < b", {"return (a <= b)", "return (a >= b)"}),
        ("return a is None", {"return (a is not None)"}),
        ("return a and b", {"return (a or b)"}),
        ("return not a", {"return (a)"}),
        ("return True", {"return False"}),
        ("return 3", {"return 4"}),
        ("return a + b", {"return (a - b)"}),
        ("a -= b", {"a += b", "pass"}),
        ("a.stop(b)", {"pass"}),
        ("raise a", {"pass"}),
        ("return replace(a, b=b, c=a)", {"return replace(a, c=a)", "return replace(a, b=b)"}),
        ("if a: b()", {"if False: b()", "if True: b()", "if a: pass"}),
        ("while a: break", {"while False: break", "while a: continue"}),
        ("return [c for c in a if b]", {"return [c for c in a if True]"}),
    ],
)
def test_what_decides_is_changed(line: str, mutated: set[str]) -> None:
    assert becomes(line) == mutated


@pytest.mark.parametrize(
    "line",
    [
        '"""A docstring."""',
        'return "text"',
        "return f'{a + b}'",
        "log.info(a, n=1)",
        "self._log.info(a, n=1)",
        "assert a is not None",
        "c: int | None = a",
        "return keep(a, why=a + b)",
        "return (a, 'text') + b",
        "return a if b else f'{a}'",
        "return 'one sentence' if a else 'another'",
        "import os",
    ],
)
def test_what_decides_nothing_is_left_alone(line: str) -> None:
    assert becomes(line) == set()


def test_annotations_and_decorators_are_left_alone_and_defaults_are_not() -> None:
    source = b"@dataclass(frozen=True)\nclass A:\n    x: int | None = 1\n    def f(self, y: A | B = 2) -> C | D: ...\n"

    assert [mutant.becomes for mutant in mutants("a.py", source)] == ["2", "3"]


def test_places_are_counted_in_bytes() -> None:
    """A column of the parser's is no character: what follows a sign of another script would be cut in the middle."""
    assert becomes("return 'é', a == b") == {"return 'é', (a != b)"}


def test_a_mutant_is_known_by_its_content_and_not_by_its_line() -> None:
    source = (ONE + "return a == b\n").encode()
    moved = b"# A comment.\n\n" + source

    assert mutants("a.py", source)[0].key(source) == mutants("a.py", moved)[0].key(moved)
    assert mutants("a.py", source)[0].key(source) == ("a.py", "f", "return a == b", "return (a != b)")


def test_every_mutant_that_a_seed_draws_parses_and_differs() -> None:
    files = [name for name in targets(ROOT) if "/shim/" in name]
    drawn = draw(ROOT, files, 40, 1)

    assert len(drawn) == 40
    assert drawn == draw(ROOT, files, 40, 1)
    for mutant in drawn:
        source = (ROOT / mutant.path).read_bytes()
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source)), mutant


def test_each_place_of_the_table_holds_mutants() -> None:
    """A file that moved would fall out of the draw without a word."""
    for place in ("core/", "runtime/", "shim/tree.py", "shim/run.py", "shim/procfs.py", "drivers/journal/writer.py"):
        assert any(name.startswith(f"phoenixd/{place}") for name in targets(ROOT)), place


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


def test_what_was_measured_counts_until_the_code_or_what_the_tests_import_changes(tmp_path: Path) -> None:
    files = {
        "phoenixd/a.py": "", "tests/conftest.py": "", "tests/helping.py": "",
        "tests/core/test_a.py": "from tests.helping import it\n", "tests/core/test_b.py": "",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def changed_by(name: str) -> set[str]:
        before = parts_of(tmp_path, ["phoenixd/a.py"])
        (tmp_path / name).write_text(f"{(tmp_path / name).read_text()}# changed\n")
        after = parts_of(tmp_path, ["phoenixd/a.py"])
        return {Path(test).stem for test in before if before[test] != after[test]}

    assert changed_by("tests/core/test_b.py") == {"test_b"}
    assert changed_by("tests/helping.py") == {"test_a"}
    assert changed_by("tests/conftest.py") == changed_by("phoenixd/a.py") == {"test_a", "test_b"}


def test_the_parts_of_the_map_make_one(tmp_path: Path) -> None:
    parts = [
        {"tests": [["t/test_a.py::one", 1.0], ["t/test_a.py::two", 2.0]], "lines": {"a.py": {"2": [0, 1], "3": [1]}}},
        {"tests": [["t/test_b.py::one", 0.5]], "lines": {"a.py": {"3": [0]}, "b.py": {"1": [0]}}},
    ]

    lines = combined(tmp_path, parts)

    assert lines.lines == {"a.py": {"2": [0, 1], "3": [1, 2]}, "b.py": {"1": [2]}}
    assert lines.chosen(a_mutant()) == ["t/test_a.py::one", "t/test_a.py::two"]


def test_a_verdict_outlives_the_run_that_gave_it(tmp_path: Path) -> None:
    kept, mutant = Kept(tmp_path / "kept"), a_mutant()
    kept.add(mutant, Verdict("killed", 1.5, "a test"))

    assert Kept(tmp_path / "kept").verdict(mutant) == Verdict("killed", 1.5, "a test")
    assert Kept(tmp_path / "kept").verdict(a_mutant(path="b.py")) is None


def test_the_tests_of_a_mutant_are_the_quickest_that_fit_into_its_time() -> None:
    lines = Lines([("slow", BUDGET), ("quick", 1.0), ("other", 2.0)], {"a.py": {"2": [0, 1, 2], "3": [0]}})

    assert within_budget(lines, a_mutant()) == ["quick", "other"]
    assert within_budget(lines, replace(a_mutant(), line=3)) == ["slow"]


def a_mutant(function: str = "f", path: str = "a.py") -> Mutant:
    return Mutant(path, 2, "comparison", function, 24, 30, "(a != b)")


def test_the_quickest_tests_of_the_line_are_asked_first() -> None:
    lines = Lines([("slow", 2.0), ("quick", 0.1), ("elsewhere", 0.0)], {"a.py": {"2": [0, 1], "9": [2]}})

    assert lines.chosen(a_mutant()) == ["quick", "slow"]


def test_a_line_that_runs_at_import_is_seen_by_all_tests_of_the_file() -> None:
    lines = Lines([("slow", 2.0), ("quick", 0.1)], {"a.py": {"7": [0], "9": [1]}})

    assert lines.chosen(a_mutant(function="")) == ["quick", "slow"]
    assert lines.chosen(a_mutant(function="Settings")) == ["quick", "slow"]
    assert lines.chosen(a_mutant(function="f")) == []


def test_a_default_is_tried_by_the_tests_that_import_its_file_too(tmp_path: Path) -> None:
    """They may compare it and run no line of the file."""
    (tmp_path / "phoenixd" / "core").mkdir(parents=True)
    (tmp_path / "phoenixd" / "core" / "spec.py").touch()
    (tmp_path / "test_a.py").write_text("from phoenixd.core.spec import A\nfrom phoenixd.core import gone\n")
    (tmp_path / "test_b.py").write_text("from phoenixd.core import spec\nfrom spec import b\nimport ast\n")
    lines = Lines([("a", 1.0), ("b", 2.0)], {"a.py": {"9": [1]}}, {"a.py": [0]})

    assert imported(tmp_path, "test_a.py") == imported(tmp_path, "test_b.py") == {"phoenixd/core/spec.py"}
    assert lines.chosen(a_mutant("Settings")) == ["a", "b"]
    assert lines.chosen(a_mutant("f")) == []


def test_a_default_in_a_file_of_shapes_is_tried_by_the_tests_that_run_most_of_its_folder() -> None:
    tests = [("much", 2.0), ("elsewhere", 0.0), *((f"little {number}", 1.0) for number in range(MOST))]
    lines = Lines(tests, {
        "core/a.py": {"1": []}, "core/b.py": {"2": [*range(2, MOST + 2), 0], "3": [0]}, "shim/c.py": {"1": [1]},
    })  # fmt: skip

    chosen = lines.chosen(a_mutant("Limits", "core/a.py"))
    assert ("much" in chosen, "elsewhere" in chosen, len(chosen)) == (True, False, MOST)
    assert lines.chosen(a_mutant("f", "core/a.py")) == []


def test_survivors_are_listed_and_those_that_change_nothing_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ONE + "return a == b\n")
    tried = [(a_mutant(), Verdict(word, 1.0)) for word in ("killed",) * 8 + ("timed out", "survived")]

    text, well = told(tried, {}, tmp_path)
    assert well
    assert "survived: a.py:2 in f" in text
    assert "+    return (a != b)" in text
    assert "8 killed, 1 timed out, 1 survived, 0 change nothing; 90.0 %" in text

    _, well = told(tried[1:], {}, tmp_path)
    assert not well

    known = {("a.py", "f", "return a == b", "return (a != b)"): "the same"}
    text, well = told(tried[1:], known, tmp_path)
    assert well
    assert "changes nothing: the same" in text
    assert "0 survived, 1 change nothing; 100.0 %" in text


def test_a_trial_that_ran_no_test_counts_as_a_survivor(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ONE + "return a == b\n")

    _, well = told([(a_mutant(), Verdict("not run", 1.0))], {}, tmp_path)

    assert not well


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
    [(signal.SIGINT, "test_a.py"), (signal.SIGTERM, "test_a.py"), (signal.SIGTERM, "test_a.py::test_it")],
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
    copy = Copy(tmp_path / "source", tmp_path / "room", 60)
    copy.end()

    assert copy.ask(["test_a.py"]) == ("not run", "interrupted")


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
