"""P43, F-HO-21: whether runs that ask to be recycled are stopped, in cases by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.recycled.missed import MISSED
from tests.core.recycled.playing import RECYCLED, answer, is_right


@pytest.mark.parametrize("case", RECYCLED.cases(), ids=lambda case: case["id"])
def test_recycled_runs_are_stopped_or_go_on_as_their_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['why']}"


@pytest.mark.parametrize("half", RECYCLED.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert RECYCLED.wrong_on_page(half) == []
