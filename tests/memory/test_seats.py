"""The papers of a seat: written for its holder alone, in one directory, whichever generation that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.spec import Kind
from phoenixd.errors import PhoenixdError
from phoenixd.memory.told_runs import told_to
from tests.start.places import Room, entry

ORDER = ("a", "a-g2")


class Seats:
    """Two generations of the orchestrator `a`; one of them holds the seat."""

    def __init__(self, room: Room) -> None:
        self.room, self.holder = room, 1
        room.papers._holds = room.papers.publication.desks.holds = lambda agent: agent.spec.generation == self.holder

    def generation(self, number: int, **changes: Any) -> Agent:
        spec = self.room.spec(kind=Kind.ORCHESTRATOR, seat="a", generation=number, name=ORDER[number - 1])
        return self.room.running(self.room.agent(spec, **changes))

    def files(self, number: int) -> set[str]:
        directory = self.room.state.parent / ORDER[number - 1]
        return {path.name for path in directory.iterdir()} if directory.is_dir() else set()


async def test_the_papers_stay_where_they_are_and_the_files_of_the_runs_go_with_the_generation(room: Room) -> None:
    seats = Seats(room)
    first, second = seats.generation(1), seats.generation(2)
    await room.papers.publish(first, [])
    await room.papers.publish(second, [])
    assert seats.files(2) <= {"session.json", *told_to(second.incarnation)}
    assert "session.json" in seats.files(2)
    assert room.document()["agent"] == "a"

    seats.holder = 2
    await room.papers.publish(replace(second, last_prompt="Go on with the cart."), [])
    assert room.document()["current_task"] == "Go on with the cart."
    assert room.document()["agent"] == "a"
    assert {"state.json", "brief.md", "ops.jsonl", "brief.json"}.isdisjoint(seats.files(2))


async def test_a_successor_is_told_the_papers_of_its_seat(room: Room) -> None:
    seats = Seats(room)
    await room.papers.publish(replace(seats.generation(1), last_prompt="Build the cart."), [])
    second = seats.generation(2)
    await room.papers.publish(second, [])

    told = (room.state.parent / "a-g2" / told_to(second.incarnation)[0]).read_text()
    assert "Build the cart." in told


async def test_a_fenced_generation_writes_nothing_though_it_was_waiting_to(room: Room) -> None:
    seats = Seats(room)
    first = seats.generation(1)
    await room.papers.publish(first, [])
    before = room.document()
    desk = room.papers.publication.desks.desk_of(first)
    late = replace(first, last_prompt="Too late.")

    seats.holder = 2
    room.papers.publication._write(desk, late, ())
    await room.papers.publish(late, [entry("hook_seen", kind="stop")])
    assert room.document() == before


async def test_a_brief_run_that_was_under_way_at_the_fence_writes_nothing(room: Room) -> None:
    seats = Seats(room)
    first = seats.generation(1)
    await room.papers.publish(first, [])
    before = {path.name: path.read_bytes() for path in room.state.iterdir() if path.is_file()}
    run = room.papers.briefing._runs
    gathered = run._gather

    def fenced_meanwhile(*given: Any) -> Any:
        found = gathered(*given)
        seats.holder = 2
        return found

    run._gather = fenced_meanwhile  # type: ignore[method-assign]
    with pytest.raises(PhoenixdError, match="does not hold its seat"):
        await room.papers.briefing.generate(first)
    written = {path.name: path.read_bytes() for path in room.state.iterdir() if path.is_file()}
    assert {name: written[name] for name in ("state.json", "brief.md")} == {
        name: before[name] for name in ("state.json", "brief.md")
    }
    await room.papers.publish(first, [])
    assert "a" not in room.papers.briefing._agents
