"""The thread that owns a connection serves what waits together, in order and within a bound."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.drivers.journal.thread import DatabaseThread


@pytest.mark.parametrize("largest", [1, 3])
async def test_what_waits_is_served_in_its_order_and_in_groups_up_to_the_bound(largest: int) -> None:
    groups: list[list[int]] = []
    may_serve = threading.Event()

    def serve(questions: Sequence[int]) -> Sequence[int]:
        may_serve.wait()
        groups.append(list(questions))
        return questions

    thread = DatabaseThread("of-a-test", serve, largest_group=largest)
    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(thread.ask, number)
        await checkpoint()
        may_serve.set()
    thread.close()

    assert [number for group in groups for number in group] == list(range(12))
    assert max(map(len, groups)) == largest
