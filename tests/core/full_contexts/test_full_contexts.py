"""F-HO-1: of a context that is full the right thing follows, and of what only sounds so nothing does."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.core.full_contexts.playing import Case, cases, decided

MISSED = {
    "h01": "of a task's worker a person is called for whatever ended its turn, so that the two are one",
    "h17": "a limit in characters, of one message",
}
"""Of the half that was opened last. A change that makes the rule know them takes them off here, not into its figure."""


@pytest.mark.parametrize("case", cases("open.json"), ids=lambda case: case["id"])
def test_f_ho_1_a_case_that_was_frozen_before_the_rule_was_finished(case: Case) -> None:
    assert decided(case) == case["expected"], case["why"]


@pytest.mark.parametrize("case", cases("held.json"), ids=lambda case: case["id"])
def test_f_ho_1_a_case_of_the_half_that_the_rule_was_not_made_for(case: Case) -> None:
    assert (decided(case) == case["expected"]) == (case["id"] not in MISSED), case["why"]


def test_every_half_is_as_it_was_frozen() -> None:
    here = Path(__file__).parent
    named = dict(re.findall(r"\| `(\w+\.json)` \| 20 \| ([0-9a-f]{64}) \|", (here / "README.md").read_text()))

    assert {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in here.glob("*.json")} == named
