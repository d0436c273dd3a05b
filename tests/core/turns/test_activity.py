"""X7, F-PROC-14 to 18, F-PROC-26, F-HB-1, F-HB-4, G4, G50, G54: what an agent is at, by signs of another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.turns.missed import MISSED
from tests.core.turns.playing import TURNS, answer, is_right


@pytest.mark.parametrize("case", TURNS.cases(), ids=lambda case: case["id"])
def test_an_agent_is_at_what_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['reason']}"


@pytest.mark.parametrize("half", TURNS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert TURNS.wrong_on_page(half) == []
