"""`python -m tests.bench.marked.marked_daemon MARKS [arguments of phoenixd]`: the daemon, with marks."""

from __future__ import annotations

import sys
from pathlib import Path

import phoenixd.__main__ as program
from phoenixd.core.actions import Action, Spawn
from phoenixd.drivers.journal import sqlite
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.writer import Writer
from phoenixd.drivers.shims.orders import Orders
from phoenixd.ports.shims import ShimCommand, ShimMessage
from phoenixd.runtime.dues import Dues
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.performer import Performer
from phoenixd.runtime.run_orders import RunOrders
from phoenixd.runtime.stepping import Stepping
from phoenixd.start.starter import Starter
from tests.bench.marked.pen import Pen

SHIM = Path(__file__).with_name("marked_shim.py")


def _tells_of_an_end(_hearing: Hearing, message: ShimMessage) -> bool:
    return message.event == "exited"


def _starts(_performer: Performer, action: Action) -> bool:
    return isinstance(action, Spawn)


def put_marks(pen: Pen) -> None:
    """Put a mark at each step between the word of a death and the order."""
    pen.at_begin(Hearing, "hear", "heard", _tells_of_an_end)
    pen.at_begin(Stepping, "turn", "turn")
    pen.at_end(Stepping, "turn", "stepped")
    pen.at_begin(SqliteJournal, "commit", "asked to save")
    pen.at_end(sqlite, "batch_rows", "rows")
    pen.at_begin(Writer, "write", "thread")
    pen.at_end(Writer, "write", "committed")
    pen.at_begin(Dues, "add", "saved")
    pen.at_begin(Performer, "submit", "acted", _starts)
    pen.at_begin(RunOrders, "spawn", "lane")
    pen.at_begin(Starter, "_write", "files")
    pen.at_end(Starter, "_write", "written")
    pen.at_begin(Orders, "start", "ordered")


def put_marks_into_shims(marks: str) -> None:
    """Have every shim started by the program that puts marks into it."""
    stand_for = Starter._stand_for

    def marked(starter: Starter, agent: str) -> ShimCommand:
        argv = stand_for(starter, agent).argv
        return ShimCommand((*argv[:3], str(SHIM), marks, *argv[3:]))

    Starter._stand_for = marked  # type: ignore[method-assign]


if __name__ == "__main__":
    put_marks(Pen(sys.argv[1]))
    put_marks_into_shims(sys.argv[1])
    sys.exit(program.main(sys.argv[2:]))
