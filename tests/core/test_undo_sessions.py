"""An act is taken back into the session that the agent had before it, also after another life of the daemon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Starting, Stopped, Stopping
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, UndoRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.projection import row
from phoenixd.core.undo.hindrance import ahead
from phoenixd.core.undo.state import Undoable
from phoenixd.core.undo.telling import told
from phoenixd.documents.codec import decode, encode
from tests.core.story import Story, claude, spec
from tests.core.undoing import DAY, gone, undo


@pytest.mark.parametrize("days", [0, 6.9])
def test_a_stop_is_taken_back_into_the_same_session(days: float) -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop(act="1")
    gone(story)
    assert isinstance(story.state, Stopped)
    story.pass_over(days * DAY)

    undo(story)

    assert isinstance(story.state, Starting)
    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)
    assert any("ada, who took the stop back" in reason for reason in story.reasons)
    assert story.fleet.undoable == ()


def test_a_fresh_start_is_taken_back_however_far_the_new_session_is() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.works()
    assert story.run.session_id != session
    story.pass_over(2 * DAY)

    undo(story)
    assert isinstance(story.state, Stopping)
    story.hook("stop")
    gone(story).respawned()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)
    assert story.agent.returns_to is None
    assert story.agent.session is not None
    assert story.agent.session.session_id == session


@pytest.mark.parametrize("tells", [False, True])
def test_of_a_program_that_tells_nothing_by_hooks_no_session_is_told(tells: bool) -> None:
    """A shell script was "on its way back, in its session 3f2a": it has none, and the id is ours."""
    story = Story(spec()).runs()
    if tells:
        story.hook("session-start")
    story.stop(act="1")
    gone(story)
    (act,) = story.fleet.undoable
    undo(story)
    for state in (story.state, Stopped()):
        words = told(replace(story.agent, state=state), act, story.now)
        assert ("session" in words) == tells, words


def test_a_fresh_start_that_left_a_session_without_a_turn_is_not_said_to_be_taken_back() -> None:
    """Its CLI has kept nothing of that session: the undo promised it, and what came was another empty one."""
    story = Story(claude(prompt=None)).runs()
    left = story.run.session_id
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.runs()
    (act,) = story.fleet.undoable
    assert "cannot be brought back: nothing had been said in the session" in ahead(story.fleet, act)

    refusal = story.tell(UndoRequested("a", "1", "ada"))
    assert refusal is not None
    assert "nothing had been said in the session that it left" in refusal.message
    assert refusal.remedy == "phoenixctl restart a --fresh"
    assert story.run.session_id != left
    assert story.fleet.undoable == (), "an older act is the newest again"


def test_a_stop_of_a_session_without_a_turn_is_taken_back_into_a_new_one_and_says_so() -> None:
    story = Story(claude(prompt=None)).runs()
    left = story.run.session_id
    story.stop(act="1")
    gone(story)
    (act,) = story.fleet.undoable
    undo(story)
    said = told(story.agent, act, story.now)
    assert "in a new session: nothing had been said in the one before" in said
    assert left[:8] not in said


def test_a_program_that_goes_back_to_any_session_gets_one_without_a_turn_back_as_well() -> None:
    story = Story(spec("a")).runs()
    left = story.run.session_id
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.runs()
    undo(story)
    gone(story).respawned()
    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, left)


def test_an_agent_whose_turn_had_ended_is_not_told_to_go_on_because_an_earlier_run_died_in_one() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(None, 9)
    story.respawned()
    story.works()
    story.hook("stop")
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.works()
    story.hook("stop")
    undo(story)
    gone(story).respawned()
    assert (story.run.mode, story.run.prompt) == (Mode.RESUME, PromptKind.NONE)


def test_a_removed_agent_comes_back_into_its_session() -> None:
    story = Story(claude()).works()
    session, incarnation = story.run.session_id, story.run.incarnation
    story.tell(AgentWithdrawn("a", "ada", "1"))
    gone(story)
    assert not story.fleet.agents
    (act,) = story.fleet.undoable

    # Another life of the daemon: what the journal keeps is all that is left.
    story.fleet = Fleet(retired=story.fleet.retired, undoable=(decode(Undoable, encode(act)),))
    story.tell(AgentDeclared(claude()))
    undo(story)

    assert isinstance(story.state, Starting)
    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)
    assert story.run.incarnation > incarnation


@pytest.mark.parametrize(("over", "prompt"), [(False, PromptKind.CONTINUE), (True, PromptKind.NONE)])
def test_an_agent_that_was_down_when_it_was_removed_stays_down_and_keeps_its_session(
    over: bool, prompt: PromptKind
) -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    if over:
        story.hook("stop")
    story.stop()
    gone(story)
    story.tell(AgentWithdrawn("a", "ada", "1"))
    story.tell(AgentDeclared(claude()))

    undo(story)
    assert isinstance(story.state, Stopped)
    shown = row(story.agent, story.now)
    assert (shown.session_id, "goes back to its session" in shown.reason) == (session, True)
    story.start()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)
    assert story.spawn.prompt is prompt


def test_a_session_survives_any_number_of_removals_that_are_taken_back() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop()
    gone(story)
    for number in range(3):
        act = str(number)
        story.tell(AgentWithdrawn("a", "ada", act))
        (kept_act,) = story.fleet.undoable
        story.tell(AgentDeclared(claude()))
        undo(story, act)

        shown = row(story.agent, story.now)
        assert (shown.session_id, "goes back to its session" in shown.reason) == (session, True)
        assert f"in its session {session[:8]}" in told(story.agent, kept_act, story.now)
        assert story.fleet.undoable == ()
    story.start()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)


def test_a_fresh_start_in_place_of_a_session_that_was_given_back_is_taken_back_into_it() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop()
    gone(story)
    story.tell(AgentWithdrawn("a", "ada", "1"))
    story.tell(AgentDeclared(claude()))
    undo(story)
    story.start(fresh=True, act="2")
    story.works()
    story.stop()
    gone(story)

    undo(story, "2")
    story.start()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)


def test_of_two_sessions_that_are_taken_back_in_turn_none_is_lost_while_it_is_down() -> None:
    story = Story(claude()).works()
    first = story.run.session_id
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.works()
    second = story.run.session_id
    story.stop()
    gone(story)
    for act, session in (("1", first), ("1-back", second), ("1", first)):
        undo(story, act)
        assert story.agent.returns_to is not None
        assert story.agent.returns_to.session_id == session


def test_a_removal_of_one_that_had_no_session_promises_none() -> None:
    story = Story(claude())
    story.tell(AgentWithdrawn("a", "ada", "1"))
    story.tell(AgentDeclared(claude()))
    undo(story)
    assert "session" not in row(story.agent, story.now).reason
    assert not any("goes back to its session" in reason for reason in story.reasons)


def test_a_fresh_start_of_one_that_was_down_is_taken_back_without_a_run() -> None:
    story = Story(claude()).works()
    session = story.run.session_id
    story.stop()
    gone(story)
    story.start(fresh=True, act="1")
    story.works()
    story.stop()
    gone(story)

    undo(story)
    assert isinstance(story.state, Stopped)
    story.start()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)


def test_a_stop_that_is_taken_back_at_once_leaves_no_turn_behind() -> None:
    """It comes back to work: its open turn is known by the end of its run, and not by its beginning."""
    story = Story(claude()).works()
    story.stop(act="1")

    undo(story)
    gone(story).respawned()

    assert (story.run.mode, story.run.prompt) == (Mode.RESUME, PromptKind.CONTINUE)


@pytest.mark.parametrize("how", ["stopping", "waiting for its turn to start"])
def test_a_fresh_start_that_is_under_way_is_taken_back_once_it_runs(how: str) -> None:
    """Else the old session would come back days later, by some other start."""
    story = Story(claude()).works()
    session = story.run.session_id
    story.restart(fresh=True, act="1")
    if how != "stopping":
        story.fleet = replace(story.fleet, limits=replace(story.fleet.limits, max_starting=0))
        gone(story)
        assert isinstance(story.state, BackingOff)

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert "between two runs" in refused.message
    assert story.agent.returns_to is None
    assert [one.act for one in story.fleet.undoable] == ["1"]
    assert story.agent.session is not None
    assert story.agent.session.session_id == session


@pytest.mark.parametrize("verb", ["stop", "fresh"])
def test_a_session_of_another_cli_is_not_gone_back_to(verb: str) -> None:
    """It says why and what to type, and is taken back once the harness is what it was."""
    story = Story(claude()).works()
    session = story.run.session_id
    if verb == "stop":
        story.stop(act="1")
        gone(story)
    else:
        story.restart(fresh=True, act="1")
        gone(story).respawned()
        story.works()
    story.tell(AgentDeclared(replace(claude(), harness="codex", argv=("codex",))))

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert "it was of the harness claude, and so is its session; since then it is codex" in refused.message
    assert refused.remedy == ("phoenixctl start a" if verb == "stop" else "phoenixctl explain a")
    assert story.agent.returns_to is None
    if verb == "fresh":
        return
    story.tell(AgentDeclared(claude()))
    undo(story)
    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, session)


def test_a_session_that_is_left_by_taking_back_can_be_had_again() -> None:
    story = Story(claude()).works()
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.works()
    newer = story.run.session_id

    undo(story)
    gone(story).respawned()
    story.works()
    (back,) = story.fleet.undoable
    undo(story, back.act)
    gone(story).respawned()

    assert (story.run.mode, story.run.session_id) == (Mode.RESUME, newer)
    assert [one.act for one in story.fleet.undoable] == ["1"]


@pytest.mark.parametrize("act", ["", "2"])
def test_a_fresh_start_of_an_agent_that_was_removed_gives_no_session_to_another_of_its_name(act: str) -> None:
    story = Story(claude()).works()
    story.restart(fresh=True, act="1")
    gone(story).respawned()
    story.works()
    story.tell(AgentWithdrawn("a", "ada", act))
    gone(story)
    story.tell(AgentDeclared(claude()))
    story.start()
    story.works()
    session = story.run.session_id

    refused = story.tell(UndoRequested("a", "1", "ada"))

    assert refused is not None
    assert refused.code == "conflict"
    assert (story.run.session_id, story.agent.returns_to) == (session, None)
