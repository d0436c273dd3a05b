"""Promise 11: whose word counted is told as the session's file proves it, in cases by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.drivers.transcripts.answers.missed import MISSED
from tests.drivers.transcripts.answers.playing import ANSWERS, answer, is_right


@pytest.mark.parametrize("case", ANSWERS.cases(), ids=lambda case: case["id"])
def test_promise_11_an_answer_is_told_as_its_author_said(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['why']}"


@pytest.mark.parametrize("half", ANSWERS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert ANSWERS.wrong_on_page(half) == []
