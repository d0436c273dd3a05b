"""Which way to the operator is new, and what each is told late: after a failure, or by the next daemon."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import pytest

from phoenixd.core.decision import Refusal
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen, WaysBegun
from phoenixd.core.events.orders import MuteRequested, UnmuteRequested
from phoenixd.core.redelivery import FIRST_PAUSE
from phoenixd.core.unheard import MOST, Numbered, Unheard
from phoenixd.errors import JournalFailed
from phoenixd.runtime.ways import Ways, begin_new
from tests.core.story import Story
from tests.core.test_unheard import by_ways, killed
from tests.runtime.test_boots import Kept


class Daemon:
    """The next daemon finds what stands, and hears which ways are new. refusal: its journal fails."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.refusal: Refusal | None = None

    async def finds_new(self, **ways: str) -> tuple[str, ...]:
        found: list[WaysBegun] = []

        async def ask(event: WaysBegun) -> Refusal | None:
            found.append(event)
            return self.refusal

        await begin_new(cast(Any, self.kept), ways, frozenset({7}), ask)
        assert all(one.stood == {7} for one in found)
        return tuple(name for one in found for name in one.new)


async def test_a_way_is_new_once_and_again_where_it_leads_elsewhere() -> None:
    daemon = Daemon(Kept(alert_ways="{}"))
    assert await daemon.finds_new() == ()
    assert await daemon.finds_new(command="a") == ("command",)
    assert await daemon.finds_new(command="a") == ()
    assert await daemon.finds_new(command="b", webhook="c") == ("command", "webhook")
    assert await daemon.finds_new(webhook="c") == ()
    assert await daemon.finds_new(command="b", webhook="c") == ("command",)


async def test_a_way_is_new_until_it_is_saved_that_what_stood_waits_for_it() -> None:
    daemon = Daemon(Kept(alert_ways="{}"))
    daemon.refusal = Refusal("conflict", "the journal fails", "phoenixctl doctor")
    assert await daemon.finds_new(command="a") == ("command",)
    daemon.refusal = None
    assert await daemon.finds_new(command="a") == ("command",)
    assert await daemon.finds_new(command="a") == ()


async def test_where_nothing_was_remembered_no_way_is_taken_for_new() -> None:
    """An older version did not remember them, and has told by them all the same."""
    daemon = Daemon(Kept())
    assert await daemon.finds_new(command="a") == ()
    assert await daemon.finds_new(command="a", webhook="b") == ("webhook",)


async def test_where_the_journal_cannot_tell_nobody_is_told_twice_and_a_new_way_is_new_for_the_next_daemon() -> None:
    class Broken(Kept):
        async def recall(self, key: str) -> str | None:
            raise JournalFailed("no")

    kept = Broken(alert_ways="{}")
    assert await Daemon(kept).finds_new(command="a") == ()
    assert kept == {"alert_ways": "{}"}


class Way:
    """A daemon's only way to the operator, and what it was given to tell late. works: what it answers to that."""

    def __init__(self, story: Story) -> None:
        self.story, self.works, self.is_free = story, True, True
        self.late: list[tuple[int, ...]] = []
        self.held: list[int] = []
        self.given: set[int] = set()
        self.refuses: set[int] = set()
        self.waiting = Ways(lambda: story.fleet, lambda: story.at, story.tell, self)

    @property
    def ways(self) -> dict[str, str]:
        return {"webhook": "a mark"}

    def offered(self, way: str) -> Collection[int]:
        return self.given | set(self.held)

    def let_go(self) -> bool:
        return bool(self.held) and self.held.pop(0) > 0

    def is_at_rest(self, way: str) -> bool:
        return self.is_free

    def tell_late(self, way: str, late: Unheard) -> None:
        self.late.append(tuple(one.id for one in late.alerts))
        for place, one in enumerate(late.alerts):
            counted = late.counted if place == len(late.alerts) - 1 else ()
            self.answers(((one.agent, one.id), *counted))

    def answers(self, tells: tuple[Numbered, ...]) -> None:
        numbers = {number for _, number in tells}
        self.given |= numbers
        works = self.works and tells[0][1] not in self.refuses
        if not works:
            self.given -= numbers
        self.waiting.hear("webhook", tells, None if works else "status 503")

    def raises(self, kind: str, agent: str = "a") -> int:
        """An alert is raised, and the way is given it as ever."""
        self.story.tell(TroubleSeen(agent, kind, "it is old"))
        (number,) = (one.id for one in self.story.fleet.agents[agent].alerts if one.kind == kind)
        self.answers(((agent, number),))
        return number

    async def look_after(self, seconds: float) -> list[tuple[int, ...]]:
        self.late.clear()
        self.story.pass_over(seconds)
        await self.waiting.look()
        return self.late


@pytest.fixture
def story() -> Story:
    return by_ways("webhook")


