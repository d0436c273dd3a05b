"""How the workers of pytest-xdist share the tests: what waits goes first and test by test, computation beside it.

A test that drives real processes mostly waits, so it is a unit of its own, and more of them run than there are cores.
The others stay together by file. One worker takes from the other end of the queue: it computes while the rest wait.
"""

from __future__ import annotations

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling
from xdist.workermanage import WorkerController

# Rooms of real processes, those with the longest tests first.
WAITING = ("systemd/", "e2e/", "real/", "ctl/", "start/", "memory/", "shim/", "blind/")
LONG_MARKS = ("faults", "real_claude", "slow")
# One fixture serves the whole file: were its tests apart, each worker would make the fixture again.
TOGETHER = ("systemd/test_live.py", "e2e/test_answers.py", "e2e/test_installed.py", "memory/brief/")
COMPUTING = "gw0"


class LongestFirst(LoadScopeScheduling):
    """Hand out the queue from the front, and to one worker from the back."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node.gateway.id == COMPUTING and len(self.nodes) > 1:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


def unit(nodeid: str) -> str:
    """Return what one worker runs without a break: the test, or its file."""
    place = nodeid.removeprefix("tests/")
    if place.startswith(WAITING) and not place.startswith(TOGETHER):
        return nodeid
    return nodeid.split("::", 1)[0]


def rank(item: pytest.Item) -> tuple[bool, int]:
    """Return the place of a test in the queue; equal ranks keep the order in which pytest found them."""
    is_short = not any(item.get_closest_marker(mark) for mark in LONG_MARKS)
    place = item.nodeid.removeprefix("tests/")
    rooms = [number for number, room in enumerate(WAITING) if place.startswith(room)]
    return is_short, rooms[0] if rooms else len(WAITING)
