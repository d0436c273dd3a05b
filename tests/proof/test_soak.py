"""A soak names what grows, and never takes too few samples for a verdict."""

from __future__ import annotations

import random

from tests.proof.soak import BLOCKS, grown


def test_f_sy_17_what_rises_is_named_and_what_only_varies_is_not() -> None:
    dice = random.Random(1)
    samples = [
        {"leaks": 1000.0 + 5 * number + dice.gauss(0, 20), "varies": 1000.0 + dice.gauss(0, 20)}
        for number in range(20 * BLOCKS)
    ]

    assert grown(samples) == ["leaks"]


def test_f_sy_17_too_few_samples_are_no_verdict() -> None:
    assert grown([{"files": 1.0}] * (BLOCKS - 1)) == ["not to be told from 11 samples: give it more --minutes"]
    assert grown([{"files": 1.0}] * BLOCKS) == []
