"""F-HO-1: of a context that is full the right thing follows, and of what only sounds so nothing does."""

from __future__ import annotations

import pytest

from tests.blind.frozen import Case, cases, digest, digests
from tests.core.full_contexts.missed import FULL_MISSED
from tests.core.full_contexts.playing import FULL, decided

OPEN, HELD = FULL.halves


@pytest.mark.parametrize("case", cases(OPEN), ids=lambda case: case["id"])
def test_f_ho_1_a_case_that_was_frozen_before_the_rule_was_finished(case: Case) -> None:
    assert decided(case) == case["expected"], case["why"]


@pytest.mark.parametrize("case", cases(HELD), ids=lambda case: case["id"])
def test_f_ho_1_a_case_of_the_half_that_the_rule_was_not_made_for(case: Case) -> None:
    assert (decided(case) == case["expected"]) == (case["id"] not in FULL_MISSED), case["why"]


def test_every_half_is_as_it_was_frozen() -> None:
    page = (FULL.folder / "README.md").read_text()

    assert {one.name: digest(one) for one in FULL.folder.glob("*.json")} == digests(page)
    assert [FULL.wrong_on_page(half) for half in FULL.halves] == [[], []]
