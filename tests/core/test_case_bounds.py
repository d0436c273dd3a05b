"""What the book of Cases holds at most, and how seldom it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from phoenixd.core.spec import FleetLimits
from phoenixd.core.step import step
from phoenixd.core.treatment.case import MOST_CASES, MOST_TREATED, Case, Treated
from phoenixd.core.treatment.outcome import TURNS
from phoenixd.documents.hooks import hook_of
from tests.core.patients import back, case, cases, dies
from tests.core.story import Story, claude


def full_book(story: Story, **of_oldest: Any) -> None:
    """As many Cases as the book holds: the oldest is as said, and the others are over."""
    others = [
        Case(f"c{number}", f"agent x{number}", "k", None, "crash", "r", 0.3, "claude", story.wall, story.wall,
             seen=story.at, closed=story.wall, outcome="moot")
        for number in range(2, MOST_CASES + 5)
    ]  # fmt: skip
    known = case(story)
    story.fleet = replace(
        story.fleet, cases=replace(story.fleet.cases, next=MOST_CASES + 5, cases=(replace(known, **of_oldest), *others))
    )


def test_a_full_book_lets_go_of_what_is_over_and_keeps_what_is_open(story: Story) -> None:
    dies(story)
    back(story)
    full_book(story)
    story.fleet = replace(story.fleet, cases=story.fleet.cases.without_patient("a"))
    other = Story(claude("b")).works()
    other.fleet = replace(other.fleet, cases=story.fleet.cases)
    other.at, other.wall = story.at, story.wall
    other.exited(signal=9)

    kept = {one.id for one in cases(other)}
    assert "c1" in kept, "the treatment of an open Case is lost, and nobody hears what came of it"
    assert len(kept) <= MOST_CASES


def test_open_cases_beyond_what_the_book_holds_are_told_as_moot(story: Story) -> None:
    dies(story)
    back(story)
    treated = Treated(1, "b", 1, "resume", "restart", 0.0, 0.0, 2)
    left = Case("c2", "agent b", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("b",), 1, (treated,), 1)
    open_ones = tuple(
        replace(left, id=f"c{number}", key=f"k{number}")
        for number in range(2, MOST_CASES + 2)
    )  # fmt: skip
    story.fleet = replace(story.fleet, cases=replace(story.fleet.cases, next=999, cases=(*cases(story), *open_ones)))
    told = step(story.fleet, hook_of("a", story.run.incarnation, "stop-failure", error="odd", text="?"), story.now)

    assert len(told.fleet.cases.cases) <= MOST_CASES
    left = {one.id for one in story.fleet.cases.cases} - {one.id for one in told.fleet.cases.cases}
    moot = {kept.case.id for kept in told.kept for one in kept.treated if one.outcome == "moot"}
    assert left
    assert left <= moot, "a row of the journal says open for ever"


def test_no_open_treatment_of_a_shared_case_is_forgotten_by_many_agents() -> None:
    """A limit of an account is one Case: 70 agents that are parked by it are 70 treatments, each with its outcome."""
    names = [f"a{number}" for number in range(MOST_TREATED + 10)]
    story = Story(*(claude(name, account="team") for name in names), limits=FleetLimits(max_starting=99))
    for name in names:
        story.fleet = replace(story.fleet, agents=story.fleet.agents)
        story.tell(_started(story, name))
    for name in names:
        run = story.fleet.agents[name].run
        assert run is not None
        story.tell(hook_of(name, run.incarnation, "session-start", session_id=run.session_id, source="startup"))
        story.tell(hook_of(name, run.incarnation, "prompt-submit", text="go"))
        story.tell(hook_of(name, run.incarnation, "stop-failure", error="rate_limit", text="429"))

    found = next(one for one in cases(story) if one.detail == "limit")
    assert {one.agent for one in found.treated if one.is_open} == set(names)


def _started(story: Story, name: str) -> Any:
    from phoenixd.core.events.orders import StartRequested
    from phoenixd.core.events.runs import AgentStarted

    story.tell(StartRequested(name))
    run = story.fleet.agents[name].run
    assert run is not None
    return AgentStarted(name, run.incarnation, run.run_id, 100 + int(name[1:]), 1000)


def test_no_prompt_writes_the_book_and_the_ends_of_few_turns_do(story: Story) -> None:
    """The whole book is one value in the journal: an agent that talks must not have it written at each prompt."""
    dies(story)
    back(story)
    story.hook("stop", text="Understood.")
    written = 0
    for _ in range(50):
        before = story.fleet.cases
        story.hook("prompt-submit", text="go on")
        assert story.fleet.cases is before, "a prompt has written the book"
        story.hook("stop", text="Understood.")
        written += story.fleet.cases is not before

    assert case(story).outcome == "held"
    assert written <= TURNS + 1
