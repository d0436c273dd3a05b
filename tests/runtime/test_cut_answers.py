"""A second after a turn's end its transcript is asked whether the answer is whole (issue 13)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import AnswerCut, FailureStatusSeen
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import ApiFailed, CutShort, Prompted
from phoenixd.gathered import GATHER
from phoenixd.runtime.cut_answers import LATE, SETTLED, CutAnswers, answer_cut, failure_status
from tests.core.story import Story, claude
from tests.runtime.test_metering import Hands
from tests.waiting import eventually


@dataclass
class House:
    """One agent whose turn has ended, and whose transcript says what a test wants."""

    story: Story = field(default_factory=lambda: Story(claude()).works())  # type: ignore[arg-type, return-value]
    clock: Hands = field(default_factory=Hands)
    facts_now: SessionFacts | None = None
    looks: int = 0
    told: list[AnswerCut | FailureStatusSeen] = field(default_factory=list)
    fault: Exception | None = None

    def __post_init__(self) -> None:
        house: Any = self
        self.answers = CutAnswers(self.find, self.tell, self.clock, house)

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        assert isinstance(event, AnswerCut | FailureStatusSeen)
        self.told.append(event)

    async def facts(self, agent: Agent) -> SessionFacts | None:
        self.looks += 1
        if self.fault is not None:
            raise self.fault
        return self.facts_now

    def wrote(self, *cut: CutShort, **more: Any) -> None:
        found = SessionFacts(newest_kind="assistant", turn_open=False, cut=cut[0] if cut else None)
        self.facts_now = replace(found, **{"prompt": Prompted("Build the shop.", None), **more})

    def stops(self, kind: str = "stop") -> None:
        self.story.hook(kind)
        self.answers.heard("a", kind, {})

    async def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds / GATHER)):
            await anyio.wait_all_tasks_blocked()
            self.clock.advance(GATHER)
        await anyio.wait_all_tasks_blocked()


async def run(house: House, *steps: Any) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.answers.run)
        for step in steps:
            await step()
        tasks.cancel_scope.cancel()


async def test_a_cut_answer_is_told_soon_after_the_turns_end() -> None:
    house = House()
    house.wrote(CutShort("output_limit", house.story.wall + 1, ("Bash",)), went_on=True)
    house.stops()

    await run(house, lambda: eventually(lambda: house.clock.advance(GATHER) or bool(house.told), 60))

    assert house.told == [AnswerCut("a", 1, "output_limit", house.story.wall + 1, True, ("Bash",))]


async def test_a_whole_answer_and_a_mere_tool_are_no_news() -> None:
    house = House()
    house.wrote()
    house.answers.heard("a", "tool-end", {})

    await run(house, lambda: house.pass_time(5))
    assert house.looks == 0
    house.stops()
    await run(house, lambda: house.pass_time(5))

    assert (house.looks, house.told) == (1, [])


async def test_the_status_that_the_api_gave_to_a_failed_turn_is_told_as_the_transcript_has_it() -> None:
    """Claude Code's StopFailure hook has none: `apiErrorStatus` stands in the transcript alone."""
    house = House()
    house.wrote(error=ApiFailed("invalid_request", "Request too large", house.story.wall + 1, 413))
    house.stops("stop-failure")

    await run(house, lambda: house.pass_time(5))

    assert house.told == [FailureStatusSeen("a", 1, 413, "request")]


async def test_a_failure_of_an_earlier_run_and_one_without_a_status_are_no_news() -> None:
    house = House()
    for failed in (ApiFailed("unknown", "gone", house.story.wall - 9000, 400), ApiFailed("unknown", "gone", None, 400)):
        house.wrote(error=failed)
        house.stops("stop-failure")
        await run(house, lambda: house.pass_time(5))
    house.wrote(error=ApiFailed("unknown", "The socket closed", house.story.wall + 1))
    house.stops("stop-failure")
    await run(house, lambda: house.pass_time(5))

    assert house.told == []


async def test_an_answer_whose_end_is_not_written_when_the_turn_is_over_was_cut_in_its_stream() -> None:
    house = House()
    house.wrote(unended=house.story.wall + 1)
    house.stops()

    await run(house, lambda: house.pass_time(5))

    assert [(one.how, one.went_on) for one in house.told] == [("stream", False)]


async def test_an_answer_that_its_cli_goes_on_with_a_moment_later_is_not_told_as_its_last() -> None:
    """A busy CLI writes the rest after its hook: to be told to go on as well would be a turn too many."""
    house = House()
    house.wrote(CutShort("output_limit", house.story.wall + 1))
    house.stops()
    await run(house, lambda: house.pass_time(SETTLED))
    assert (house.looks > 1, house.told) == (True, [])
    house.wrote(CutShort("output_limit", house.story.wall + 1), went_on=True)

    await run(house, lambda: house.pass_time(SETTLED))

    assert [one.went_on for one in house.told] == [True]


async def test_a_cut_answer_of_a_turn_that_failed_is_told_before_its_agent_is_asked_again() -> None:
    """Its CLI has given up; where the service is asked again soon, the next turn would hide the cut."""
    house = House()
    house.wrote(CutShort("stream", house.story.wall + 1))
    house.stops("stop-failure")

    await run(house, lambda: house.pass_time(2 * GATHER))

    assert [one for one in house.told if isinstance(one, AnswerCut)] != []


