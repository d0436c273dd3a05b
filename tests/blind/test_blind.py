"""The corpora that were written blind: no living agent is ended, no working loop is stopped, and few others are missed.

`./dev proof blind` plays all of them, and names each case that came out otherwise than its author said. The gate plays
every eighth case of a late disk and every second of the loops, whose gits are real.
"""

from __future__ import annotations

import pytest

from tests.blind.__main__ import CORPORA, MOST_MISSED, figures, play_all
from tests.blind.tables import HALVES, cases

LEAST = {"disk": 12, "question": 17, "directory": 8}
"""Cases of a half at least, where they are not 20."""


EVERY = {"disk": 8, "breaker": 2}
"""Of a corpus that takes long the gate plays every n-th case."""

WHOLE = [pytest.param(corpus, half, 1, marks=pytest.mark.proof) for corpus in EVERY for half in HALVES]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "half", "every"),
    [*((corpus, half, EVERY.get(corpus, 1)) for corpus in CORPORA for half in HALVES), *WHOLE],
)
def test_judgement_holds_where_its_author_has_not_looked(corpus: str, half: str, every: int) -> None:
    known = len(cases(corpus, half, CORPORA[corpus][0]))
    if not known:
        pytest.skip(f"not run: the {half} half of {corpus} is not opened yet")
    assert known >= LEAST.get(corpus, 20)
    outcomes = play_all(corpus, half, every=every)
    assert not [one for one in outcomes if one.false_kill]
    assert figures(outcomes)["missed"] <= MOST_MISSED * len(outcomes), [one for one in outcomes if not one.is_right]
