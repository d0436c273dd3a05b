"""`python -m tests.bench.marked.ordered_daemon MARKS [arguments of phoenixd]`: the daemon, with marks on orders.

Only what belongs to an order is marked, so that a flood of hooks costs what it costs without marks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import phoenixd.__main__ as program
from phoenixd.api.connection import Connection
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.writer import Writer
from phoenixd.runtime.arrivals import Arrivals
from phoenixd.runtime.dues import Dues
from phoenixd.runtime.stepping import Stepping
from tests.bench.marked.pen import Pen


class Orders:
    """Whether the turn that is under way has an order in it: there is one turn at a time, and one order."""

    def __init__(self, pen: Pen) -> None:
        self.pen = pen
        self.is_under_way = False

    def put_marks(self) -> None:
        """Put a mark at each step between the client's connection and its answer."""
        self.pen.at_begin(Connection, "connection_made", "accepted")
        self.pen.at_begin(Connection, "data_received", "read")
        self.pen.at_end(Connection, "on_response_complete", "written")
        self._mark_queue()
        self._mark_turns()
        counts = lambda *args: self.is_under_way  # noqa: E731
        self.pen.at_begin(SqliteJournal, "commit", "handed", counts)
        self.pen.at_begin(Writer, "write", "thread", counts)
        self.pen.at_end(Writer, "write", "committed", counts)
        self.pen.at_begin(Dues, "add", "saved", counts)

    def _mark_queue(self) -> None:
        put = Arrivals.put

        def marked(arrivals: Arrivals, waiting: Any, **named: Any) -> None:
            if waiting.done is not None:
                waiting.done = self._marked_answer(waiting.done)
                self.pen.mark("queued")
            put(arrivals, waiting, **named)

        Arrivals.put = marked  # type: ignore[method-assign]

    def _marked_answer(self, done: Callable[[Any], None]) -> Callable[[Any], None]:
        def marked(refusal: Any) -> None:
            self.is_under_way = False
            self.pen.mark("kept")
            done(refusal)

        return marked

    def _mark_turns(self) -> None:
        step_all = Stepping.turn

        async def marked(stepping: Stepping, *given: Any) -> Any:
            began = time.monotonic_ns()
            turn, now = await step_all(stepping, *given)
            if turn.answers:
                self.is_under_way = True
                self.pen.mark("turn", began)
                self.pen.mark("stepped")
            return turn, now

        Stepping.turn = marked  # type: ignore[method-assign]


if __name__ == "__main__":
    Orders(Pen(sys.argv[1])).put_marks()
    sys.exit(program.main(sys.argv[2:]))
