"""What `since` tells of a night, in cases by somebody who knew neither code nor tests."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.api.nights.missed import MISSED
from tests.api.nights.playing import told
from tests.api.nights.reading import Case, cases, read
from tests.api.nights.verdict import OPEN, figures, wrong

PAGE = Path(__file__).with_name("README.md").read_text()


@pytest.mark.parametrize("case", cases(OPEN), ids=lambda case: case["id"])
async def test_a_night_is_told_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    night = read(case)
    assert night.unread == []

    faults = wrong(case, night, await told(night))

    assert bool(faults) == (case["id"] in MISSED), faults


def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen() -> None:
    known = cases(OPEN)
    (frozen,) = re.findall(r"\| `since-open\.json` \| 12 \| ([0-9a-f]{64}) \|", PAGE)

    assert hashlib.sha256(OPEN.read_bytes()).hexdigest() == frozen
    assert f"today: {figures(known, [case['id'] not in MISSED for case in known])}" in PAGE
    assert all(one in PAGE for one in MISSED)