async def test_what_is_not_written_yet_is_looked_for_once_more_and_not_for_ever() -> None:
    house = House()
    house.facts_now = SessionFacts(newest_kind="prompt")
    house.stops()
    await run(house, lambda: house.pass_time(3))
    assert house.looks > 1
    house.wrote(CutShort("stream", house.story.wall))
    await run(house, lambda: house.pass_time(SETTLED + 3))
    assert len(house.told) == 1

    house.facts_now = SessionFacts(newest_kind="prompt")
    house.stops()
    await run(house, lambda: house.pass_time(LATE + 5))
    looks = house.looks
    await run(house, lambda: house.pass_time(20))
    assert house.looks == looks


async def test_an_answer_that_is_written_late_gets_its_time_to_settle_as_well() -> None:
    house = House()
    house.facts_now = SessionFacts(newest_kind="prompt")
    house.stops()
    await run(house, lambda: house.pass_time(LATE - 2))
    house.wrote(CutShort("stream", house.story.wall))

    await run(house, lambda: house.pass_time(SETTLED + 4))

    assert len(house.told) == 1
    looks = house.looks
    await run(house, lambda: house.pass_time(LATE))
    assert house.looks == looks


@pytest.mark.parametrize(
    "at_first",
    [None, SessionFacts(), SessionFacts(newest_kind="assistant", newest_at=9e9, turn_open=False)],
    ids=["no file", "a file without a message", "the rest alone"],
)
async def test_a_transcript_that_a_busy_cli_begins_late_is_looked_for_once_more(at_first: SessionFacts | None) -> None:
    house = House(facts_now=at_first)
    house.stops()
    await run(house, lambda: house.pass_time(3))
    assert house.told == []

    house.wrote(CutShort("output_limit", house.story.wall + 1), went_on=True)
    await run(house, lambda: house.pass_time(3))

    assert [(one.how, one.went_on) for one in house.told] == [("output_limit", True)]


async def test_an_earlier_turns_answer_is_not_taken_for_the_one_that_is_not_written_yet() -> None:
    house = House()
    began = house.clock.now().wall - (house.clock.at() - house.story.at)
    house.wrote(newest_at=began - 5)
    house.stops()
    await run(house, lambda: house.pass_time(3))
    assert (house.looks > 1, house.told) == (True, [])

    house.wrote(CutShort("output_limit", house.story.wall + 1), went_on=True, newest_at=began + 5)
    await run(house, lambda: house.pass_time(3))

    assert [one.went_on for one in house.told] == [True]
    looks = house.looks
    house.wrote(newest_at=began)
    house.stops()
    await run(house, lambda: house.pass_time(5))
    assert house.looks == looks + 1, "what is of this turn is looked at once"


async def test_an_answer_of_an_earlier_run_is_no_news() -> None:
    house = House()
    house.wrote(CutShort("stream", house.story.run.began_wall - 1))
    house.stops()

    await run(house, lambda: house.pass_time(5))

    assert house.told == []


async def test_a_subagents_answer_is_its_callers_and_a_fault_costs_one_look() -> None:
    house = House()
    house.wrote(CutShort("stream", house.story.wall))
    house.answers.heard("a", "stop", {"agent_id": "sub"})
    await run(house, lambda: house.pass_time(SETTLED + 3))
    assert house.looks == 0

    house.fault = RuntimeError("odd")
    house.stops()
    await run(house, lambda: house.pass_time(SETTLED + 3))
    house.fault = None
    house.stops()
    await run(house, lambda: house.pass_time(SETTLED + 3))
    assert len(house.told) == 1


def test_what_was_written_before_a_run_began_says_nothing_of_it_and_of_what_has_no_time_nobody_can_tell() -> None:
    agent = Story(claude()).works().agent
    assert agent.run is not None
    began = agent.run.began_wall
    down = replace(agent, state=Stopped())

    def cut(at: float | None, of: Agent = agent, **more: Any) -> AnswerCut | None:
        return answer_cut(of, SessionFacts(turn_open=False, cut=CutShort("output_limit", at, None), **more))

    assert cut(began) == AnswerCut("a", 1, "output_limit", began)
    assert cut(None) == AnswerCut("a", 1, "output_limit", None)
    assert cut(began - 0.001) is None
    assert cut(began, down) is None
    assert answer_cut(agent, SessionFacts(turn_open=False)) is None
    went_on, broken = cut(began, went_on=True), cut(began, went_on=True, unended=began)
    assert went_on is not None
    assert went_on.went_on
    assert broken is None or not broken.went_on

    def failed(at: float | None, status: int | None = 400, of: Agent = agent) -> FailureStatusSeen | None:
        return failure_status(of, SessionFacts(error=ApiFailed("invalid_request", "no", at, status)))

    assert failed(began) is not None
    assert [failed(None), failed(began - 0.001), failed(began, None), failed(began, of=down)] == [None] * 4


async def test_only_ends_of_turns_of_the_main_thread_are_looked_at_and_a_good_one_is_no_failed_one() -> None:
    house = House()
    house.wrote(CutShort("output_limit", house.story.wall + 1))
    house.stops("stop-failure")
    house.answers.heard("a", "stop", {"agent_id": "explorer"})
    assert house.answers._failed == {"a"}
    house.answers.heard("a", "stop", {})
    assert house.answers._failed == set()
    await run(house, lambda: house.pass_time(GATHER))
    assert (house.looks, house.told) == (1, []), "one that ended well gets its time to settle"
