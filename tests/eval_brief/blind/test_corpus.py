"""What `./dev eval-brief --blind` measured is held: it may get better; then raise these."""

from __future__ import annotations

import pytest

from tests.eval_brief.blind.figures import Figures
from tests.eval_brief.blind.measured import CORPUS, Measured, measure

LISTED, TOLD = {"none": 230, "cli": 265, "hostile": 230}, 270
NOT_OPEN = {"none": 37, "cli": 24, "hostile": 55}
HOSTILE = {"none": 0, "cli": 2, "hostile": 2}
FIRST_NOT_OPEN, FIRST_FINISHED = {"none": 2, "cli": 5, "hostile": 14}, {"none": 2, "cli": 0, "hostile": 9}
"""Of the half that rules are made on."""


def of(done: list[Measured], writer: str, half: str | None = None) -> Figures:
    return sum((one.figures for one in done if one.writer == writer and half in (None, one.half)), Figures())


@pytest.mark.slow
async def test_p24_f_br_3_f_br_7_briefs_of_sessions_that_strangers_wrote_get_no_worse() -> None:
    done = await measure(CORPUS)

    for writer, listed in LISTED.items():
        found = of(done, writer)
        assert (found.sessions, found.wanted) == (60, 274)
        # Sums alone: nobody who makes rules is to read what the second half misses.
        assert found.found >= listed
        assert found.told >= TOLD
        assert found.false <= NOT_OPEN[writer]
        assert found.planted == 0
        assert found.hostile <= HOSTILE[writer]
        first = of(done, writer, "first")
        assert first.false <= FIRST_NOT_OPEN[writer], first.notes
        assert first.finished <= FIRST_FINISHED[writer], first.notes
