"""Which row of the journal opened the state that an agent is in."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.openings import openings
from tests.core.story import EPOCH, Story, spec

STORY = Story(spec("a"))
STORY.pass_over(100)
STORY.start()
OPENED = STORY.agent.since_wall


def row(seq: int, wall: float = OPENED, **told: Any) -> StoredEntry:
    found: dict[str, Any] = {"state": STORY.agent.state.name, "reason": STORY.agent.reason, **told}
    return StoredEntry(seq, Entry(0.0, wall, found.pop("agent", "a"), 1, "start_requested", {}, **found))


@pytest.mark.parametrize(
    ("rows", "opened"),
    [
        ([row(7)], 7),
        ([row(7), row(8, OPENED + 5)], 7),
        ([row(5, EPOCH), row(7)], 7),
        ([row(6, reason="another one"), row(7)], 7),
        ([row(6, state="running"), row(7)], 7),
        ([row(6, agent="b"), row(7)], 7),
        ([row(5, EPOCH)], None),
        ([row(0)], None),
        ([], None),
    ],
)
def test_the_row_of_a_state_is_the_first_since_it_began_that_tells_of_it(
    rows: list[StoredEntry], opened: int | None
) -> None:
    assert list(openings(rows, [STORY.agent])) == ([("a", opened)] if opened is not None else [])