async def test_what_a_way_could_not_tell_is_told_by_it_once_it_works_again(story: Story) -> None:
    way = Way(story)
    way.works = False
    first, second = way.raises("brief"), way.raises("state")
    assert await way.look_after(FIRST_PAUSE - 1) == []
    assert await way.look_after(2) == [(first,)], "one is enough to see whether it works"
    way.works = True
    assert await way.look_after(FIRST_PAUSE) == [], "and then less often"
    assert await way.look_after(FIRST_PAUSE) == [(second,), (first,)], "the one that was not tried, and then the others"
    assert await way.look_after(10 * FIRST_PAUSE) == []
    assert [one.waits for one in story.agent.alerts] == [(), ()]


async def test_an_alert_that_is_told_shows_that_the_way_works_again(story: Story) -> None:
    way = Way(story)
    way.works = False
    lost = way.raises("brief")
    way.works = True
    way.raises("state")
    assert way.late == [(lost,)]


async def test_an_alert_that_its_way_always_refuses_is_in_the_way_of_no_other_after_an_outage(story: Story) -> None:
    """Its words are an agent's, and what reads the web hook's messages may refuse them."""
    way = Way(story)
    way.works = False
    bad = way.raises("brief")
    others = {way.raises("state"), way.raises("port held")}
    way.works, way.refuses = True, {bad}
    for _ in range(6):
        await way.look_after(FIRST_PAUSE)
    assert others <= way.given
    assert {one.id for one in story.agent.alerts if one.waits} == {bad}


async def test_an_alert_that_its_way_always_refuses_is_not_tried_with_each_other_that_is_told(story: Story) -> None:
    """A program that tells it and then ends with an error would say it again and again to a person who sleeps."""
    way = Way(story)
    way.refuses = {bad := way.raises("brief") + 1}
    assert way.raises("state") == bad
    tries = 0
    for _ in range(24 * 4):
        way.raises("port held")
        tries += sum(late.count(bad) for late in way.late)
        tries += sum(late.count(bad) for late in await way.look_after(900.0))
        way.late.clear()
        story.tell(TroubleGone("a", "port held"))
    assert 20 < tries < 40
    way.refuses.clear()
    late = [one for _ in range(61) for one in await way.look_after(60.0)]
    assert late == [(bad,)]


async def test_what_is_over_before_its_way_works_again_is_not_told(story: Story) -> None:
    way = Way(story)
    way.works = False
    way.raises("brief")
    story.tell(TroubleGone("a", "brief"))
    way.works = True
    assert await way.look_after(2 * FIRST_PAUSE) == []


async def test_what_waits_for_its_way_when_its_agent_is_muted_is_told_by_it_once_the_mute_is_over(story: Story) -> None:
    way = Way(story)
    way.works = False
    lost = way.raises("brief")
    way.works = True
    story.tell(MuteRequested("a", 3 * FIRST_PAUSE, "ada"))
    assert await way.look_after(2 * FIRST_PAUSE) == []
    story.tell(TroubleSeen(None, "doctor", "it is told by this way"))
    way.answers(((None, story.fleet.alerts[0].id),))
    assert way.late == []
    story.tell(UnmuteRequested("a", "ada"))
    assert await way.look_after(60.0) == [(lost,)]
    assert await way.look_after(60.0) == []


async def test_a_way_that_has_others_to_tell_yet_is_given_no_more_until_it_is_at_rest(story: Story) -> None:
    way = Way(story)
    way.works = False
    lost = way.raises("brief")
    way.works, way.is_free = True, False
    way.raises("state")
    assert await way.look_after(2 * FIRST_PAUSE) == []
    way.is_free = True
    assert await way.look_after(60.0) == [(lost,)]


async def test_a_way_that_fails_for_days_is_tried_with_one_alert_an_hour_and_remembers_only_what_stands(
    story: Story,
) -> None:
    way = Way(story)
    way.works = False
    for number in range(3 * MOST):
        way.raises(f"trouble {number}")
    tries = [await way.look_after(60.0) for _ in range(3 * 24 * 60)]
    told = [late for late in tries if late]
    assert len(told) < 80
    assert way.given == set()
    way.works = True
    late = [one for _ in range(60) for one in await way.look_after(60.0)]
    assert [len(one) for one in late] == [1, MOST], "in one go, with the others counted"
    assert {one.waits for one in story.agent.alerts} == {()}


async def test_the_next_daemon_tells_what_the_one_before_was_killed_over(story: Story) -> None:
    story.tell(TroubleSeen("a", "brief", "it is old"))
    killed(story)
    way = Way(story)
    way.waiting.begin()
    assert way.late == [(story.agent.alerts[0].id,)]
    killed(story)
    again = Way(story)
    again.waiting.begin()
    assert again.late == [], "what is known to be told is not told twice"


async def test_what_was_held_back_for_a_while_is_told_after_that_if_it_still_stands(story: Story) -> None:
    way = Way(story)
    for kind in ("brief", "state", "port held"):
        story.tell(TroubleSeen("a", kind, "it is old"))
    way.held = [one.id for one in story.agent.alerts]
    first, _, third = way.held
    story.tell(TroubleGone("a", "state"))
    assert await way.look_after(60.0) == [(first,)]
    assert await way.look_after(60.0) == []
    assert await way.look_after(60.0) == [(third,)]
