"""A fault with one agent's files is told, and ends neither the daemon nor the work for others."""

from __future__ import annotations

import anyio
import pytest
from structlog.testing import capture_logs

from phoenixd.errors import UnsafeFile
from phoenixd.memory.bulkhead import bulkhead


@pytest.mark.parametrize("fault", [UnsafeFile("odd"), OSError(28, "full"), ValueError("deep"), RecursionError()])
def test_every_fault_is_told_and_none_passes(fault: Exception) -> None:
    why: list[str] = []
    with capture_logs() as told, bulkhead("a", "its brief", why.append):
        raise fault
    assert [(one["agent"], one["doing"]) for one in told] == [("a", "its brief")]
    assert len(why) == 1


async def test_a_cancellation_passes() -> None:
    with anyio.move_on_after(0) as scope, bulkhead("a", "its brief"):
        await anyio.sleep(10)
    assert scope.cancelled_caught
