"""Promises 3 and 9: a journal that is behind the world kills nobody, starts nothing that was stopped, and is told."""

from __future__ import annotations

from collections import Counter

from tests.core.lost_journals import play

ROUNDS = 200
"""`./dev proof journals` plays 10,000."""


async def test_promise_9_lost_journals_in_a_virtual_world() -> None:
    met: Counter[str] = Counter()
    for seed in range(ROUNDS):
        met[(await play(seed)).partition(",")[0]] += 1
    assert len(met) == 5, met
