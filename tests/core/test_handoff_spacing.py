"""Ten minutes lie between two handoffs that begin by themselves: who waits for that is told, and no order waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import armed
from phoenixd.core.agent.state import Running
from phoenixd.core.events.orders import RollbackRequested, StartRequested, StopRequested
from phoenixd.core.events.resonance import RestorationRequested
from phoenixd.core.handoff import checks, freezing
from phoenixd.core.handoff.dues import next_due
from phoenixd.core.handoff.state import Step
from phoenixd.core.moment import Moment
from phoenixd.core.resonance.state import Resonance
from phoenixd.core.rules import ContextRules
from tests.core.handing import HandoffStory, orchestrator


def handed_over(**changes: object) -> HandoffStory:
    """A handoff is done, and its successor rests."""
    story = HandoffStory(orchestrator(project="shop", context=ContextRules(predict=False), **changes))
    story.awaiting()
    story.ack()
    story.exits("o", None, 15)
    story.hook_of("o-g2", "stop")
    assert story.step is Step.DONE
    return story


def waits(story: HandoffStory) -> list[str]:
    return [one.what for one in checks.spacing(story.fleet, story.seat, story.now)]


def test_f_ho_17_a_handoff_that_waits_for_the_spacing_says_so_once_with_why_and_for_how_long() -> None:
    story = handed_over()
    assert waits(story) == []
    story.pass_over(240)
    for tokens in (180_000, 181_000, 182_000):
        story.uses(tokens)

    (told,) = [one for one in story.reasons if "handoff.spacing" in one]
    assert "its handoff waits 6 min from now, for 10 min lie between two" in told
    assert "90.0" in told, "and why it is due"
    story.pass_over(60)
    (shown,) = waits(story)
    assert "its handoff waits 5 min from now" in shown
    story.wait(301)
    assert story.step is Step.FREEZE
    assert waits(story) == []


@pytest.mark.parametrize("code", [100, 101])
def test_e88_a_recycle_within_the_spacing_says_why_it_is_no_handoff(code: int) -> None:
    story = handed_over()
    for _ in range(2):
        seen = len(story.decisions)
        story.pass_over(60)
        story.exits("o-g2", code)
        (told,) = [one.reason for one in story.decisions[seen:] if "handoff.spacing" in one.reason]
        assert "it asks to be recycled" in told
        assert "it starts fresh with its brief, and without a package" in told
        story.respawned()
        story.started_of("o-g2")


@pytest.mark.parametrize("how", ["stopped", "called off"])
def test_f_ho_17_what_an_operator_began_and_ended_begins_no_spacing(how: str) -> None:
    story = HandoffStory(orchestrator(context=ContextRules(predict=False)))
    story.works()
    story.hook("stop")
    story.begins()
    if how == "stopped":
        story.tell(StopRequested("o"))
        story.exits("o", None, 15)
        story.tell(StartRequested("o"))
        story.started_of("o")
    else:
        story.tell(RollbackRequested("o"))
    first = story.handoff.id
    assert story.step is Step.ROLLED_BACK
    story.uses(180_000)
    assert (story.handoff.id != first, story.handoff.trigger) == (True, "meter")


def test_f_ho_17_one_that_began_by_itself_and_was_called_off_does_not_begin_again_at_once() -> None:
    story = HandoffStory(orchestrator(context=ContextRules(predict=False)))
    story.works()
    story.hook("stop")
    story.uses(180_000)
    first = story.handoff.id
    story.tell(RollbackRequested("o"))
    story.uses(181_000)
    assert story.handoff.id == first
    assert len(waits(story)) == 1
    story.begins()
    story.tell(RollbackRequested("o"))
    second = story.handoff.id
    story.uses(182_000)
    assert story.handoff.id == second, "an order in between takes nothing from the spacing of the one before"
    story.wait(601)
    assert story.handoff.id != second


def resonant() -> HandoffStory:
    story = handed_over()
    holder = replace(story.agent, resonance=Resonance(told=True, proven=True))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, holder.name: holder})
    return story


def test_f_ho_17_a_restoration_that_an_operator_orders_is_a_handoff_at_once() -> None:
    story = resonant()
    first = story.handoff.id
    assert story.tell(RestorationRequested("o", "operator")) is None
    assert (story.handoff.id != first, story.handoff.trigger, story.handoff.by) == (True, "marker", "operator")
    assert "marker lost" not in story.alerts(), "nobody found that it was lost"


def test_f_ho_17_the_alert_of_a_lost_context_says_until_when_its_handoff_waits() -> None:
    story = resonant()
    first = story.handoff.id
    lost = replace(story.agent, resonance=replace(story.agent.resonance or Resonance(), lost="two checks were missed"))
    story.fleet = replace(story.fleet, agents={**story.fleet.agents, lost.name: lost})
    story.pass_over(120)
    story.hook_of("o-g2", "prompt-submit", text="Go on.")
    assert story.handoff.id == first
    (alert,) = [one for one in story.agent.alerts if one.kind == "marker lost"]
    assert "two checks were missed; its handoff waits 8 min from now" in alert.text


def test_a_tick_is_needed_once_the_spacing_is_over_and_not_for_what_waits_for_something_else() -> None:
    story = handed_over()
    ended = story.at
    seats, agents = story.fleet.seats, story.fleet.agents
    assert next_due(seats, agents, story.now) is None, "nothing waits"
    story.pass_over(240)
    story.uses(180_000)
    agents = story.fleet.agents
    due = next_due(seats, agents, story.now)
    assert due == ended + 600.0

    assert next_due(seats, {}, story.now) is None, "its holder is gone"
    assert next_due(seats, agents, Moment(due - 0.5, story.wall)) == due
    assert next_due(seats, agents, Moment(due, story.wall)) is None, "what is past waits for something else"
    assert next_due({"o": replace(story.seat, handoff=None)}, agents, story.now) is None


def test_a_tick_is_needed_for_what_a_predecessor_is_denied_before_it_fades() -> None:
    story = HandoffStory().drained()
    state = story.fleet.agents["o"].state
    assert isinstance(state, Running)
    old = replace(story.fleet.agents["o"], state=replace(state, run=replace(state.run, link=armed.LINK)))
    silent = freezing.silence(old, story.handoff, story.now).agent
    assert silent is not None
    agents, fades = {"o": silent}, freezing.fades(silent, story.handoff)
    assert fades is not None
    late = {"o": replace(story.seat, handoff=replace(story.handoff, deadline=fades + 100.0))}

    assert next_due(late, agents, story.now) == fades
    assert next_due(late, agents, Moment(fades, story.wall)) == fades + 100.0, "it could not be armed again"
    assert next_due(late, {}, story.now) == fades + 100.0
    held = {"o": replace(story.seat, handoff=replace(story.handoff, held="a limit"))}
    assert next_due(held, {}, story.now) is None
