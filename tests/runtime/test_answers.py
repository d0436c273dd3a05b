"""Answers to held requests, over a shim that says what it is told to: those of an earlier daemon above all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from phoenixd.core.actions import AnswerHold, OrphanAnswer
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.state import Running, Stopped
from phoenixd.core.events.runs import HoldAnswered
from phoenixd.core.typing.answering import DENIAL_WITHIN, NOT_COUNTED, NOT_KEPT, NOT_WAITING
from phoenixd.drivers.shims.wire import Malformed, parse_answered
from phoenixd.ports.evidence import AnswerGiven
from phoenixd.runtime.answers import LOOK_BACK, WORDS_KEPT, Answerer
from tests.clocks import FastClock
from tests.core.story import Story, claude, spec


class Shims:
    def __init__(self) -> None:
        self.given: list[dict[str, object]] = []
        self.says: Callable[[], None] = lambda: None

    def answer(self, agent: str, incarnation: int, hold: int, body: dict[str, object]) -> None:
        self.given.append(body)
        self.says()


class Terminal:
    async def tell_attached(self, agent: str, words: str) -> None:
        pass


class Transcripts:
    """One of 3 MiB, which says in its last one that a denial counted."""

    def __init__(self) -> None:
        self.sought: list[dict[str, int]] = []
        self.given: list[AnswerGiven] = []
        self.counted: bool | None = True

    async def ends(self, agent: Agent) -> dict[str, int]:
        return {"long": 3 * LOOK_BACK, "short": 5}

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        self.sought.append(dict(given.after))
        self.given.append(given)
        return self.counted


class Desk:
    def __init__(self) -> None:
        self.shims, self.transcripts, self.clock = Shims(), Transcripts(), FastClock()
        self.agent: Agent | None = Story(spec()).runs().agent
        absent: Any = None
        self.answerer = Answerer(
            lambda name: self.agent if name in ("a", "b") else None, cast(Any, Terminal()),
            cast(Any, self.shims), absent, cast(Any, self.transcripts), cast(Any, self.clock),
        )  # fmt: skip

    async def goes_on(self, left: OrphanAnswer, *, allow: bool = True) -> HoldAnswered:
        assert self.agent is not None
        return await self.answerer.answer(self.agent, AnswerHold("a", 1, 7, 3, allow, orphan=left))


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_what_the_shim_holds_still_is_given_once(desk: Desk) -> None:
    desk.shims.says = lambda: desk.answerer.heard("a", 7, True)

    assert await desk.goes_on(OrphanAnswer(held=True)) == HoldAnswered("a", 1, 7, True)
    assert len(desk.shims.given) == 1


async def test_what_the_shim_was_given_is_not_given_again_whatever_it_says(desk: Desk) -> None:
    assert await desk.goes_on(OrphanAnswer(held=False, taken=True)) == HoldAnswered("a", 1, 7, True)
    assert await desk.goes_on(OrphanAnswer(held=False, taken=False)) == HoldAnswered("a", 1, 7, False, NOT_WAITING)
    found = await desk.goes_on(OrphanAnswer(held=True, whole=False))
    assert found == HoldAnswered("a", 1, 7, False, NOT_KEPT, still_held=True)
    assert desk.shims.given == []


@pytest.mark.parametrize("early", [True, False])
async def test_a_word_that_comes_after_the_greeting_counts_also_before_it_is_waited_for(
    desk: Desk, early: bool
) -> None:
    """The shim had the answer, and waits a second whether the agent hangs up."""
    if early:
        desk.answerer.heard("a", 7, True)
        desk.answerer.heard("a", 7, False)
    async with anyio.create_task_group() as tasks:

        async def says() -> None:
            await anyio.lowlevel.checkpoint()
            desk.answerer.heard("a", 7, not early)

        if not early:
            tasks.start_soon(says)
        found = await desk.goes_on(OrphanAnswer(held=False))
    assert found == HoldAnswered("a", 1, 7, True)
    assert desk.shims.given == []


async def test_a_word_that_came_early_is_not_crowded_out_by_another_agents_shim(desk: Desk) -> None:
    desk.answerer.heard("a", 7, True)
    for number in range(1000):
        desk.answerer.heard("b", number, False)

    assert await desk.goes_on(OrphanAnswer(held=False)) == HoldAnswered("a", 1, 7, True)


async def test_one_shim_can_have_only_so_many_words_remembered_and_those_of_an_agent_that_is_gone_are_forgotten(
    desk: Desk,
) -> None:
    for number in range(1000):
        desk.answerer.heard("a", number, taken=True)
    assert len(desk.answerer._early["a"]) == WORDS_KEPT
    for number in range(1000):
        desk.answerer.heard(f"gone-{number}", 1, taken=True)
    assert set(desk.answerer._early) <= {"a", "gone-999"}


async def test_a_new_answer_waits_for_its_own_word(desk: Desk) -> None:
    """Whatever was said of that number before."""
    desk.answerer.heard("a", 7, False)
    desk.shims.says = lambda: desk.answerer.heard("a", 7, True)

    found = await desk.answerer.answer(COMMAND, AnswerHold("a", 1, 7, 3, allow=True))

    assert found == HoldAnswered("a", 1, 7, True)


async def test_a_denial_of_an_earlier_daemon_is_looked_for_at_the_end_of_each_transcript(desk: Desk) -> None:
    assert await desk.goes_on(OrphanAnswer(held=False, taken=True), allow=False) == HoldAnswered("a", 1, 7, True)
    assert desk.transcripts.sought == [{"long": 2 * LOOK_BACK, "short": 0}]


@pytest.mark.parametrize("allow", [True, False])
async def test_promise_11_what_became_of_an_answer_is_looked_for_since_it_was_given_and_of_the_call_that_asks(
    desk: Desk, allow: bool
) -> None:
    desk.shims.says = lambda: desk.answerer.heard("a", 7, True)

    await desk.answerer.answer(asks(COMMAND, 7, "t1"), AnswerHold("a", 1, 7, 3, allow))

    (given,) = desk.transcripts.given
    assert (given.allow, given.call, given.mark) == (allow, "t1", "(phoenixd #3)")
    assert 0 < given.since < desk.clock.at()
    assert given.after == {"long": 3 * LOOK_BACK, "short": 5}


def asks(agent: Agent, hold: int, call: str = "") -> Agent:
    assert isinstance(agent.state, Running)
    asked = Waiting("permission", "Bash make", 0.0, hold=hold, call=call)
    return replace(agent, state=replace(agent.state, activity=replace(agent.state.activity, waiting=asked)))


COMMAND, CLAUDE = Story(spec()).runs().agent, Story(claude()).works().agent


@pytest.mark.parametrize(
    ("agent", "closed"),
    [
        (None, True),
        (replace(COMMAND, state=Stopped()), True),
        (COMMAND, True),
        (asks(COMMAND, 8), True),
        (asks(COMMAND, 7), False),
        (CLAUDE, False),
        (asks(CLAUDE, 8), False),
    ],
)
async def test_a_denial_of_which_nothing_more_will_be_written_is_not_waited_for_for_ten_seconds(
    desk: Desk, agent: Agent | None, closed: bool
) -> None:
    """A command without a transcript has written what it ever will once it asks no more."""
    desk.transcripts.counted = None
    desk.shims.says = lambda: desk.answerer.heard("a", 7, True)
    asked, desk.agent = COMMAND, agent

    found = await desk.answerer.answer(asked, AnswerHold("a", 1, 7, 3, allow=False))

    assert found == HoldAnswered("a", 1, 7, False, NOT_COUNTED)
    assert (desk.clock.at() < DENIAL_WITHIN) is closed


@pytest.mark.parametrize("torn", ["x", {}, [1], [[1]], [[1, 2]], [["1", True]], [[1, True, 2]]])
def test_answers_that_a_shim_tells_in_another_form_are_refused(torn: Any) -> None:
    with pytest.raises(Malformed):
        parse_answered(torn)


def test_an_older_shim_says_nothing_of_its_answers() -> None:
    assert parse_answered(None) is None
    assert parse_answered([]) == ()
    assert parse_answered([[7, True], [8, False]]) == ((7, True), (8, False))
