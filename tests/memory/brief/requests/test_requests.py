"""P1, P2, P10, F-BR-7: what a person asked for is open or over, in conversations by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.memory.brief.requests.missed import MISSED
from tests.memory.brief.requests.playing import REQUESTS, answer, is_right


@pytest.mark.parametrize("case", REQUESTS.cases(), ids=lambda case: case["id"])
def test_a_request_is_listed_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['reason']}"


@pytest.mark.parametrize("half", REQUESTS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert REQUESTS.wrong_on_page(half) == []
