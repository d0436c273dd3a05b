"""The daemon, which dies by SIGKILL at a step of a restoration: `PHX_PROOF_DIES_AT=STEP:WHEN python -m ... ARGUMENTS`.

STEP: its number, from 1 to 7. WHEN: `before` in place of the first commit that notes the step, else so many seconds
after it. One commit may note several steps, where nothing has to be waited for in between.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from phoenixd.__main__ import main
from phoenixd.core.facts import MarkerNoted
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch

STEP, _, WHEN = os.environ.get("PHX_PROOF_DIES_AT", "0:0").partition(":")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def is_due(batch: Batch) -> bool:
    return any(
        isinstance(fact, MarkerNoted) and fact.what == "restoration" and fact.step == int(STEP)
        for entry in batch.entries
        for fact in entry.facts
    )


def watched() -> None:
    real = SqliteJournal.commit

    async def commit(self: SqliteJournal, batch: Batch) -> tuple[int, ...]:
        due = is_due(batch)
        if due and WHEN == "before":
            die()
        landed = await real(self, batch)
        if due and float(WHEN) == 0:
            die()
        elif due:
            threading.Timer(float(WHEN), die).start()
        return landed

    SqliteJournal.commit = commit  # type: ignore[method-assign]


if __name__ == "__main__":
    watched()
    sys.exit(main())
