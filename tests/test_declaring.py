"""Orders that look at the configuration at the same time lose nothing of each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.core.fleet import Fleet
from phoenixd.service.declarations import Declarations


async def test_the_files_that_two_plans_read_at_once_are_known_as_read_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read once and is gone is told as lost, and removes no agent."""

    async def seen(*_: object) -> dict[str, object]:
        await checkpoint()
        return {}

    monkeypatch.setattr(Declarations, "_seen", seen)
    parts: Any = SimpleNamespace(fleet=Fleet())
    declarations = Declarations(parts, parts, parts, parts, {}, parts, parts, parts, frozenset({"before"}))
    async with anyio.create_task_group() as tasks:
        for name in ("one", "two"):
            found = SimpleNamespace(agents={}, read=frozenset({name}))
            tasks.start_soon(declarations._compare, cast(Any, found))

    assert declarations.files == {"before", "one", "two"}
