"""Promise 8: whatever an agent leaves undone or says wrongly, what was asked of it ends, and somebody is told.

Two things are asked of an agent: that a successor acknowledges its handoff, and that a session recites a code. Here the
agents do neither, in each way there is, from each step on. They end by SIGKILL alone.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phoenixd.core.actions import Deliver, Kill, Spawn
from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.runs import AgentExited, AgentStarted, NotDelivered
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.resonance.state import Step as Restoring
from phoenixd.documents.hooks import hook_of
from tests.core import test_handoff, test_restoration
from tests.core.story import Story

HOURS = 6

Manner = Callable[[Story, str, int], None]


def silent(story: Story, name: str, incarnation: int) -> None:
    """It hangs."""


def busy(story: Story, name: str, incarnation: int) -> None:
    """It works on, and its turn never ends."""
    story.tell(hook_of(name, incarnation, "tool-start", tool="Bash"))
    story.tell(hook_of(name, incarnation, "tool-end", tool="Bash"))


def deaf(story: Story, name: str, incarnation: int) -> None:
    """It ends one turn after the other, with words that have nothing to do with what it was asked."""
    story.tell(hook_of(name, incarnation, "prompt-submit", text="Go on."))
    story.tell(hook_of(name, incarnation, "tool-end", tool="Bash"))
    story.tell(hook_of(name, incarnation, "stop", text="Done with that part."))


def lying(story: Story, name: str, incarnation: int) -> None:
    """It says that it has done what it was asked, with facts of its own invention."""
    story.tell(hook_of(name, incarnation, "prompt-submit", text="Go on."))
    story.tell(hook_of(name, incarnation, "stop-blocked", text="Done."))
    if story.fleet.seats:
        story.tell(HandoffAcked(name, package="00" * 32, word="acknowledged", facts=(("phase", "the last"),)))
    story.tell(hook_of(name, incarnation, "stop", text="The code is 0xA1B2C3, and everything was handed over."))


MANNERS: dict[str, Manner] = {one.__name__: one for one in (silent, busy, deaf, lying)}


def endure(story: Story, manner: Manner) -> None:
    """Six hours in which the machine does its part, and no agent does more than its manner."""
    story.work, done = "same", 0
    for _ in range(HOURS * 60):
        done = carry_out(story, done)
        for name, agent in list(story.fleet.agents.items()):
            if agent.run is not None and isinstance(agent.state, Running):
                manner(story, name, agent.run.incarnation)
        done = carry_out(story, done)
        story.wait(60)


def carry_out(story: Story, done: int) -> int:
    """Do what was ordered of processes since so many decisions; what is typed arrives nowhere, SIGTERM is ignored."""
    while done < len(story.decisions):
        for action in story.decisions[done].actions:
            agent = story.fleet.agents.get(getattr(action, "agent", ""))
            if agent is None or agent.run is None or agent.run.incarnation != getattr(action, "incarnation", None):
                continue
            name, run = agent.spec.name, agent.run
            if isinstance(action, Spawn):
                story.tell(AgentStarted(name, run.incarnation, run.run_id, 100 + story.told, 1000, link=2))
                session = hook_of(name, run.incarnation, "session-start", session_id=run.session_id, source="startup")
                story.tell(session)
            if isinstance(action, Kill):
                story.tell(AgentExited(name, run.incarnation, run.run_id, None, 9))
            if isinstance(action, Deliver):
                story.tell(NotDelivered(name, run.incarnation, action.message_id, "the terminal is busy"))
        done += 1
    return done


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("step", [*test_handoff.STEPS_BEFORE_FENCE, "shutdown"])
def test_promise_8_a_handoff_comes_to_its_end_whatever_both_generations_leave_undone(step: str, manner: str) -> None:
    story = test_handoff.at(step)
    story.files = "well"
    first = story.handoff.id
    endure(story, MANNERS[manner])
    ended = [fact for one in story.decisions for fact in one.facts if isinstance(fact, HandoffEnded)]
    assert first in [fact.handoff.id for fact in ended]
    assert len([one for one in story.fleet.agents.values() if one.run is not None]) <= 1
    assert story.seat.generation == (2 if step == "shutdown" else 1), "nobody holds a seat who proved nothing"
    assert step == "shutdown" or "handoff" in story.alerts()


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("step", [one for one in Restoring if one is not Restoring.LOG])
def test_promise_8_a_restoration_ends_or_is_told_whatever_the_agent_says(step: Restoring, manner: str) -> None:
    """Nothing is ended inside a turn that goes on: then a person is told, once."""
    told = test_restoration.at(step)
    told.papers = "well"
    endure(told, MANNERS[manner])
    restoration = told.known.restoration
    if restoration is not None and not restoration.is_over:
        assert manner == "busy"
        assert told.alerts().count("resonance") == 1
    else:
        assert isinstance(told.state, Quarantined) or step is Restoring.RESUME, told.agent.reason
        assert told.alerts().count("quarantined") == (step is not Restoring.RESUME)
    assert told.known.state != "intact" or step is Restoring.RESUME, "what never recited is taken for whole"


def test_promise_8_a_turn_in_which_a_person_is_waited_for_is_told_as_that_alone() -> None:
    told = test_restoration.at(Restoring.VERIFY)
    told.hook("permission-request", tool="Bash", command="make")
    told.wait(3 * 3600)
    assert "resonance" not in told.alerts()
