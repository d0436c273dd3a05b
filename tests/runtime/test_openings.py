"""Which row of the journal opened an agent's state: what status gives as its reason's source."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from phoenixd.core.events.orders import StopRequested
from phoenixd.core.facts import StateOpened
from phoenixd.core.step import step
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.openings import LOOK_BACK, openings, recall
from phoenixd.runtime.turn import Turn
from tests.core.story import EPOCH, Story

AGENT = replace(Story().runs().agent, reason="it runs", since_wall=EPOCH)
OPENED = (StateOpened(EPOCH),)


def row(number: int, **changes: Any) -> StoredEntry:
    """A row that opens the state of AGENT, as an older version wrote it, but for the changes."""
    entry = Entry(0.0, EPOCH, "a", 1, "AgentStarted", {}, AGENT.state_name, AGENT.reason)
    return StoredEntry(number, replace(entry, **changes))


def test_a_row_that_bears_the_key_of_the_state_opened_it_whatever_its_words_are() -> None:
    """Others of the same turn have the same time, the same state, and may have the same words."""
    rows = [row(1), row(2, reason="", facts=OPENED), row(3, facts=(StateOpened(EPOCH - 5),)), row(4)]

    assert list(openings(rows, [AGENT])) == [("a", 2)]


def test_a_row_that_gave_the_state_another_reason_is_the_newer_source() -> None:
    assert list(openings([row(1, facts=OPENED), row(2, wall=EPOCH + 5, facts=OPENED)], [AGENT])) == [("a", 2)]


def test_of_an_older_version_it_is_the_first_row_of_the_moment_at_which_the_state_began() -> None:
    """The last run may have ended with the same words a moment before."""
    rows = [row(1, wall=EPOCH - 0.5), row(2, wall=EPOCH - 0.0005, reason="what is due, in 1.1 s"), row(3)]

    assert list(openings(rows, [AGENT])) == [("a", 2)]


@pytest.mark.parametrize(
    "other",
    [
        {"agent": "b"}, {"agent": None}, {"state": None}, {"state": "down"}, {"wall": EPOCH - 0.5}, {"wall": EPOCH + 5},
        {"facts": (StateOpened(EPOCH - 5),)}, {"facts": OPENED, "agent": "b"},
    ],
    ids=str,
)  # fmt: skip
def test_a_row_of_something_else_opened_nothing(other: dict[str, Any]) -> None:
    assert list(openings([row(1, **other)], [AGENT])) == []


def test_what_a_turn_saves_bears_the_key_where_a_state_was_opened() -> None:
    story, turn = Story().runs(), Turn()
    for event in (StopRequested("a"), StopRequested("a")):
        found = step(story.fleet, event, story.now)
        turn.note(event, found.decisions, story.now, lambda text: text)
        story.fleet = found.fleet

    keys = [[fact for fact in entry.facts if isinstance(fact, StateOpened)] for entry in turn.entries]
    assert keys == [[StateOpened(story.agent.since_wall)], []], "the second one finds it stopping already"


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
