"""What an operator did can be taken back for 7 days: the same session, also after another life of the daemon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.behind.world import World
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, StartRequested, StopRequested, UndoRequested
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.projection import row
from phoenixd.core.seat import state as seats
from phoenixd.core.spec import Kind
from phoenixd.core.undo import hindrance
from phoenixd.core.undo.age import kept, lasting
from phoenixd.core.undo.state import KEPT, MOST, Undoable, newest
from phoenixd.core.undo.telling import told
from phoenixd.documents.codec import decode, encode
from tests.core.story import Story, claude, spec

DAY = 86400.0


def gone(story: Story) -> Story:
    """Bring the run that is being ended to its end."""
    story.exited(None, 15)
    if story.fleet.agents and story.agent.run is not None:
        story.tree_gone()
    return story


def undo(story: Story, act: str = "1") -> None:
    assert story.tell(UndoRequested("a", act, "ada")) is None


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


def test_an_act_on_an_agent_that_is_gone_by_now_is_refused_by_its_name() -> None:
    story = Story(spec()).runs()
    story.stop(act="1")
    refused = story.tell(UndoRequested("gone", "1"))
    assert refused is not None
    assert (refused.code, refused.message) == ("not_found", "there is no agent gone")
    assert [one.act for one in story.fleet.undoable] == ["1"]


def test_what_was_taken_back_or_is_too_old_is_refused() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    undo(story)
    again = story.tell(UndoRequested("a", "1"))
    assert again is not None
    assert again.code == "conflict"

    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.pass_over(KEPT + 1)
    late = story.tell(UndoRequested("a", "1"))
    assert late is not None
    assert "7 days have passed" in late.message
    assert isinstance(story.state, Stopped)


@pytest.mark.parametrize("act", ["", "1"])
def test_only_what_changes_something_and_came_from_a_face_is_kept(act: str) -> None:
    story = Story(claude())
    story.start(fresh=True, act=act)
    assert story.fleet.undoable == ()
    story.works()
    story.restart(act=act)
    assert story.fleet.undoable == ()
    gone(story).respawned()
    story.tell(StopRequested("a", act=act))
    assert [one.verb for one in story.fleet.undoable] == ([] if not act else ["stop"])


def test_a_refused_order_leaves_nothing_to_take_back() -> None:
    story = Story(claude()).works()
    refused = story.start(fresh=True, act="1")
    assert refused is not None
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


def test_the_newest_act_is_taken_back_as_a_whole_and_of_named_agents_the_newest_of_each() -> None:
    acts = (
        Undoable("1", "stop", "a", 10.0, "ada"),
        Undoable("1", "stop", "b", 10.0, "ada"),
        Undoable("2", "fresh", "a", 20.0, "ada"),
        Undoable("2", "fresh", "c", 20.0, "ada"),
    )

    assert [one.agent for one in newest(acts)] == ["a", "c"]
    assert [(one.agent, one.act) for one in newest(acts, frozenset("ab"))] == [("a", "2"), ("b", "1")]
    assert [(one.agent, one.act) for one in newest(acts, frozenset("ab"), "1")] == [("a", "1"), ("b", "1")]
    assert [one.agent for one in newest(acts, act="1")] == ["a", "b"]
    assert newest(acts, act="3") == ()
    assert newest(()) == ()


def test_acts_are_bounded() -> None:
    acts = [Undoable(str(number), "stop", "a", 1.0, "ada") for number in range(MOST + 5)]

    assert len(kept(acts, Moment(2.0, 2.0))) == MOST
    assert kept(acts, Moment(2.0, 2.0))[-1] is acts[-1]


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


@pytest.mark.parametrize("jump", [-400 * DAY, -1.0, 0.0, 400 * DAY])
def test_an_act_is_kept_seven_days_whatever_the_clock_is_set_to(jump: float) -> None:
    """Forward it hides the act for as long as the clock says so, and loses none; back it keeps none for longer."""
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    acts, at, wall = story.fleet.undoable, story.at, story.wall

    def seen(days: float, ahead: float) -> list[str]:
        """What can be taken back then, of what is remembered then, by a clock that is so far ahead."""
        then = Moment(at + days * DAY, wall + days * DAY + ahead)
        return [one.act for one in kept(lasting(acts, then), then)]

    assert seen(3, jump) == (["1"] if jump <= 0 else [])
    assert lasting(acts, Moment(at + 3 * DAY, wall + 3 * DAY + jump)) == acts
    assert seen(6.99, 0.0) == ["1"]
    assert seen(6.99, min(jump, 0.0)) == ["1"]
    assert seen(7, min(jump, 0.0)) == []


def test_by_a_clock_that_was_set_back_nothing_is_taken_back_after_seven_days() -> None:
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.pass_over(KEPT)
    story.wall -= 30 * DAY

    refused = story.tell(UndoRequested("a", "1"))

    assert refused is not None
    assert "7 days have passed" in refused.message
    assert isinstance(story.state, Stopped)


def test_an_act_of_an_older_version_is_kept_by_the_clock_alone() -> None:
    old = Undoable("1", "stop", "a", 10.0, "ada")
    assert decode(Undoable, {name: value for name, value in encode(old).items() if name != "at"}) == old
    assert lasting((old,), Moment(30 * DAY, 10.0 + KEPT - 1)) == (old,)
    assert lasting((old,), Moment(30 * DAY, 10.0 + KEPT)) == ()


def test_time_in_which_no_daemon_watched_counts() -> None:
    act = Undoable("1", "stop", "a", 10.0, "ada", at=5.0)
    assert kept((act,), Moment(6.0, 10.0 + KEPT - 1)) == (act,)
    assert kept((act,), Moment(6.0, 10.0 + KEPT)) == ()


def test_what_is_to_be_remembered_is_bounded_too() -> None:
    acts = [Undoable(str(number), "stop", "a", 1.0, "ada", at=1.0) for number in range(MOST + 5)]
    assert len(lasting(acts, Moment(2.0, 2.0))) == MOST


def test_with_a_removed_agent_go_all_acts_on_it_but_its_removal() -> None:
    """Else the newest act were one on an agent that is there no more, a worker say, and hid all older ones."""
    story = Story(claude(), claude("w")).works()
    story.stop(act="1")
    gone(story)
    story.tell(StartRequested("w"))
    story.tell(StopRequested("w", act="2"))
    assert [one.act for one in story.fleet.undoable] == ["1", "2"]
    worker = story.fleet.agents["w"]
    story.fleet = put(Step(story.fleet), Decision(worker, removed=True), story.now).fleet
    assert [(one.act, one.agent) for one in story.fleet.undoable] == [("1", "a")]
    story.tell(AgentWithdrawn("a", act="3"))
    assert [(one.act, one.verb) for one in story.fleet.undoable] == [("3", "remove")]


def test_with_a_generation_that_is_gone_go_no_acts_on_its_seat() -> None:
    story = Story(spec("lead", kind=Kind.ORCHESTRATOR))
    story.tell(StartRequested("lead"))
    story.stop(act="1")
    (act,) = story.fleet.undoable
    agent, seat = story.agent, replace(story.fleet.seats["lead"], generation=2, fenced=1)
    later = replace(agent, spec=replace(agent.spec, name="lead-g2", generation=2))
    story.fleet = replace(story.fleet, agents={"lead": agent, "lead-g2": later}, seats={"lead": seat})
    removed = put(Step(story.fleet), Decision(agent, removed=True), story.now)
    assert removed.fleet.undoable == (act,)
    removed = put(removed, Decision(later, removed=True), story.now)
    assert removed.fleet.undoable == ()


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


def test_after_a_journal_was_lost_nothing_of_before_can_be_taken_back() -> None:
    """What was taken back since, and what was stopped, an old journal does not know."""
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.tell(JournalBehind("it is old", World("b", 4, 5)))
    assert story.fleet.undoable == ()


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
