"""F-RES-8: who was given up because its directory is not there is started once that can be entered, and by no less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import kept_out
from phoenixd.core.actions import Alert, LookForDirectory
from phoenixd.core.agent.state import Quarantined, Starting, Stopped
from phoenixd.core.causes import Obstacle
from phoenixd.core.events.aftermath import DirectoryLooked
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.rules import LoopRules, Member
from phoenixd.core.spec import AgentSpec, Kind
from tests.core.story import Story, spec

CWD = "/srv/shop"


def given_up(declared: AgentSpec | None = None, obstacle: Obstacle = "no directory") -> Story:
    story = Story(declared or spec())
    story.start()
    fails(story, obstacle)
    return story


def fails(story: Story, obstacle: Obstacle = "no directory") -> None:
    """All its starts until it is given up."""
    while not isinstance(story.state, Quarantined):
        if not isinstance(story.state, Starting):
            story.respawned()
        story.tell(StartFailed("a", story.run.incarnation, 1, f"the directory {CWD} is missing", obstacle))


def looked(story: Story, is_open: bool | None, directory: str = CWD) -> None:
    story.tell(DirectoryLooked("a", story.agent.incarnation, directory, is_open))


def look(story: Story, is_open: bool | None) -> float:
    """Answer the look that is due next; returns how long it was waited for."""
    assert isinstance(story.state, Quarantined)
    assert story.state.look_at is not None
    before, waited = len(story.of(LookForDirectory)), story.state.look_at - story.at
    story.wait(waited)
    (order,) = story.of(LookForDirectory)[before:]
    assert (order.directory, order.incarnation) == (CWD, story.agent.incarnation)
    looked(story, is_open)
    return waited


@pytest.mark.parametrize("obstacle", ["no directory", "directory closed"])
def test_f_res_8_a_directory_that_comes_late_starts_its_agent(obstacle: Obstacle) -> None:
    story = given_up(obstacle=obstacle)
    assert "it starts by itself once that can be entered" in story.agent.reason
    assert look(story, False) == 0.0
    waits = [look(story, False if number else None) for number in range(40)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (kept_out.OFTEN, kept_out.SELDOM)
    assert isinstance(story.state, Quarantined)
    assert story.agent.items, "a person is still told of it"
    look(story, True)
    assert isinstance(story.state, Starting), story.agent.reason
    assert f"its directory {CWD} can be entered now" in " ".join(story.reasons)
    assert (story.agent.crashes, story.agent.items) == ((), ())


def test_a_directory_that_is_opened_and_closed_in_a_loop_makes_no_loop_of_starts_and_alerts() -> None:
    """An agent's neighbour can do that: 4,000 starts and 800 alerts an hour."""
    story = given_up()
    began, alerts = story.at, len(story.of(Alert))
    while story.at < began + 10 * 3600:
        look(story, False)
        look(story, True)
        assert isinstance(story.state, Starting)
        fails(story)
    assert len(story.of(Alert)) - alerts < 10 * kept_out.MOST
    assert "within an hour it was opened and closed" in story.agent.reason
    story.start()
    assert story.agent.let_in == (), "an operator has seen to it"
    fails(story)
    assert look(story, False) == kept_out.FIRST


def test_what_no_look_sees_starts_nothing_over_and_over() -> None:
    """The directory is there, and yet it was in the way: the next start would fail alike."""
    story = given_up()
    look(story, True)
    assert isinstance(story.state, Quarantined)
    assert kept_out.due(story.agent) is None
    story.wait(3600)
    assert len(story.of(LookForDirectory)) == 1


def test_a_look_that_is_not_answered_is_ordered_anew() -> None:
    story = given_up()
    story.wait(0)
    story.wait(kept_out.ANSWER_WITHIN)
    assert len(story.of(LookForDirectory)) == 2


def test_a_look_at_another_directory_says_nothing() -> None:
    story = given_up()
    look(story, False)
    looked(story, True, "/srv/elsewhere")
    assert isinstance(story.state, Quarantined)


def test_a_corrected_directory_starts_it_at_once_and_a_stop_keeps_it_down() -> None:
    story = given_up()
    look(story, False)
    story.tell(AgentDeclared(replace(story.agent.spec, cwd="/srv/other")))
    assert isinstance(story.state, Starting)
    story = given_up()
    look(story, False)
    story.stop()
    looked(story, True)
    assert isinstance(story.state, Stopped)


def test_who_was_given_up_for_anything_else_is_not_looked_for() -> None:
    story = given_up(obstacle="other")
    assert kept_out.due(story.agent) is None
    assert "by itself" not in story.agent.reason


def test_turns_of_a_sequence_are_begun_by_a_start_alone() -> None:
    lead = spec(kind=Kind.LOOP, loop=LoopRules(sequence=(Member("b"),)))
    agent = replace(given_up().agent, spec=lead)
    assert kept_out.due(agent) is None
