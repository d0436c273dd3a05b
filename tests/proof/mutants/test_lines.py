"""The map of line -> tests: what counts of it, for how long, and which tests it chooses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof.mutants.__main__ import BROADEST, BUDGET, within_budget
from tests.proof.mutants.lines import MOST, Lines, combined, imported, keep, known_part, parts_of, ways_of
from tests.proof.mutants.operators import Mutant


def a_mutant(function: str = "f", path: str = "a.py") -> Mutant:
    return Mutant(path, 2, "comparison", function, 24, 30, "(a != b)", 2)


def test_what_was_measured_counts_until_the_tests_change_or_what_they_import(tmp_path: Path) -> None:
    files = {
        "tests/conftest.py": "", "tests/helping.py": "", "tests/core/test_b.py": "",
        "tests/core/test_a.py": "from tests.helping import it\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def changed_by(name: str) -> set[str]:
        before = parts_of(tmp_path)
        (tmp_path / name).write_text(f"{(tmp_path / name).read_text()}# changed\n")
        imported.cache_clear()
        after = parts_of(tmp_path)
        return {Path(test).stem for test in before if before[test] != after[test]}

    assert changed_by("tests/core/test_b.py") == {"test_b"}
    assert changed_by("tests/helping.py") == {"test_a"}
    assert changed_by("tests/conftest.py") == {"test_a", "test_b"}


def test_what_was_measured_follows_the_lines_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    place = tmp_path / "kept" / "part.json"
    keep(tmp_path, place, {"tests": [], "lines": {"a.py": {"1": [0], "2": [1], "4": [2], "5": [0]}}})

    (tmp_path / "a.py").write_text("zero\none\n2\nthree\nfour\nand\n")

    part = known_part(tmp_path, place)
    assert part is not None
    assert part["lines"] == {"a.py": {"1": [0], "2": [0], "3": [1], "5": [2], "6": [0]}}
    (tmp_path / "a.py").unlink()
    ways_of.cache_clear()
    part = known_part(tmp_path, place)
    assert part is not None
    assert part["lines"] == {"a.py": {}}


def test_the_parts_of_the_map_make_one(tmp_path: Path) -> None:
    parts = [
        {"tests": [["t/test_a.py::one", 1.0], ["t/test_a.py::two", 2.0]], "lines": {"a.py": {"2": [0, 1], "3": [1]}}},
        {"tests": [["t/test_b.py::one", 0.5]], "lines": {"a.py": {"3": [0]}, "b.py": {"1": [0]}}},
    ]

    lines = combined(tmp_path, parts)

    assert lines.lines == {"a.py": {"2": [0, 1], "3": [1, 2]}, "b.py": {"1": [2]}}
    assert lines.chosen(a_mutant()) == ["t/test_a.py::one", "t/test_a.py::two"]


def test_the_tests_of_a_mutant_are_the_quickest_that_fit_into_its_time_and_one_at_least() -> None:
    lines = Lines([("slow", BUDGET + 1), ("quick", 1.0), ("other", 2.0)], {"a.py": {"2": [1, 2], "3": [0]}})

    assert within_budget(lines, a_mutant()) == ["quick", "other"]
    assert within_budget(lines, replace(a_mutant(), seen_at=3)) == ["slow"]


def test_of_the_tests_beyond_the_budget_those_that_run_most_of_the_file_are_asked_too() -> None:
    """They are slow because they run much, and see more of what comes of a line."""
    slow = [(f"slow {number}", BUDGET + number) for number in range(BROADEST + 2)]
    every = {"2": [0, *range(1, len(slow) + 1)], **{str(10 + line): [1, 3] for line in range(5)}, "9": [3]}
    lines = Lines([("quick", 1.0), *slow], {"a.py": every})

    chosen = within_budget(lines, a_mutant())
    assert chosen[:3] == ["quick", "slow 2", "slow 0"]
    assert len(chosen) == 1 + BROADEST


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

    (tmp_path / "test_c.py").write_text("import phoenixd.core\n")
    assert imported(tmp_path, "test_c.py") == {"phoenixd/core/spec.py"}


def test_a_default_in_a_file_of_shapes_is_tried_by_the_tests_that_run_most_of_its_folder() -> None:
    tests = [("much", 2.0), ("elsewhere", 0.0), *((f"little {number}", 1.0) for number in range(MOST))]
    lines = Lines(tests, {
        "core/a.py": {"1": []}, "core/b.py": {"2": [*range(2, MOST + 2), 0], "3": [0]}, "shim/c.py": {"1": [1]},
    })  # fmt: skip

    chosen = lines.chosen(a_mutant("Limits", "core/a.py"))
    assert ("much" in chosen, "elsewhere" in chosen, len(chosen)) == (True, False, MOST)
    assert lines.chosen(a_mutant("f", "core/a.py")) == []
