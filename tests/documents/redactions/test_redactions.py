"""P79: secrets do not survive and the rest of a text does, in cases by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.documents.redactions.missed import MISSED
from tests.documents.redactions.playing import REDACTIONS, answer, is_right


@pytest.mark.parametrize("case", REDACTIONS.cases(), ids=lambda case: case["id"])
def test_p79_a_text_is_cleaned_as_its_author_said(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['why']}"


@pytest.mark.parametrize("half", REDACTIONS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert REDACTIONS.wrong_on_page(half) == []
