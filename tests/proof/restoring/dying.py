"""The daemon, which dies by SIGKILL at a step of a restoration: `PHX_PROOF_DIES_AT=FILE python -m ... ARGUMENTS`.

FILE holds STEP:WHEN as long as a death is wanted, and is removed by it. STEP: its number, from 1 to 7. WHEN: `before`
in place of the first commit that notes the step, else the seconds after it. One commit may note several steps,
where nothing has to be waited for in between.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from phoenixd.__main__ import main
from phoenixd.core.facts import MarkerNoted
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch

WANTED = Path(os.environ["PHX_PROOF_DIES_AT"])


def die() -> None:
    WANTED.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def due(batch: Batch) -> str:
    """When this daemon is to die, by the steps that a commit notes; empty: not by this one."""
    steps = {
        fact.step
        for entry in batch.entries
        for fact in entry.facts
        if isinstance(fact, MarkerNoted) and fact.what == "restoration"
    }
    if not steps or not WANTED.exists():
        return ""
    step, _, when = WANTED.read_text().partition(":")
    return when if int(step) in steps else ""


def watched() -> None:
    real = SqliteJournal.commit

    async def commit(self: SqliteJournal, batch: Batch) -> tuple[int, ...]:
        when = due(batch)
        if when == "before":
            die()
        landed = await real(self, batch)
        if when and float(when) == 0:
            die()
        elif when:
            threading.Timer(float(when), die).start()
        return landed

    SqliteJournal.commit = commit  # type: ignore[method-assign]


if __name__ == "__main__":
    watched()
    sys.exit(main())
