"""Promise 10: an agent that cannot be heard is one that status shows, a person is told of, and nobody ends."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import Kill, LookAtScreen, Reassure, Terminate
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import HooksRefused, LinkLost, RunAdopted
from phoenixd.core.projection import Row, row
from phoenixd.core.turn.due import EVERY_DEAF
from tests.core.story import Story, claude

WHY = "the shim closed it; nobody listens on its socket"


def deaf(story: Story | None = None) -> Story:
    story = (story or Story(claude())).runs()
    story.tell(LinkLost("a", 1, WHY))
    return story


def shown(story: Story) -> Row:
    return row(story.agent, story.now)


def linked(story: Story) -> None:
    story.tell(RunAdopted("a", 1, 100, 100, unwatched=True))


def test_promise_10_a_lost_link_is_shown_at_once_and_told_once_after_thirty_seconds() -> None:
    story = deaf()
    assert (shown(story).hooks, shown(story).group) == ("lost", "unknown")
    assert shown(story).deaf is not None
    assert story.alerts() == []
    story.wait(29)
    assert story.alerts() == []
    story.wait(2)
    assert story.alerts() == ["link lost"]
    assert WHY in story.agent.alerts[0].text
    assert shown(story).group == "needs_you"
    story.tell(LinkLost("a", 1, "again"))
    story.wait(3600)
    assert story.alerts() == ["link lost"]


def test_promise_10_the_deadline_of_the_alert_is_a_part_of_the_state() -> None:
    """A daemon that starts again in between tells it when it is due, and not thirty seconds after its own start."""
    story = deaf()
    story.wait(20)
    state = story.agent.state
    assert isinstance(state, Running)
    assert state.run.deaf is not None
    assert story.now.at - state.run.deaf.since == pytest.approx(20, abs=1)


def test_promise_10_a_link_that_is_back_is_over_and_clears_its_alert() -> None:
    story = deaf()
    story.wait(40)
    linked(story)
    assert (shown(story).hooks, shown(story).group, story.agent.alerts) == ("ok", "working", ())
    assert [action.kind for action in story.of(Reassure)] == ["link lost"]


def test_a_link_that_is_back_in_time_was_nobodys_business() -> None:
    story = deaf()
    story.wait(25)
    linked(story)
    story.wait(60)
    assert story.alerts() == []


def test_promise_10_the_screen_of_a_deaf_agent_is_looked_at_ever_less_often_and_every_minute() -> None:
    story = Story(claude()).runs()
    story.hook("stop")
    story.wait(400)
    before = len(story.of(LookAtScreen))
    story.tell(LinkLost("a", 1, WHY))
    story.wait(3)
    assert len(story.of(LookAtScreen)) == before + 1
    story.wait(60)
    soon = len(story.of(LookAtScreen))
    assert soon >= before + 4
    story.wait(600)
    assert 600 / EVERY_DEAF - 1 <= len(story.of(LookAtScreen)) - soon <= 600 / EVERY_DEAF + 1


def test_promise_10_a_dialog_on_a_deaf_agents_screen_asks_for_a_person() -> None:
    story = deaf()
    story.wait(3)
    assert story.of(LookAtScreen)
    story.tell(ScreenSeen("a", 1, "permission"))
    assert shown(story).activity == "waiting"
    assert "dialog" in story.alerts()


def test_promise_4_the_silence_of_a_deaf_agent_is_no_hang() -> None:
    story = deaf(Story(claude()).runs())
    story.hook("prompt-submit")
    story.wait(7200)
    assert isinstance(story.state, Running)
    assert not story.of(Kill)
    assert not story.of(Terminate)
    linked(story)
    story.wait(600)
    assert isinstance(story.state, Running), "what came meanwhile may be lost: it has a whole limit again"
    story.wait(600)
    assert story.agent.incident is not None


def test_promise_10_refused_hooks_are_counted_and_told_once() -> None:
    story = Story(claude()).runs()
    story.tell(HooksRefused("a", 1, 2, 0, "a body of more than 16 MiB"))
    story.tell(HooksRefused("a", 1, 7, 3, "its request was not whole in time"))
    story.tell(HooksRefused("a", 1, 5, 3, "an older word changes nothing"))
    assert (shown(story).refused, shown(story).strangers, shown(story).hooks) == (7, 3, "refused")
    assert story.alerts() == ["hooks refused"]
    assert "not whole in time" in story.agent.alerts[0].text
    assert shown(story).group == "working", "it is told, and stops nobody"


def test_the_first_refusal_is_a_part_of_the_night_and_those_after_it_are_noise() -> None:
    story = Story(claude()).runs()
    story.decisions.clear()
    story.tell(HooksRefused("a", 1, 2, 0, "too large"))
    story.tell(HooksRefused("a", 1, 7, 0, "too large"))
    first, second = (one for one in story.decisions if one.reason)
    assert (first.weight == "noise", second.weight == "noise") == (False, True)

    other = Story(claude()).runs()
    other.tell(LinkLost("a", 1, WHY))
    other.wait(40)
    assert other.agent.alerts
    other.decisions.clear()
    other.tell(HooksRefused("a", 1, 2, 0, "too large"))
    assert [one.weight == "noise" for one in other.decisions if one.reason] == [False], (
        "another alert stands for itself"
    )


def test_strangers_at_its_hooks_are_counted_and_call_nobody() -> None:
    story = Story(claude()).runs()
    story.tell(HooksRefused("a", 1, 0, 12))
    assert (shown(story).strangers, shown(story).hooks, story.alerts()) == (12, "ok", [])


def test_what_was_refused_is_the_runs_and_ends_with_it() -> None:
    story = Story(claude()).runs()
    story.tell(HooksRefused("a", 1, 2, 1, "why"))
    story.tell(LinkLost("a", 1, WHY))
    story.wait(40)
    story.exited(signal=9)
    story.respawned()
    assert (shown(story).refused, shown(story).deaf, story.agent.alerts) == (0, None, ())
