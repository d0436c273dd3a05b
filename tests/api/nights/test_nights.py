"""What `since` tells of a night, in cases by somebody who knew neither code nor tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.nights.missed import MISSED, UNPLAYED
from tests.api.nights.playing import told
from tests.api.nights.reading import read
from tests.api.nights.verdict import NIGHTS, wrong
from tests.blind.frozen import Case


@pytest.mark.parametrize("case", NIGHTS.cases(), ids=lambda case: case["id"])
async def test_a_night_is_told_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    night = read(case)
    assert night.unread == [] or case["id"] in UNPLAYED

    faults = wrong(case, night, await told(night))

    assert bool(faults) == (case["id"] in MISSED), faults


@pytest.mark.parametrize("half", NIGHTS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert NIGHTS.wrong_on_page(half) == []
