"""What `since` tells of a night, in cases by somebody who knew neither code nor tests."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.api.nights.missed import MISSED, UNPLAYED
from tests.api.nights.playing import told
from tests.api.nights.reading import Case, cases, read
from tests.api.nights.verdict import BY_HAND, HELD, OPEN, figures, wrong

PAGE = Path(__file__).with_name("README.md").read_text()


@pytest.mark.parametrize("case", [*cases(OPEN), *cases(HELD)], ids=lambda case: case["id"])
async def test_a_night_is_told_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    night = read(case, BY_HAND.get(case["id"]))
    assert night.unread == [] or case["id"] in UNPLAYED

    faults = wrong(case, night, await told(night))

    assert bool(faults) == (case["id"] in MISSED), faults


@pytest.mark.parametrize("file", [OPEN, HELD], ids=lambda file: file.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(file: Path) -> None:
    known = cases(file)
    (frozen,) = re.findall(rf"\| `{file.name}` \| 12 \| ([0-9a-f]{{64}}) \|", PAGE)

    assert hashlib.sha256(file.read_bytes()).hexdigest() == frozen
    (figure,) = re.findall(rf"`{file.name}`, today: ([^\n]*)\.", PAGE)
    assert figure == figures(known, [case["id"] not in MISSED for case in known])
    assert all(one in PAGE for one in MISSED)
