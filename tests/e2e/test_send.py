"""Texts to terminals that misbehave: each arrives exactly once, or is reported as not delivered (F-TMUX-9)."""

from __future__ import annotations

import pytest

from phoenixd.demo.stage import Stage
from tests.proof.prompts import QUICK, correspond


@pytest.mark.slow
def test_f_tmux_9_each_of_20_prompts_arrives_exactly_once_or_is_reported_as_not_delivered(stage: Stage) -> None:
    found = correspond(stage, QUICK, 5, seed=2)

    assert [wrong for one in found for wrong in one.wrong] == []
    assert sum(one.approved for one in found) == 0
    assert sum(len(one.said) for one in found) == 20
    assert sum(sum(one.said.values()) for one in found) >= 10, [one.reasons for one in found]
