"""F-ST-6: that loops of an agent have become stale is told once, and that it is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.memory.stale_loops import KIND
from tests.memory.desk import LOOP, place
from tests.start.places import NOW, Room

OLD = [{**LOOP, "id": f"loop-{number}", "added": "2026-10-01"} for number in range(5)]


@pytest.fixture
def told(room: Room) -> list[Event]:
    told: list[Event] = []
    room.options = {"tell": told.append}
    room.restarted()
    return told


def kinds(told: list[Event]) -> list[str]:
    trouble = [one for one in told if isinstance(one, TroubleSeen | TroubleGone) and one.kind == KIND]
    return [type(one).__name__ for one in trouble]


async def test_f_st_6_loops_that_became_stale_are_told_once_until_none_is(room: Room, told: list[Event]) -> None:
    place(room, open_loops=[LOOP])
    await room.papers.publish(room.agent(), [])
    assert kinds(told) == []

    room.clock.wall = NOW + 20 * 86_400
    for _ in range(2):
        await room.papers.publish(room.agent(), [])
    assert kinds(told) == ["TroubleSeen"]
    (seen,) = [one for one in told if isinstance(one, TroubleSeen)]
    assert seen.text == "auth-flow: open for more than 14 days. See: phoenixctl loops a"
    assert await room.papers.resolve(room.agent(), "auth-flow", "tested") == "resolved"
    await room.papers.publish(room.agent(), [])
    assert kinds(told) == ["TroubleSeen", "TroubleGone"]


@pytest.mark.parametrize("stands", [True, False])
async def test_f_st_6_the_next_daemon_tells_it_only_where_it_was_not_told(
    room: Room, told: list[Event], stands: bool
) -> None:
    alerts = (StandingAlert(1, KIND, "", NOW, 1, True),) if stands else ()
    place(room, open_loops=OLD)

    await room.papers.publish(replace(room.agent(), alerts=alerts), [])

    assert kinds(told) == ([] if stands else ["TroubleSeen"])
    texts = [one.text for one in told if isinstance(one, TroubleSeen)]
    assert [text.partition(":")[0] for text in texts] == [] if stands else ["loop-0, loop-1, loop-2 and 2 more"]
