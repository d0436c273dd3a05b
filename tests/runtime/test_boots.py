"""What the daemon remembers of its boot, and whom it asks before it says that all is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from phoenixd.core.boot import Boot
from phoenixd.errors import JournalFailed, ShimFailed
from phoenixd.runtime.recovery import BOOT_KEY, TABLE_KEY, why_all_is_gone
from tests.core.story import Story

THEN, NOW = Boot("b", 7, 100), Boot("b", 7, 900)


class Kept(dict[str, str]):
    """A journal's small facts."""

    async def recall(self, key: str) -> str | None:
        return self.get(key)

    async def remember(self, key: str, value: str) -> None:
        self[key] = value


def world(kept: Kept, boot: Boot, listens: object = None) -> tuple[Any, Any]:
    async def connect(agent: str) -> object:
        if isinstance(listens, Exception):
            raise listens
        return listens

    shims, processes = SimpleNamespace(connect=connect), SimpleNamespace(boot=lambda: boot)
    return SimpleNamespace(fleet=Story().fleet), SimpleNamespace(journal=kept, shims=shims, processes=processes)


@pytest.mark.parametrize(
    ("listens", "gone"), [(None, True), ("a hello", False), (ShimFailed("served by another pid"), False)]
)
async def test_promise_2_another_process_table_is_proof_only_where_no_shim_answers(listens: object, gone: bool) -> None:
    kept = Kept({BOOT_KEY: THEN.boot_id, TABLE_KEY: THEN.table})
    supervisor, outside = world(kept, NOW, listens)

    with capture_logs() as said:
        assert bool(await why_all_is_gone(supervisor, outside, NOW)) is gone
    assert ("all_runs_are_gone" in [line["event"] for line in said]) is gone
    assert kept == {BOOT_KEY: "b", TABLE_KEY: NOW.table}


async def test_a_journal_that_knows_only_a_boot_id_goes_on_and_learns_the_table() -> None:
    """As an older phoenixd leaves it, and as it reads it again: the boot id stands there as ever."""
    kept = Kept({BOOT_KEY: "b"})
    supervisor, outside = world(kept, NOW)

    assert await why_all_is_gone(supervisor, outside, NOW) is None
    assert kept == {BOOT_KEY: "b", TABLE_KEY: NOW.table}
    assert await why_all_is_gone(supervisor, outside, NOW) is None
    assert await why_all_is_gone(supervisor, outside, Boot("c", 7, 900)) is not None


class Full(Kept):
    async def remember(self, key: str, value: str) -> None:
        raise JournalFailed("the disk is full")


@pytest.mark.parametrize("known", [{BOOT_KEY: "b", TABLE_KEY: NOW.table}, {BOOT_KEY: "b"}])
async def test_f_st_3_a_daemon_of_the_same_boot_starts_though_nothing_can_be_written(known: dict[str, str]) -> None:
    supervisor, outside = world(Full(known), NOW)

    assert await why_all_is_gone(supervisor, outside, NOW) is None


async def test_what_cannot_be_remembered_of_another_process_table_ends_the_start() -> None:
    supervisor, outside = world(Full({BOOT_KEY: "b", TABLE_KEY: THEN.table}), NOW)

    with pytest.raises(JournalFailed):
        await why_all_is_gone(supervisor, outside, NOW)
