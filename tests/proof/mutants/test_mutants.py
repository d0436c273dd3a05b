"""Mutants: what is changed and what is left alone, that each change parses, and how survivors are counted."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.proof.mutants.__main__ import ROOT, Kept, draw, targets, told
from tests.proof.mutants.operators import Mutant, mutants
from tests.proof.mutants.trials import Verdict

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
        "assert_never(a)",
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


def test_a_default_of_a_parameter_is_seen_by_the_tests_that_run_the_body() -> None:
    source = b'def f(\n    a=1,\n    *, b=2\n):\n    """What."""\n    return 3\n'

    assert [(mutant.becomes, mutant.line, mutant.seen_at) for mutant in mutants("a.py", source)] == [
        ("2", 2, 6), ("3", 3, 6), ("4", 6, 6)
    ]  # fmt: skip


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


def test_a_verdict_outlives_the_run_that_gave_it(tmp_path: Path) -> None:
    kept, mutant = Kept(tmp_path / "kept"), a_mutant()
    kept.add(mutant, Verdict("killed", 1.5, "a test"))

    assert Kept(tmp_path / "kept").verdict(mutant) == Verdict("killed", 1.5, "a test")
    assert Kept(tmp_path / "kept").verdict(a_mutant(path="b.py")) is None


def a_mutant(function: str = "f", path: str = "a.py") -> Mutant:
    return Mutant(path, 2, "comparison", function, 24, 30, "(a != b)", 2)


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
