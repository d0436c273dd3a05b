"""P53, P54, P55, P57, P59, X4, X5, F-PROC-3 to 8, F-PROC-26, F-PROC-27: what an end is, by records of another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.ends.records.missed import MISSED
from tests.core.ends.records.playing import RECORDS, answer, is_right


@pytest.mark.parametrize("case", RECORDS.cases(), ids=lambda case: case["id"])
def test_an_end_is_decided_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['reason']}"


@pytest.mark.parametrize("half", RECORDS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert RECORDS.wrong_on_page(half) == []
