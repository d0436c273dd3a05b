"""Which acts are kept to be taken back, which of them is meant, for how long, and how many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.state import Stopped
from phoenixd.core.behind.world import World
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested, StopRequested, UndoRequested
from phoenixd.core.fleet import Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.core.undo.age import kept, lasting
from phoenixd.core.undo.state import KEPT, MOST, Undoable, newest
from phoenixd.documents.codec import decode, encode
from tests.core.story import Story, claude, spec
from tests.core.undoing import DAY, gone, undo


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


def test_after_a_journal_was_lost_nothing_of_before_can_be_taken_back() -> None:
    """What was taken back since, and what was stopped, an old journal does not know."""
    story = Story(claude()).works()
    story.stop(act="1")
    gone(story)
    story.tell(JournalBehind("it is old", World("b", 4, 5)))
    assert story.fleet.undoable == ()
