"""Promise 3: a member of a sequence has no turn after a lost journal, where it had none or nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting, Stopped
from phoenixd.core.behind.verdicts import judge
from phoenixd.core.behind.world import Trace, Wish, World
from phoenixd.core.events.fleet import JournalBehind, RecoveryConfirmed
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.rules import LoopRules, Member
from phoenixd.core.spec import Kind
from tests.core.behind import NEW, NOW, OLD, SPEC, agent, world
from tests.core.story import Story

MEMBER = replace(SPEC, turn_of="first")


def member(*, left_out: bool) -> Agent:
    return replace(agent(), spec=MEMBER, left_out=left_out)


@pytest.mark.parametrize(
    ("known", "wish", "is_left_out"),
    [
        (None, Wish("stopped", 18, 2, left_out=True), True),
        (None, Wish("stopped", 18, 2), False),
        (member(left_out=False), Wish("stopped", 18, 2, left_out=True), True),
        (member(left_out=True), Wish("stopped", 18, 2), False),
        (member(left_out=False), Wish("stopped", 12, 2, left_out=True), False),
        (member(left_out=True), Wish("stopped", 12, 2), True),
        (member(left_out=True), None, True),
    ],
)
def test_promise_3_a_member_of_a_sequence_that_was_stopped_between_turns_has_none_after_a_lost_journal(
    known: Agent | None, wish: Wish | None, is_left_out: bool
) -> None:
    """The newer of wish and journal says it; both have it down in any case."""
    trace = Trace("a", wish, "idle", None, OLD, 2)
    judged = judge(world(trace), trace, known, MEMBER, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert (type(judged.agent.state), judged.agent.left_out) == (Stopped, is_left_out)


def test_promise_3_a_wish_that_is_older_than_the_shims_says_nothing_of_turns() -> None:
    trace = Trace("a", Wish("stopped", 18, 2, left_out=True), "idle", None, OLD, 2, told=30)
    judged = judge(world(trace), trace, member(left_out=False), MEMBER, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert not judged.agent.left_out


def test_promise_3_no_turn_begins_a_member_of_which_a_person_has_yet_to_say_whether_it_is_to_run() -> None:
    """Journal and wishes are lost, and the first member of its sequence lives."""
    lead = replace(SPEC, name="first", kind=Kind.LOOP, loop=LoopRules(sequence=(Member("a"),)))
    later = replace(MEMBER, kind=Kind.LOOP, autostart=False)
    story = Story()
    story.fleet = Fleet()
    traces = (Trace("first", None, "runs", replace(NEW, epoch=20), NEW, 3), Trace("a", None, "idle", None, OLD, 2))
    story.tell(JournalBehind("it was lost", World("boot", 0, 20, traces), (lead, later)))
    story.tell(AgentExited("first", 3, "run-3", 0, None))

    def iterates() -> None:
        story.wait(60)
        run = story.fleet.agents["first"].run
        assert run is not None
        story.tell(AgentStarted("first", run.incarnation, run.run_id, 5, 50))
        story.pass_over(400)
        story.tell(AgentExited("first", run.incarnation, run.run_id, 0, None))

    iterates()
    assert isinstance(story.fleet.agents["a"].state, Stopped)
    assert any("no turn for a: whether it was stopped is not known" in reason for reason in story.reasons)
    story.tell(RecoveryConfirmed())
    iterates()
    assert isinstance(story.fleet.agents["a"].state, Starting)
