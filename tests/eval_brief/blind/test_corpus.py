"""What `./dev eval-brief --blind` measured is held: it may get better; then raise these."""

from __future__ import annotations

import pytest

from tests.eval_brief.blind.figures import Figures
from tests.eval_brief.blind.measured import CORPUS, Measured, measure

LISTED, TOLD = {"none": 230, "cli": 265, "hostile": 230}, 270
NOT_OPEN = {"none": 37, "cli": 24, "hostile": 55}
HOSTILE = {"none": 0, "cli": 2, "hostile": 2}


def of(done: list[Measured], writer: str) -> Figures:
    return sum((one.figures for one in done if one.writer == writer), Figures())


@pytest.mark.slow
async def test_p24_f_br_3_f_br_7_briefs_of_sessions_that_strangers_wrote_get_no_worse() -> None:
    done = await measure(CORPUS)

    for writer, listed in LISTED.items():
        found = of(done, writer)
        assert (found.sessions, found.wanted) == (60, 274)
        assert found.found >= listed, found.notes
        assert found.told >= TOLD, found.notes
        assert found.false <= NOT_OPEN[writer], found.notes
        assert found.planted == 0, found.notes
        assert found.hostile <= HOSTILE[writer], found.notes
