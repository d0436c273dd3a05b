"""`./dev proof --go-on` leaves out what held of exactly this tree, and `--within` begins no proof after its time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.proof import __main__ as proof
from tests.proof import going_on
from tests.proof.going_on import FAILED, HELD, Outcome, keep, kept, left, table, tree_of

ONE = Outcome("kills", (), HELD, 61.4, "2026-11-29 01:50", 2.25)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree with one commit and a page, and proofs that leave a mark each time they run."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "page.md").write_text("before\n")
    (root / "code.py").write_text("before\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "One"]):
        git(root, *words)
    monkeypatch.setattr(proof, "ROOT", root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(proof, "PROOFS", (play(tmp_path, "first"), play(tmp_path, "second"), play(tmp_path, "third")))
    return root


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True)


def play(room: Path, name: str, code: int = 0, does: str = "", writes: str = "") -> proof.Proof:
    program = f"import sys; open({str(room / 'ran')!r}, 'a').write('{name} '); {does or 'pass'}; sys.exit({code})"
    return proof.Proof(name, "it", (sys.executable, "-c", program), writes)


def ran(tree: Path) -> list[str]:
    """Return which proofs ran since this was asked before."""
    place = tree.parent / "ran"
    names = place.read_text().split() if place.exists() else []
    place.unlink(missing_ok=True)
    return names


def test_what_held_is_left_out_and_what_failed_or_was_not_run_is_not() -> None:
    known = {"kills": ONE, "plants": replace(ONE, name="plants", verdict=FAILED)}

    assert left(["kills", "plants", "soak"], known) == ["plants", "soak"]


def test_the_newest_outcome_with_exactly_these_arguments_counts(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "outcomes"
    assert kept(place, ()) == {}
    for one in (replace(ONE, verdict=FAILED), ONE, replace(ONE, arguments=("--kills", "3"), seconds=2.0)):
        keep(place, one)

    assert kept(place, ()) == {"kills": ONE}
    assert kept(place, ["--kills", "3"])["kills"].seconds == 2.0
    assert kept(place, ["--kills", "4"]) == {}


def test_the_table_has_a_line_for_each_proof_whether_or_not_it_ran() -> None:
    lines = table(["kills", "soak"], {"kills": ONE}).splitlines()

    assert lines[1].split() == ["kills", HELD, "61", "2026-11-29", "01:50", "2.2"]
    assert lines[2].split() == ["soak", "not", "run"]


@pytest.mark.parametrize("place", ["code.py", "new.py"])
def test_a_work_tree_that_differs_from_its_commit_is_no_tree(tree: Path, place: str) -> None:
    assert tree_of(tree, {"page.md"}) is not None

    (tree / place).write_text("after\n")

    assert tree_of(tree, {"page.md"}) is None


def test_a_page_that_a_proof_writes_changes_no_tree(tree: Path) -> None:
    (tree / "page.md").write_text("after\n")

    assert tree_of(tree, {"page.md"}) is not None
    assert tree_of(tree, ()) is None


def test_where_git_knows_nothing_there_is_no_tree(tmp_path: Path) -> None:
    assert tree_of(tmp_path, ()) is None


def test_going_on_begins_with_what_failed_or_was_not_run(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    first, _, third = proof.PROOFS
    monkeypatch.setattr(proof, "PROOFS", (first, play(tree.parent, "second", 1), third))
    assert proof.main(["first", "second"]) == 1
    assert ran(tree) == ["first", "second"]
    monkeypatch.setattr(proof, "PROOFS", (first, play(tree.parent, "second"), third))
    capfd.readouterr()

    assert proof.main(["--go-on"]) == 0

    assert ran(tree) == ["second", "third"]
    assert [line.split()[:2] for line in capfd.readouterr().out.splitlines()[-3:]] == [
        ["first", HELD], ["second", HELD], ["third", HELD],
    ]  # fmt: skip
    assert proof.main([]) == 0
    assert ran(tree) == ["first", "second", "third"], "without --go-on all run again"


def test_what_held_with_options_held_with_these_alone(tree: Path) -> None:
    assert proof.main(["first", "-k", "one"]) == 0
    ran(tree)

    assert proof.main(["--go-on", "first"]) == 0
    assert ran(tree) == ["first"]
    assert proof.main(["--go-on", "first", "-k", "one"]) == 0
    assert ran(tree) == []


@pytest.mark.parametrize("when", ["before", "while it runs"])
def test_what_ran_on_a_tree_that_is_no_commit_is_not_kept(
    tree: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tree / "code.py"
    if when == "before":
        code.write_text("after\n")
    else:
        changing = play(tree.parent, "first", does=f"open({str(code)!r}, 'w').write('after')")
        monkeypatch.setattr(proof, "PROOFS", (changing,))
    assert proof.main(["first"]) == 0
    git(tree, "checkout", "-q", ".")
    ran(tree)

    assert proof.main(["--go-on", "first"]) == 0

    assert ran(tree) == ["first"]


def test_what_held_of_one_commit_did_not_hold_of_the_next(tree: Path) -> None:
    assert proof.main(["first"]) == 0
    (tree / "code.py").write_text("after\n")
    git(tree, "commit", "-q", "-a", "-m", "Two")
    ran(tree)

    assert proof.main(["--go-on", "first"]) == 0

    assert ran(tree) == ["first"]


def test_what_follows_a_proof_that_wrote_its_page_is_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = play(tree.parent, "first", does=f"open({str(tree / 'page.md')!r}, 'w').write('after')", writes="page.md")
    monkeypatch.setattr(proof, "PROOFS", (writing, proof.PROOFS[1]))
    assert proof.main([]) == 0
    ran(tree)

    assert proof.main(["--go-on"]) == 0

    assert ran(tree) == []


def test_after_its_minutes_no_further_proof_begins_and_the_remedy_is_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    minutes = iter([0.0, 9.0, 9.0, 9.5, 10.0])
    monkeypatch.setattr(proof, "time", SimpleNamespace(monotonic=lambda: next(minutes) * 60))

    assert proof.main(["--within", "10"]) == 1

    assert ran(tree) == ["first"]
    said = capfd.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said[-4:-1]] == [["first", HELD], ["second", "not"], ["third", "not"]]
    assert said[-1].endswith("./dev proof --go-on")


def test_what_failed_before_and_had_no_time_again_is_no_success(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proof, "PROOFS", (play(tree.parent, "first", 1),))
    assert proof.main([]) == 1

    assert proof.main(["--go-on", "--within", "0"]) == 1

    assert ran(tree) == ["first"]
    assert capfd.readouterr().out.endswith("./dev proof --go-on\n")


def test_a_proof_that_is_interrupted_is_not_kept_and_those_before_it_are(tree: Path) -> None:
    first, second, _ = proof.PROOFS

    def interrupted(argv: list[str]) -> int:
        if argv == list(second.argv):
            raise KeyboardInterrupt
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "_played", interrupted)
        with pytest.raises(KeyboardInterrupt):
            proof.main([])

    assert proof.main(["--go-on", first.name, second.name]) == 0
    assert ran(tree) == ["second"]


@pytest.mark.parametrize(
    ("words", "names", "options"),
    [
        (["--go-on", "--within", "5"], [], []),
        (["--within", "5", "first", "--within", "150"], ["first"], ["--within", "150"]),
        (["first", "second"], ["first", "second"], []),
        (["--go-on", "first", "-k", "one"], ["first"], ["-k", "one"]),
    ],
)
def test_what_follows_one_name_is_for_that_proof(
    tree: Path, words: list[str], names: list[str], options: list[str]
) -> None:
    given, rest = proof._understood(words)

    assert (given.names, rest) == (names, options)


def test_the_pages_that_proofs_write_are_there() -> None:
    root = Path(going_on.__file__).parents[2]
    pages = {one.writes for one in proof.PROOFS if one.writes}

    assert pages
    assert all((root / page).is_file() for page in pages)
