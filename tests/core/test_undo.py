"""Which acts are taken back, into which state, and what hinders that or is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, StartRequested, StopRequested, UndoRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.seat import state as seats
from phoenixd.core.spec import Kind
from phoenixd.core.undo import hindrance
from phoenixd.core.undo.age import kept
from phoenixd.core.undo.state import Undoable, newest
from phoenixd.core.undo.telling import told
from phoenixd.documents.codec import decode, encode
from tests.core.story import Story, claude, spec
from tests.core.undoing import gone, undo


def test_what_was_given_up_is_not_brought_back_to_life() -> None:
    story = Story(claude()).works()
    story.exited(127)
    assert isinstance(story.state, Quarantined)
    story.stop(act="1")

    undo(story)

    assert isinstance(story.state, Quarantined)


def test_an_agent_that_runs_again_is_left_alone() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.start()
    story.runs()
    before = story.agent

    undo(story)

    assert replace(story.agent, reason="") == replace(before, reason="")


def test_promise_3_what_somebody_stopped_since_stays_stopped() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.stop()

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert isinstance(story.state, Stopped)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_stop_that_is_said_twice_is_one_act_with_all_of_its_agents(is_gone: bool) -> None:
    """The second one was the newest act, and undo brought back that agent alone."""
    story = Story(claude(), claude("b")).works()
    session = story.run.session_id
    story.tell(StartRequested("b"))
    story.stop(act="1")
    story.tell(StopRequested("b", act="1"))
    if is_gone:
        gone(story)
    story.stop(act="2")
    if not is_gone:
        gone(story)

    assert [(one.act, one.agent) for one in newest(kept(story.fleet.undoable, story.now))] == [("1", "a"), ("1", "b")]
    undo(story)

    assert isinstance(story.state, Starting)
    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)


def test_a_stop_now_of_what_was_to_stop_later_is_taken_back_as_both() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop(act="1", after_iteration=True)
    story.stop(act="2")
    gone(story)

    assert [(one.act, one.was_up) for one in story.fleet.undoable] == [("2", True)]
    undo(story, "2")

    assert isinstance(story.state, Starting)
    assert story.run.session_id == session


def test_a_stop_of_what_had_ended_by_itself_is_the_newest_act_and_undo_leaves_it_down() -> None:
    """It was none, so that undo took back the older act of somebody else."""
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.start()
    story.works()
    story.pass_over(60)
    story.exited(0)
    assert isinstance(story.state, Stopped)

    story.stop(act="2")
    assert [(one.act, one.verb) for one in story.fleet.undoable] == [("2", "stop")]
    story.stop(act="3")
    assert [one.act for one in story.fleet.undoable] == ["2"]
    before = story.agent
    undo(story, "2")

    assert isinstance(story.state, Stopped)
    assert story.agent.returns_to == before.returns_to, "its next start is what it would have been"
    assert story.fleet.undoable == ()


def test_a_quarantine_is_not_lifted_by_taking_back_an_older_stop() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.start()
    story.works()
    story.exited(127)
    assert isinstance(story.state, Quarantined)

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert "it was given up since (quarantined" in refused.message
    assert refused.remedy == "phoenixctl start a"
    assert isinstance(story.state, Quarantined)
    assert [one.act for one in story.fleet.undoable] == ["1"]


def test_a_stop_that_ended_a_quarantine_is_taken_back_into_that_quarantine() -> None:
    story = Story(claude()).works()
    story.exited(127)
    before = story.agent
    assert isinstance(before.state, Quarantined)
    story.stop(act="1")
    assert (story.state, story.agent.items) == (Stopped(), ())
    # Another life of the daemon: what the journal keeps is all that is left.
    (act,) = (decode(Undoable, encode(one)) for one in story.fleet.undoable)
    story.fleet = replace(story.fleet, undoable=(act,))

    undo(story)

    after = story.agent
    assert (after.state, after.desired, after.reason) == (before.state, before.desired, before.reason)
    assert [(one.kind, one.text) for one in after.items] == [(one.kind, one.text) for one in before.items]
    assert told(after, act, story.now) == f"a is in quarantine again, as it was: {before.state.cause}"
    assert story.fleet.undoable == ()
    story.start()
    assert isinstance(story.state, Starting)


def test_a_removal_of_one_in_quarantine_is_taken_back_into_that_quarantine() -> None:
    story = Story(claude()).works()
    story.exited(127)
    before = story.agent
    assert isinstance(before.state, Quarantined)
    story.tell(AgentWithdrawn("a", act="1"))
    # Another life of the daemon: what the journal keeps is all that is left.
    (act,) = (decode(Undoable, encode(one)) for one in story.fleet.undoable)
    story.fleet = replace(story.fleet, undoable=(act,))
    story.tell(AgentDeclared(claude(), is_undo=True))

    undo(story)

    after = story.agent
    assert (after.state, after.desired, after.reason) == (before.state, before.desired, before.reason)
    assert [(one.kind, one.text) for one in after.items] == [(one.kind, one.text) for one in before.items]
    assert after.returns_to == before.session
    assert told(after, act, story.now) == f"a is in quarantine again, as it was: {before.state.cause}"
    assert story.fleet.undoable == ()
    story.start()
    assert isinstance(story.state, Starting)


def test_an_older_versions_removal_of_one_in_quarantine_brings_it_back_down() -> None:
    story = Story(claude()).works()
    story.exited(127)
    story.tell(AgentWithdrawn("a", act="1"))
    # What it noted said of no removal that it met a quarantine.
    story.fleet = replace(story.fleet, undoable=tuple(replace(one, quarantine=None) for one in story.fleet.undoable))
    story.tell(AgentDeclared(claude(), is_undo=True))

    undo(story)

    assert isinstance(story.state, Stopped)


def test_one_that_had_no_turns_has_none_in_the_quarantine_that_it_comes_back_to() -> None:
    story = Story(claude()).works()
    story.exited(127)
    story.fleet = replace(story.fleet, agents={"a": replace(story.agent, left_out=True)})
    story.tell(AgentWithdrawn("a", act="1"))
    story.tell(AgentDeclared(claude(), is_undo=True))

    undo(story)

    assert isinstance(story.state, Quarantined)
    assert story.agent.left_out


def test_a_stop_of_one_in_quarantine_is_the_newest_act_and_can_be_said_twice() -> None:
    story = Story(claude()).works()
    story.exited(127)
    older = Undoable("0", "remove", "b", story.now.wall, "ada", at=story.now.at)
    story.fleet = replace(story.fleet, undoable=(older,))
    story.stop(act="1")
    assert [one.agent for one in newest(kept(story.fleet.undoable, story.now))] == ["a"]

    story.stop(act="2")

    assert [(one.act, one.agent) for one in story.fleet.undoable] == [("0", "b"), ("1", "a")]
    undo(story)
    assert isinstance(story.state, Quarantined)


def test_one_that_ran_since_its_quarantine_was_ended_is_not_put_back_into_it() -> None:
    story = Story(claude()).works()
    story.exited(127)
    story.stop(act="1")
    story.start()
    story.works()
    story.pass_over(60)
    story.exited(0)
    assert isinstance(story.state, Stopped)

    undo(story)

    assert isinstance(story.state, Stopped)


def test_what_is_told_of_an_agent_that_came_back_is_what_became_of_it() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop(act="1")
    gone(story)
    (act,) = story.fleet.undoable
    story.tell(AgentDeclared(claude(resume=replace(claude().resume, enabled=False), prompt="Something else.")))
    undo(story)

    words = told(story.agent, act, story.now)

    assert story.run.session_id != session
    assert words == (
        "a is on its way back, in a new session: this agent does not resume; its configuration is another one than "
        "then: phoenixctl config show"
    )
    story.works()
    assert told(story.agent, replace(act, launch=""), story.now) == "a runs already"
    same = replace(act, launch="", session=story.agent.session)
    assert told(story.agent, same, story.now) == f"a runs already, in its session {story.run.session_id[:8]}"
    story.stop()
    gone(story)
    assert told(story.agent, same, story.now).endswith("; it was not running")


def test_an_act_knows_what_selectors_ask_for() -> None:
    story = Story(claude(project="web", labels=("prod",)))
    story.works()
    story.stop(act="1")
    (act,) = story.fleet.undoable

    assert (act.kind, act.harness, act.project, act.labels) == ("resident", "claude", "web", ("prod",))
    older = {key: value for key, value in encode(act).items() if key not in ("kind", "harness", "launch", "labels")}
    assert decode(Undoable, older).harness == ""


def test_the_removal_of_an_earlier_agent_can_still_be_taken_back_after_that_of_a_later_one() -> None:
    story = Story(claude()).works()
    first = story.run.session_id
    story.tell(AgentWithdrawn("a", "ada", "1"))
    gone(story)
    story.tell(AgentDeclared(claude()))
    story.start()
    story.works()
    story.tell(AgentWithdrawn("a", "ada", "2"))
    gone(story)
    story.tell(AgentDeclared(claude()))

    undo(story, "1")

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, first)
    assert [one.act for one in story.fleet.undoable] == ["2"]


def test_another_agent_of_a_removed_ones_name_is_left_alone() -> None:
    story = Story(claude()).works()
    story.tell(AgentWithdrawn("a", "ada", "1"))
    gone(story)
    story.tell(AgentDeclared(claude()))
    story.start()
    story.works()
    session = story.run.session_id

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert "another agent of this name" in refused.message
    assert (story.run.session_id, story.agent.returns_to) == (session, None)


def test_a_stop_that_is_reversed_already_leaves_no_act_that_nobody_did() -> None:
    """It was in a newer session since; nothing was left, and a fresh start that nobody ordered stood there."""
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.start(fresh=True)
    story.works()
    (act,) = story.fleet.undoable
    assert hindrance.is_reversed(story.fleet, act)

    undo(story, "1")

    assert story.fleet.undoable == ()


def test_a_seat_that_passed_on_says_why_it_cannot_come_back() -> None:
    story = Story(spec("lead", kind=Kind.ORCHESTRATOR))
    agent = story.agent
    seat = replace(story.fleet.seats["lead"], generation=3)
    later = replace(agent, spec=replace(agent.spec, name="lead-g3", generation=3))
    story.fleet = replace(story.fleet, agents={"lead-g3": later}, seats={"lead": seat})
    story.tell(AgentWithdrawn("lead", "ada", "1"))
    (act,) = story.fleet.undoable
    assert act.agent == "lead"
    assert not seats.is_seated(spec("x"))

    story.tell(AgentDeclared(spec("lead", kind=Kind.ORCHESTRATOR)))
    refused = story.tell(UndoRequested("lead", "1"))

    assert refused is not None
    assert "held by generation 3" in refused.message


def seat_passed_on(story: Story) -> None:
    """The second generation of the seat holds it, and the first is gone."""
    agent, seat = story.agent, replace(story.fleet.seats["lead"], generation=2, fenced=1)
    later = replace(agent, spec=replace(agent.spec, name="lead-g2", generation=2))
    rest = {name: one for name, one in story.fleet.agents.items() if name != "lead"}
    story.fleet = replace(story.fleet, agents={**rest, "lead-g2": later}, seats={"lead": seat})


def test_an_act_that_never_can_be_taken_back_says_so_beforehand_and_hides_no_older_one() -> None:
    story = Story(spec("lead", kind=Kind.ORCHESTRATOR), claude("docs"))
    story.tell(StartRequested("lead"))
    story.tell(StartRequested("docs"))
    story.tell(StopRequested("docs", act="1"))
    story.stop(act="2")
    older, stopped = story.fleet.undoable
    another = replace(stopped, act="3", verb="fresh")
    story.fleet = replace(story.fleet, undoable=(older, stopped, another))
    assert [hindrance.ahead(story.fleet, one) for one in story.fleet.undoable] == ["", "", ""]
    seat_passed_on(story)
    why = "it cannot be brought back: its seat has passed to generation 2 since"
    assert [hindrance.ahead(story.fleet, one) for one in story.fleet.undoable] == ["", why, why]

    refused = story.tell(UndoRequested("lead", "3", "ada"))

    assert refused is not None
    assert "undo goes on to the one before" in refused.message
    assert newest(kept(story.fleet.undoable, story.now)) == (older,)
    assert story.tell(UndoRequested("docs", "1", "ada")) is None


def test_an_act_that_cannot_be_taken_back_just_now_is_kept() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    other = replace(story.agent, spec=replace(story.agent.spec, harness="codex"))
    story.fleet = replace(story.fleet, agents={"a": other})
    (act,) = story.fleet.undoable
    assert "can not now be brought back: it was of the harness claude" in hindrance.ahead(story.fleet, act)
    assert story.tell(UndoRequested("a", "1", "ada")) is not None
    assert story.fleet.undoable == (act,)


def test_a_running_agent_is_up_after_its_stop_was_taken_back_at_once() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop(act="1")

    undo(story)
    assert isinstance(story.state, Stopping)
    gone(story).respawned()
    story.works()

    assert isinstance(story.state, Running)
    assert story.run.session_id == session


def test_a_mute_of_who_cannot_be_brought_back_can_be_taken_back_all_the_same() -> None:
    """It says nothing of a run, so nothing that became of one stands in its way."""
    story = Story(claude()).works()
    stopped = Undoable("1", "stop", "a", story.wall, "ada", cannot="its session is lost")
    alone = Fleet(undoable=(stopped,))

    for fleet in (story.fleet, alone):
        assert hindrance.ahead(fleet, stopped)
        for verb in ("mute", "unmute"):
            assert hindrance.ahead(fleet, replace(stopped, verb=verb)) == ""
    assert hindrance.ahead(alone, replace(stopped, cannot="")) == ""
