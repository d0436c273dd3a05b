"""A daemon that ends says which decisions may be lost, and nothing where none may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from phoenixd.ports.journal import Entry
from phoenixd.runtime.ending import LAST_COMMITS, finish


@pytest.mark.parametrize("degraded", [None, "the disk is full"])
@pytest.mark.parametrize("unsaved", [("b", None, "a", "b"), ()])
async def test_what_may_not_be_durable_at_the_end_is_told_with_a_remedy(
    unsaved: tuple[str | None, ...], degraded: str | None
) -> None:
    asked: list[float] = []

    async def last(patience: float) -> tuple[Entry, ...]:
        asked.append(patience)
        return tuple(Entry(0.0, 0.0, name, 1, "hook_seen", {}) for name in unsaved)

    with capture_logs() as said:
        await finish(cast(Any, SimpleNamespace(finish=last, degraded=degraded)))

    assert asked == [LAST_COMMITS]
    if not unsaved:
        assert said == []
        return
    (told,) = said
    assert (told["log_level"], told["event"], told["rows"], told["agents"]) == (
        "error", "decisions_unsaved", 4, ["a", "b"],
    )  # fmt: skip
    assert told["reason"] == (degraded or "the commit of the newest decision is late")
    assert "phoenixctl status" in told["remedy"]
