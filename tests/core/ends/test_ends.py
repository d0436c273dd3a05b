"""P53, P54, F-PROC-5, F-PROC-8, F-PROC-26, F-PROC-27, X4: what an end is, in cases by another hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.ends.missed import MISSED
from tests.core.ends.playing import answer
from tests.core.ends.reading import facts_of
from tests.core.ends.verdict import EXITS, is_right, words


@pytest.mark.parametrize("case", EXITS.cases(), ids=lambda case: case["id"])
def test_an_end_is_decided_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(facts_of(case))

    assert is_right(case, found) == (case["id"] not in MISSED), f"{words(found)}: {found.reason}"
    if case["id"] in MISSED:
        assert words(found) == MISSED[case["id"]][0]


@pytest.mark.parametrize("half", EXITS.halves, ids=lambda half: half.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(half: Path) -> None:
    assert EXITS.wrong_on_page(half) == []


def test_f_proc_26_of_two_others_that_share_the_account_none_is_asked_before_the_reset() -> None:
    """What the author's notes say beside the answer."""
    case = next(one for one in EXITS.cases() if one["id"] == "EXI-03")
    played = answer(facts_of(case))

    assert played.parked == ("a", "peer0", "peer1")
