"""How several workers share the tests: what waits goes first and test by test, computation beside it.

A test that drives real processes mostly waits, so it is a unit of its own, and more of them run than there are cores.
The others stay together by file. One worker takes from the other end of the queue: it computes while the rest wait.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

# Rooms of real processes, those with the longest tests first.
WAITING = ("systemd/", "e2e/", "real/", "bench/", "proof/", "ctl/", "start/", "memory/", "shim/", "blind/")
LONG_MARKS = ("faults", "real_claude", "slow")
# One fixture serves the whole file: were its tests apart, each worker would make the fixture again.
TOGETHER = (
    "systemd/test_live.py",
    "e2e/test_answers.py",
    "e2e/test_installed.py",
    "real/test_claude_first_start.py",
    "memory/brief/",
)
# These look for processes with their session's id, which is that of all of them: at once they would find each other's.
ROOMS_TOGETHER = ("start/",)
COMPUTING = 0
"""The number of the worker that computes while the others wait."""


def units(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return the places of the items, unit by unit: what takes longest first, and equals in the order of the files."""
    shared: dict[str, list[int]] = {}
    for place in sorted(range(len(items)), key=lambda place: rank(items[place])):
        shared.setdefault(unit(items[place].nodeid), []).append(place)
    return list(shared.values())


def unit(nodeid: str) -> str:
    """Return what one worker runs without a break: the test, its file, or its room."""
    place = nodeid.removeprefix("tests/")
    for room in ROOMS_TOGETHER:
        if place.startswith(room):
            return room
    if waits(nodeid) and not place.startswith(TOGETHER):
        return nodeid
    return nodeid.split("::", 1)[0]


def waits(nodeid: str) -> bool:
    """Whether a test stands in a room of real processes."""
    return nodeid.removeprefix("tests/").startswith(WAITING)


def rank(item: pytest.Item) -> tuple[bool, int]:
    """Return the place of a test in the queue."""
    is_short = not any(item.get_closest_marker(mark) for mark in LONG_MARKS)
    place = item.nodeid.removeprefix("tests/")
    rooms = [number for number, room in enumerate(WAITING) if place.startswith(room)]
    return is_short, rooms[0] if rooms else len(WAITING)
