"""F-BR-1, F-BR-3: a brief's writer that fails for days, or forgets loops, is told of, and costs no older brief."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.rules import BriefRules
from phoenixd.errors import WriterFailed
from phoenixd.memory.brief.writer_trouble import KIND
from phoenixd.memory.papers import Papers
from tests.memory.desk import LOOP, Desk, Scripted, place, says
from tests.start.places import NOW, Room

SUMMARY = "Please finish the login page."
REFUSED = [lambda material: "no", lambda material: "no"]


class Told(Desk):
    """A desk that notes what its papers tell the supervisor."""

    def __init__(self, room: Room) -> None:
        super().__init__(room, Scripted())
        self.events: list[Event] = []
        self.restarted()

    def restarted(self) -> Papers:
        super().restarted()
        self.room.options["tell"] = self.events.append
        return self.room.restarted()

    async def run(self, day: float, *answers: object, rules: BriefRules | None = None) -> list[tuple[str, str]]:
        """One run on a day, and what it told of its writer."""
        self.room.clock.wall = NOW + day * 86_400
        self.writer.answers = list(answers)  # type: ignore[arg-type]
        agent = self.agent()
        if rules is not None:
            agent = replace(agent, spec=replace(agent.spec, brief=rules))
        standing = tuple(
            StandingAlert(1, KIND, "", NOW, 1, True) for event in self.events if of(event) == "TroubleSeen"
        )
        self.events.clear()
        await self.room.papers.briefing.generate(replace(agent, alerts=standing))
        return [(of(event), event.text if isinstance(event, TroubleSeen) else "") for event in self.events if of(event)]


def of(event: Event) -> str:
    return type(event).__name__ if isinstance(event, TroubleSeen | TroubleGone) and event.kind == KIND else ""


@pytest.fixture
def desk(room: Room) -> Told:
    return Told(room)


@pytest.mark.parametrize("failing", [REFUSED, [WriterFailed("exit status 1")]], ids=["no answer of ours", "it fails"])
async def test_f_br_1_p65_a_writer_that_fails_on_a_second_day_is_told_until_a_run_of_it_goes_well(
    desk: Told, failing: list[object]
) -> None:
    assert await desk.run(0.0, *failing) == []
    assert await desk.run(0.2, *failing) == [], "it may be well again by tomorrow"
    desk.restarted()
    ((what, text),) = await desk.run(1.0, *failing)
    assert what == "TroubleSeen"
    assert "the command writer was not used" in text
    assert await desk.run(1.1, says()) == [("TroubleGone", "")]
    assert await desk.run(2.0, *failing) == [], "the days are counted from a run that went well"


async def test_f_br_1_an_older_brief_of_its_writer_stays_where_the_next_run_fails(desk: Told) -> None:
    place(desk.room, open_loops=[LOOP])
    await desk.run(0.0, says(summary=SUMMARY, open_loops=[{"id": "auth-flow", "text": "x"}]))
    assert SUMMARY in desk.room.text("brief.md")

    await desk.run(1.0, *REFUSED)

    told = desk.room.text("brief.md")
    assert SUMMARY in told
    assert "Note of phoenixd: the command writer was not used" in told
    await desk.run(1.1, says(summary=""))
    assert SUMMARY not in desk.room.text("brief.md")
    assert "was not used" not in desk.room.text("brief.md")


async def test_f_br_3_a_writer_that_leaves_out_most_loops_twice_is_told_at_once(desk: Told) -> None:
    place(desk.room, open_loops=[LOOP, {**LOOP, "id": "other", "text": "Retry queue is not bounded"}])

    ((what, text),) = await desk.run(0.0, says(), says())

    assert (what, "auth-flow, other" in text) == ("TroubleSeen", True)
    both = [{"id": "auth-flow", "text": "x"}, {"id": "other", "text": "x"}]
    assert await desk.run(0.1, says(open_loops=both)) == [("TroubleGone", "")]


async def test_where_no_writer_is_asked_any_more_its_trouble_is_over(desk: Told) -> None:
    await desk.run(0.0, *REFUSED)
    assert len(await desk.run(1.0, *REFUSED)) == 1

    assert await desk.run(1.1, rules=BriefRules()) == [("TroubleGone", "")]
