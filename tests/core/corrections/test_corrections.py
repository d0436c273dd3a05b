"""F-PROC-9: which corrections start an agent that was given up, in cases by one who knew neither code nor tests."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest

from tests.core.corrections.given import HELD, OPEN
from tests.core.corrections.missed import MISSED
from tests.core.corrections.playing import HERE, cases, starts

PAGE = (HERE / "README.md").read_text()
GIVEN = OPEN | HELD


@pytest.mark.parametrize("case", [*cases("open.json"), *cases("held.json")], ids=lambda case: case["id"])
def test_f_proc_9_an_agent_that_was_given_up_is_started_by_what_can_cure_it_alone(case: dict[str, Any]) -> None:
    begun, why = starts(GIVEN[case["id"]])
    agrees = begun == (case["expected"]["starts"] == "yes")

    assert agrees == (case["id"] not in MISSED), f"{why}; {case['why']}"


@pytest.mark.parametrize("half", ["open.json", "held.json"])
def test_the_cases_are_those_that_were_frozen(half: str) -> None:
    frozen = dict(re.findall(r"\| `(\w+\.json)` \| 12 \| ([0-9a-f]{64}) \|", PAGE))

    assert hashlib.sha256((HERE / half).read_bytes()).hexdigest() == frozen[half]


def test_the_page_names_each_case_that_was_missed() -> None:
    assert set(re.findall(r"^\| `(COR-\d+)` \|", PAGE, re.MULTILINE)) == MISSED
