"""X7, F-PROC-14 to 18, F-PROC-26, F-HB-1, F-HB-4, G4, G50, G54: what an agent is at, by signs of another hand."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.core.signs.missed import MISSED
from tests.core.signs.playing import HELD, HERE, OPEN, Case, answer, cases, figures, is_right

PAGE = (HERE / "README.md").read_text()


@pytest.mark.parametrize("case", [*cases(OPEN), *cases(HELD)], ids=lambda case: case["id"])
def test_an_agent_is_at_what_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(case)

    assert is_right(case, found) == (case["id"] not in MISSED), f"{found}; {case['reason']}"


@pytest.mark.parametrize("file", [OPEN, HELD], ids=lambda file: file.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(file: Path) -> None:
    known = cases(file)
    (frozen,) = re.findall(rf"\| `{file.name}` \| 12 \| ([0-9a-f]{{64}}) \|", PAGE)

    assert hashlib.sha256(file.read_bytes()).hexdigest() == frozen
    (figure,) = re.findall(rf"`{file.name}`, today: ([^\n]*)", PAGE)
    assert figure == figures(known, [case["id"] not in MISSED for case in known])
    assert all(one in PAGE for one in MISSED)
