"""Which row of the journal opened an agent's state: what status gives as its reason's source."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.openings import LOOK_BACK, openings, recall
from tests.core.story import EPOCH, Story

AGENT = replace(Story().runs().agent, reason="it runs", since_wall=EPOCH)


def row(number: int, **changes: Any) -> StoredEntry:
    """A row that opens the state of AGENT, but for the changes."""
    entry = Entry(0.0, EPOCH, "a", 1, "AgentStarted", {}, AGENT.state_name, AGENT.reason)
    return StoredEntry(number, replace(entry, **changes))


def test_the_first_row_of_a_state_since_it_began_opened_it() -> None:
    """The last run may have ended with the same words a moment before."""
    rows = [row(1, wall=EPOCH - 0.5), row(2, wall=EPOCH - 0.0005), row(3, wall=EPOCH + 5)]

    assert list(openings(rows, [AGENT])) == [("a", 2)]


def test_a_row_that_also_says_when_the_next_start_is_due_opened_the_state_all_the_same() -> None:
    assert list(openings([row(1, reason=f"{AGENT.reason}, in 1.1 s")], [AGENT])) == [("a", 1)]


@pytest.mark.parametrize(
    "other",
    [{"agent": "b"}, {"agent": None}, {"state": None}, {"state": "down"}, {"reason": "it ran"}, {"wall": EPOCH - 0.5}],
    ids=str,
)
def test_a_row_of_something_else_opened_nothing(other: dict[str, Any]) -> None:
    assert list(openings([row(1, **other)], [AGENT])) == []


def test_what_was_not_saved_is_no_source() -> None:
    assert list(openings([row(0)], [AGENT])) == []


async def test_rows_of_before_are_asked_of_the_newest_of_the_story_and_a_journal_that_fails_tells_of_none() -> None:
    asked: list[dict[str, Any]] = []

    async def read(**given: Any) -> list[StoredEntry]:
        asked.append(given)
        if len(asked) > 1:
            raise JournalFailed("it cannot be read")
        return [row(1, wall=EPOCH - 5), row(2)]

    opened: list[tuple[str, int]] = []
    for _ in range(2):
        journal: Any = SimpleNamespace(read=read)
        await recall(journal, [AGENT], lambda name, number: opened.append((name, number)))

    assert opened == [("a", 2)]
    assert asked == [{"newest": True, "story": True, "limit": LOOK_BACK}] * 2
