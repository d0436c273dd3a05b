"""Which way to the operator is new: by what the daemon before remembered of its own."""

from __future__ import annotations

from typing import Any, cast

from phoenixd.errors import JournalFailed
from phoenixd.runtime.ways import new_ways
from tests.runtime.test_boots import Kept


async def test_a_way_is_new_once_and_again_where_it_leads_elsewhere() -> None:
    kept = cast(Any, Kept())
    for ways, new in (
        ({}, set()),
        ({"command": "a"}, {"command"}),
        ({"command": "a"}, set()),
        ({"command": "b", "webhook": "c"}, {"command", "webhook"}),
        ({"webhook": "c"}, set()),
        ({"command": "b", "webhook": "c"}, {"command"}),
    ):
        assert await new_ways(kept, ways) == new


async def test_where_nothing_was_remembered_no_way_is_taken_for_new() -> None:
    """An older version did not remember them, and has told by them all the same."""
    assert await new_ways(cast(Any, Kept()), {"command": "a"}) == set()


async def test_where_the_journal_cannot_tell_nobody_is_told_twice() -> None:
    class Broken(Kept):
        async def recall(self, key: str) -> str | None:
            raise JournalFailed("no")

    assert await new_ways(cast(Any, Broken()), {"command": "a"}) == set()
