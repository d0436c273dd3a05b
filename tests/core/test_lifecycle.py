"""One agent in each state: words that come late, twice or about another run, and the reason of each decision."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Kill
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    Delivered,
    NotDelivered,
)
from tests.core.states import SITUATIONS, about
from tests.core.story import Story, claude, spec


@pytest.mark.parametrize("situation", SITUATIONS)
def test_f_proc_3_words_about_an_older_incarnation_change_nothing(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    assert story.state.name == situation
    older = story.agent.run.incarnation - 1 if story.agent.run else story.agent.incarnation
    before = story.fleet
    story.decisions.clear()
    for event in about(older, "any") + about(older + 7, "any"):
        story.tell(event)
        assert story.fleet == before, event
        ends_what_begins_late = isinstance(event, AgentStarted) and event.incarnation == older
        assert story.actions == ([Kill("a", older)] if ends_what_begins_late else []), event
        story.decisions.clear()


@pytest.mark.parametrize("state", ["running", "stopping", "starting"])
def test_f_proc_3_a_record_of_another_run_is_not_believed(state: str) -> None:
    """An agent that was removed and added again counts its incarnations anew; its runs have other ids."""
    story = Story()
    SITUATIONS[state](story)
    before = story.fleet
    story.tell(AgentExited("a", story.run.incarnation, "another run", 0, None))
    story.tell(AgentStarted("a", story.run.incarnation, "another run", 7, 70))
    assert story.fleet == before


def test_words_about_an_unknown_agent_change_nothing() -> None:
    story = Story(spec("b"))
    before = story.fleet
    for event in about(0) + about(1):
        story.tell(event)
    assert story.fleet == before
    assert not story.decisions


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_early_tick_is_harmless(situation: str) -> None:
    story = Story()
    SITUATIONS[situation](story)
    before = story.fleet
    story.tell(Tick())
    assert story.fleet == before


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_decision_carries_its_reason(situation: str) -> None:
    for number in range(len(about(0))):
        story = Story()
        SITUATIONS[situation](story)
        run = story.agent.run
        story.tell(about(run.incarnation, run.run_id)[number] if run else Tick())
        story.wait(60)
        assert all(decision.reason for decision in story.decisions if decision.is_worth_keeping)
        assert story.agent.reason


def test_a_text_that_an_operator_sent_and_that_did_not_arrive_is_in_the_story() -> None:
    story = Story(claude("a"))
    story.lives(1, 1).runs()
    story.tell(SendRequested("a", "m1", "hello"))
    story.tell(SendRequested("a", "m2", "and this"))

    story.tell(NotDelivered("a", story.agent.incarnation, "m1", "the agent works"))

    told = story.decisions[-1]
    assert (told.reason, told.weight) == ("text not delivered: the agent works", "story")
    story.tell(Delivered("a", story.agent.incarnation, "m2", "hook"))
    assert story.decisions[-1].weight == "detail"
