"""How several workers share the tests: what waits first and one by one, what computes file by file."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.distribution import ROOMS_TOGETHER, TOGETHER, WAITING, unit, units

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("place", sorted({*WAITING, *TOGETHER, *ROOMS_TOGETHER}))
def test_each_place_of_the_table_is_there(place: str) -> None:
    assert (TESTS / place).exists()


def test_no_test_is_apart_from_another_that_shares_a_fixture_with_it() -> None:
    """Apart, each worker would make it again: a container, a recorded session."""
    for path in TESTS.glob("**/test_*.py"):
        name = f"tests/{path.relative_to(TESTS)}::test"
        if re.search(r"fixture\(.*scope=\"(?:module|package)\"", path.read_text(encoding="utf-8")):
            assert unit(name) != name, name


def test_what_waits_is_apart_and_what_computes_is_together() -> None:
    assert unit("tests/e2e/test_lifecycle.py::test_a[b::c]") == "tests/e2e/test_lifecycle.py::test_a[b::c]"
    assert unit("tests/core/test_boot.py::TestA::test_b") == "tests/core/test_boot.py"
    assert unit("tests/start/test_ahead.py::test_a") == unit("tests/start/test_orders.py::test_b")


def test_what_is_long_comes_first_and_a_file_stays_whole() -> None:
    items = [
        item("tests/core/test_boot.py::test_a"),
        item("tests/ctl/test_watch.py::test_b"),
        item("tests/core/test_boot.py::test_c"),
        item("tests/e2e/test_loops.py::test_d"),
        item("tests/ctl/test_watch.py::test_e", "slow"),
    ]

    assert units(items) == [[4], [3], [1], [0, 2]]


def item(nodeid: str, *marks: str) -> pytest.Item:
    return Mock(nodeid=nodeid, get_closest_marker=lambda mark: mark in marks)
