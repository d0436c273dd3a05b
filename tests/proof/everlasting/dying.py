"""The daemon, which dies by SIGKILL at a step of a handoff: `PHX_PROOF_DIES_AT=STEP:WHEN python -m ... ARGUMENTS`.

WHEN: `before` in place of the first commit that names the step, else the seconds after it. A step that a commit
passes through, because nothing has to be waited for there, counts as named by the commit that left it behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from phoenixd.__main__ import main
from phoenixd.core.handoff.state import Handoff
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch

STEP, _, WHEN = os.environ.get("PHX_PROOF_DIES_AT", ":").partition(":")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def names(handoff: Handoff | None) -> bool:
    """Whether a handoff is at that step, or went through it a moment ago."""
    return handoff is not None and (handoff.step.value == STEP or any(one.step.value == STEP for one in handoff.times))


class Watch:
    """What the journal was told of handoffs before this daemon's life does not count."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.is_first = True

    def is_due(self, batch: Batch) -> bool:
        present = {seat.handoff.id: seat.handoff for seat in batch.seats if seat.handoff is not None}
        if self.is_first:
            self.is_first, self.known = False, set(present)
        return any(id not in self.known and names(one) for id, one in present.items())


def watched(watch: Watch) -> None:
    real = SqliteJournal.commit

    async def commit(self: SqliteJournal, batch: Batch) -> tuple[int, ...]:
        due = watch.is_due(batch)
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
    watched(Watch())
    sys.exit(main())
