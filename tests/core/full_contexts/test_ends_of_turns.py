"""F-PROC-26, F-HO-1: what the end of a turn is worth, in cases by somebody who knew neither code nor tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.core.full_contexts.ending import worth
from tests.core.full_contexts.missed import MISSED
from tests.core.full_contexts.playing import cases

HALVES = ("cut_open.json", "cut_held.json")
PAGE = (Path(__file__).parent / "README.md").read_text()


@pytest.mark.parametrize("case", [one for half in HALVES for one in cases(half)], ids=lambda case: case["id"])
def test_the_end_of_a_turn_is_worth_what_is_decided_today(case: dict[str, Any]) -> None:
    """A change shows here, for better or worse; the figure of the held half is never made with what its cases say."""
    decided = MISSED[case["id"]][0] if case["id"] in MISSED else case["expected"]

    assert worth(case) == decided, case["because"]


@pytest.mark.parametrize("half", HALVES)
def test_the_page_has_the_figure_of_a_half(half: str) -> None:
    known = cases(half)
    agreed = sum(case["id"] not in MISSED for case in known)
    print(f"{half}: {agreed} of {len(known)} as their author said")

    assert re.findall(rf"\| `{half}`, today \| (\d+ of \d+) \|", PAGE) == [f"{agreed} of {len(known)}"]
    assert all(MISSED[one["id"]][0] != one["expected"] for one in known if one["id"] in MISSED)


@pytest.mark.parametrize("times", [1, 3])
def test_f_proc_26_an_outage_that_lasts_is_waited_out_each_time(times: int) -> None:
    """From the second time on an agent whose connection broke asked a person, and rested."""
    broke = next(case for case in cases("cut_open.json") if case["id"] == "cut-10")
    before = {"previous_cuts_in_session": times, "cuts_in_a_row_before": times, "told_to_go_on_in_a_row": times}

    assert worth({**broke, "facts": {**broke["facts"], **before}}) == "wait"
