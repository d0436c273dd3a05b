"""The proof's own arithmetic."""

from __future__ import annotations

import pytest

from tests.proof.resonance import interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (3, 10, 0.0667, 0.6525), (0, 1000, 0.0, 0.003682)],
)
def test_the_interval_is_clopper_and_pearsons(successes: int, trials: int, low: float, high: float) -> None:
    assert interval(successes, trials) == pytest.approx((low, high), abs=1e-4)
