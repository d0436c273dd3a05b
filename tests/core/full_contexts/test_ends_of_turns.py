"""F-PROC-26, F-HO-1: what the end of a turn is worth, in cases by somebody who knew neither code nor tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.full_contexts.ending import CUT, worth
from tests.core.full_contexts.missed import CUT_MISSED


@pytest.mark.parametrize("case", CUT.cases(), ids=lambda case: case["id"])
def test_the_end_of_a_turn_is_worth_what_is_decided_today(case: Case) -> None:
    """A change shows here, for better or worse; the figure of the held half is never made with what its cases say."""
    decided = CUT_MISSED[case["id"]][0] if case["id"] in CUT_MISSED else case["expected"]

    assert worth(case) == decided, case["because"]


@pytest.mark.parametrize("half", CUT.halves, ids=lambda half: half.name)
def test_the_page_has_the_figure_of_a_half(half: Path) -> None:
    assert CUT.wrong_on_page(half) == []
    assert all(CUT_MISSED[one["id"]][0] != one["expected"] for one in CUT.cases() if one["id"] in CUT_MISSED)


@pytest.mark.parametrize("times", [1, 3])
def test_f_proc_26_an_outage_that_lasts_is_waited_out_each_time(times: int) -> None:
    """From the second time on an agent whose connection broke asked a person, and rested."""
    broke = next(case for case in CUT.cases() if case["id"] == "cut-10")
    before = {"previous_cuts_in_session": times, "cuts_in_a_row_before": times, "told_to_go_on_in_a_row": times}

    assert worth({**broke, "facts": {**broke["facts"], **before}}) == "wait"
