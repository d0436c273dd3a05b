"""E46 to E48, E52, E76, E80, X13, X16, F-HO-8 to 17: how an ack is answered, in cases by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.acks.missed import MISSED
from tests.core.acks.playing import ACKS, answer, is_right


@pytest.mark.parametrize("case", ACKS.cases(), ids=lambda case: case["id"])
def test_an_ack_is_answered_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['reason']}"


@pytest.mark.parametrize("half", ACKS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert ACKS.wrong_on_page(half) == []
