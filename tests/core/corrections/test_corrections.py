"""F-PROC-9: which corrections start an agent that was given up, in cases by one who knew neither code nor tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.blind.frozen import Case
from tests.core.corrections.given import HELD, OPEN
from tests.core.corrections.missed import MISSED
from tests.core.corrections.playing import CORRECTIONS, starts

GIVEN = OPEN | HELD


@pytest.mark.parametrize("case", CORRECTIONS.cases(), ids=lambda case: case["id"])
def test_f_proc_9_an_agent_that_was_given_up_is_started_by_what_can_cure_it_alone(case: Case) -> None:
    begun, why = starts(GIVEN[case["id"]])
    agrees = begun == (case["expected"]["starts"] == "yes")

    assert agrees == (case["id"] not in MISSED), f"{why}; {case['why']}"


@pytest.mark.parametrize("half", CORRECTIONS.halves, ids=lambda half: half.name)
def test_the_cases_are_those_that_were_frozen(half: Path) -> None:
    assert CORRECTIONS.wrong_on_page(half) == []


def test_the_page_names_each_case_that_was_missed() -> None:
    page = (CORRECTIONS.folder / "README.md").read_text()

    assert set(re.findall(r"^\| `(COR-\d+)` \|", page, re.MULTILINE)) == set(MISSED)
