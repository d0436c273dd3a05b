"""The handoff of a seat as a whole: its steps in order, what becomes known of it, and who can be handed over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Alert, Spawn
from phoenixd.core.agent.state import Desired
from phoenixd.core.declarations import declared
from phoenixd.core.events.orders import (
    RollbackRequested,
    SendRequested,
)
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.fleet import Step as Found
from phoenixd.core.handoff import orders
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat import succession
from tests.core.handing import OPENING, STEPS_BEFORE_FENCE, HandoffStory, at
from tests.core.story import spec


def test_e25_e89_e92_a_handoff_goes_through_its_steps_in_order_and_tells_how_long_each_took() -> None:
    story = HandoffStory().awaiting()
    assert story.seat.generation == 1
    story.pass_over(7)
    assert story.ack() is None
    assert story.seat.generation == 2
    assert story.seat.fenced == 1
    assert story.step is Step.SHUTDOWN
    story.exits("o", None, 15)
    assert story.step is Step.DONE
    assert list(story.fleet.agents) == ["o-g2"]
    steps = [one.step.value for one in story.handoff.times]
    assert steps == [*STEPS_BEFORE_FENCE, "fence", "shutdown"]
    assert {one.step.value: one.took for one in story.handoff.times}["await_ack"] == 7
    assert story.agent.desired is Desired.RUNNING


def test_e53_e43_x28_the_successor_is_fresh_and_is_told_where_its_package_lies() -> None:
    story = HandoffStory().drained()
    spawn = story.of(Spawn)[-1]
    assert (spawn.agent, spawn.mode.value, spawn.prompt.value) == ("o-g2", "fresh", "goal")
    assert story.fleet.agents["o-g2"].spec.opening == OPENING
    story.started_of("o-g2")
    story.ack()
    story.exits("o", None, 15)
    assert story.agent.spec.opening == ""
    assert story.agent.spec.prompt == "Build the shop."


def test_the_word_and_the_prompt_are_forgotten_once_the_handoff_is_over() -> None:
    story = HandoffStory().awaiting()
    story.ack()
    story.exits("o", None, 15)
    assert (story.handoff.word, story.handoff.facts, story.handoff.opening) == ("", (), "")


def test_f_ho_16_e29_a_second_request_joins_the_first() -> None:
    story = at("drain")
    refusal = story.begins()
    assert refusal is not None
    assert (refusal.code, story.handoff.id in refusal.message) == ("conflict", True)


def test_a_seat_that_is_down_is_not_handed_over() -> None:
    story = HandoffStory()
    refusal = story.begins()
    assert refusal is not None
    assert refusal.code == "conflict"


def test_an_agent_that_an_older_phoenixd_let_be_called_like_the_next_generation_is_none_and_is_kept() -> None:
    story = HandoffStory()
    story.works()
    story.hook("stop")
    stranger = declared(spec("o-g2"), story.now)
    story.fleet = replace(story.fleet, agents=story.fleet.roster.taking(stranger))
    refusal = story.begins()
    assert refusal is not None
    assert (refusal.code, refusal.remedy) == ("conflict", "phoenixctl remove o-g2")
    story.uses(180_000)
    for _ in range(3):
        story.hook("notification")
    story.wait(60)

    assert story.seat.handoff is None
    assert story.find("o-g2") is stranger
    assert len([one for one in story.of(Alert) if one.kind == "handoff"]) == 1, (
        "it is told once, and goes round nowhere"
    )
    with pytest.raises(ValueError, match="o-g2"):
        succession.declare_successor(story.fleet, "o", story.now)


def test_an_agent_that_is_called_like_the_next_generation_is_not_taken_for_the_successor() -> None:
    story = at("drain")
    found = Found(replace(story.fleet, agents=story.fleet.roster.taking(declared(spec("o-g2"), story.now))))

    assert orders.new_of(found, story.handoff) is None
    assert orders.old_of(found, story.handoff) is found.fleet.agents["o"]


def test_e89_what_became_of_a_handoff_is_said_once_it_is_over_without_what_only_agents_may_know() -> None:
    story = HandoffStory().awaiting()
    story.tell(SendRequested("o", "m-1", "Mind the till."))
    assert told_over(story) == []
    story.ack()
    story.exits("o", None, 15)
    (over,) = told_over(story)
    assert (over.step, over.id, over.times) == (Step.DONE, story.handoff.id, story.handoff.times)
    assert (over.word, over.facts, over.opening, over.letters, over.posted) == ("", (), "", (), None)

    again = at("spawn")
    again.tell(RollbackRequested("o", "operator"))
    again.exits("o-g2", None, 15)
    (back,) = told_over(again)
    assert (back.step, back.why_back) == (Step.ROLLED_BACK, "asked by operator")


def told_over(story: HandoffStory) -> list[Handoff]:
    facts = [fact for decision in story.decisions for fact in decision.facts]
    return [fact.handoff for fact in facts if isinstance(fact, HandoffEnded)]
