"""A frozen corpus holds its page: neither a case, nor a figure, nor a miss changes without a word."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.blind.frozen import Case, Corpus, digest, play

KNOWN = [
    {"id": "a", "confidence": "high", "expected": 1},
    {"id": "b", "confidence": "medium", "expected": 2},
    {"id": "c", "confidence": "high", "expected": 4},
]
TODAY = "2 of 3 as their author said (high 1 of 2, medium 1 of 1)"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    (tmp_path / "first.json").write_text(json.dumps(KNOWN))
    many, frozen = digest(tmp_path / "first.json")
    (tmp_path / "README.md").write_text(
        f"| `first.json` | {many} | {frozen} |\n\n- `first.json`, today: {TODAY}\n\n| `c` | a ruling |\n"
    )
    monkeypatch.setattr("tests.blind.frozen.ROOT", tmp_path.parent)
    return Corpus(tmp_path, "first.json", "held.json", {"c": "a ruling"})


def edits(name: str, old: str, new: str) -> Callable[[Corpus], Corpus]:
    def edit(corpus: Corpus) -> Corpus:
        file = corpus.folder / name
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        return corpus

    return edit


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda corpus: corpus, []),
        (edits("first.json", "4", "3"), ["first.json is not as it was frozen"]),
        (edits("README.md", "| 3 |", "| 4 |"), ["first.json is not as it was frozen"]),
        (edits("README.md", "today: 2", "today: 3"), [f"first.json, today: {TODAY}"]),
        (edits("README.md", "| `c` |", "| c |"), ["c is missed, and is not named"]),
        (
            lambda corpus: replace(corpus, missed={}),
            ["first.json, today: 3 of 3 as their author said (high 2 of 2, medium 1 of 1)"],
        ),
    ],
    ids=["as it is", "a case", "their number", "a figure", "a miss", "one miss less"],
)
def test_what_the_page_says_otherwise_is_found(
    corpus: Corpus, change: Callable[[Corpus], Corpus], wrong: list[str]
) -> None:
    assert change(corpus).wrong_on_page(corpus.halves[0]) == wrong


def answer(case: Case) -> int:
    return int({"a": 1, "b": 2, "c": 3, **case.get("by_hand", {})}[case["id"]])


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ([], ["c (high): OTHERWISE", "said 4, found 3", "  a ruling", TODAY]),
        (["--read"], ["a", "no words", "b", "no words", "c", "no words"]),
        (["--readings", "{}/hands.json"], ["3 of 3 as their author said (high 2 of 2, medium 1 of 1)"]),
        (
            ["{}/odd.json"],
            [
                "z: could not be played: KeyError('z')",
                "no words",
                "0 of 1 as their author said (high 0 of 1, medium 0 of 0)",
            ],
        ),
        (
            ["-v"],
            [
                *("a (high): right", "said 1, found 1", "(1)", "b (medium): right", "said 2, found 2", "(2)"),
                *("c (high): OTHERWISE", "said 4, found 3", "  a ruling", "(3)", TODAY),
            ],
        ),
    ],
    ids=["otherwise", "read", "by hand", "not played", "all"],
)
def test_a_play_names_each_case_that_came_out_otherwise(
    corpus: Corpus,
    arguments: list[str],
    printed: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (corpus.folder / "odd.json").write_text(json.dumps([{"id": "z", "confidence": "high"}]))
    (corpus.folder / "hands.json").write_text(json.dumps({"c": {"c": 4}}))
    monkeypatch.setattr(sys, "argv", ["play", *(one.format(corpus.folder) for one in arguments)])

    play(
        replace(corpus, by_hand={}),
        answer,
        lambda case, found: bool(found == case["expected"]),
        lambda case, found: (f"said {case['expected']}, found {found}",),
        described=None,
        read=lambda case: ("no words",),
        more=lambda case, found: (f"({found})",),
    )

    assert capsys.readouterr().out.splitlines() == printed
