"""How several workers share the tests: what waits first and one by one, one worker computing from the other end."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from unittest.mock import Mock

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.distribution import COMPUTING, TOGETHER, WAITING, LongestFirst, unit

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("place", [*WAITING, *TOGETHER])
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


def test_one_worker_takes_from_the_end_and_the_others_from_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(
        LoadScopeScheduling,
        "_assign_work_unit",
        lambda self, node: taken.append((node.gateway.id, self.workqueue.popitem(last=False)[0])),
    )
    scheduler = object.__new__(LongestFirst)
    nodes = [Mock(**{"gateway.id": name}) for name in (COMPUTING, "gw1")]
    scheduler.assigned_work = {node: {} for node in nodes}
    scheduler.workqueue = OrderedDict((name, {}) for name in "abcd")

    for node in (*nodes, *nodes):
        scheduler._assign_work_unit(node)

    assert taken == [(COMPUTING, "d"), ("gw1", "a"), (COMPUTING, "c"), ("gw1", "b")]
