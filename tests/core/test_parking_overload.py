"""An overload or an outage is waited out for longer each time, by each agent alone (F-PROC-26)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from phoenixd.core.actions import Deliver
from phoenixd.core.agent.state import Parked
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.limits.state import ParkingKind
from tests.core.accounts import RESET, Account, team
from tests.core.story import claude


def refused(story: Account) -> float:
    """A turn that the service refuses, of a CLI whose hook of a turn's end comes all the same; how long it waits."""
    story.say("a", "stop")
    story.say("a", "stop-failure", error="server_error")
    story.tell(ScreenSeen("a", 1, "idle"))
    held = story.agent.parking
    assert held is not None
    waited = held.until_wall - story.wall
    story.screen, told = "idle", len(story.of(Deliver))
    while len(story.of(Deliver)) == told:
        story.wait(1)
    story.screen = None
    story.obeys("a")
    return waited


def gemini_account() -> Account:
    story = Account(claude("a", harness="gemini")).all_work()
    story.screen = None
    return story


def test_f_proc_26_each_refusal_in_a_row_of_a_cli_whose_turns_end_either_way_is_waited_out_for_longer() -> None:
    """Its hook of a turn's end comes of a turn that was refused as well, and proves nothing (Gemini)."""
    story = gemini_account()
    waited = [refused(story) for _ in range(5)]
    assert waited == sorted(set(waited)), "each wait is longer than the one before"
    assert story.alerts() == ["outage"]


def test_f_proc_26_a_turn_that_a_look_shows_to_have_ended_well_ends_the_row_of_refusals() -> None:
    story = gemini_account()
    first, second = refused(story), refused(story)
    story.say("a", "stop")
    assert story.agent.limits.setbacks == 2, "nobody knows yet how it ended"
    story.tell(ScreenSeen("a", 1, "idle"))
    assert story.agent.limits.setbacks == 0
    story.say("a", "prompt-submit", text="Go on.")
    assert first < second
    assert refused(story) == first


@pytest.mark.parametrize(
    "shows",
    [
        lambda story: story.tell(ScreenSeen("a", 1, "limit-dialog")),
        lambda story: story.tell(ScreenSeen("a", 1, "working")),
        lambda story: (story.say("a", "prompt-submit", text="x"), story.tell(ScreenSeen("a", 1, "idle"))),
        lambda story: (
            story.say("a", "prompt-submit", text="x"),
            story.say("a", "notification", notification="idle_prompt"),
            story.tell(ScreenSeen("a", 1, "idle")),
        ),
        lambda story: (
            story.say("a", "stop-failure", error="max_output_tokens"),
            story.tell(ScreenSeen("a", 1, "idle")),
        ),
        lambda story: (story.dies("a"), story.runs(), story.tell(ScreenSeen("a", 2, "idle"))),
    ],
    ids=[
        "a dialog",
        "a screen that works",
        "another turn",
        "another turn that was broken off",
        "a turn that failed otherwise",
        "a run after it",
    ],
)
def test_f_proc_26_what_does_not_show_that_the_turn_ended_well_ends_no_row_of_refusals(
    shows: Callable[[Account], object],
) -> None:
    story = gemini_account()
    refused(story)
    story.say("a", "stop")
    shows(story)
    assert story.agent.limits.setbacks == 1


def test_f_proc_26_a_call_that_ended_ends_the_row_of_refusals_of_any_cli() -> None:
    story = gemini_account()
    refused(story)
    story.say("a", "tool-start", tool="Bash", tool_use_id="t")
    story.say("a", "tool-end", tool="Bash", tool_use_id="t")
    assert story.agent.limits.setbacks == 0


@pytest.mark.parametrize("error", ["server_error", "overloaded", "unknown"])
def test_f_proc_26_an_overload_is_tried_again_less_and_less_often_by_this_agent_alone(error: str) -> None:
    story = Account(*team(2)).all_work()
    story.say("a1", "stop")
    story.chance = 0.0
    began = []
    for _ in range(6):
        story.say("a0", "stop-failure", error=error)
        assert story.named("a1").state_name == "running"
        began.append(story.at)
        before = len(story.of(Deliver))
        while len(story.of(Deliver)) == before:
            story.wait(1)
        story.obeys("a0")
    assert [round(later - earlier) for earlier, later in pairwise(began)] == [30, 60, 120, 240, 480]
    assert story.alerts() == ["outage"], "told once, and only when it lasts"
    assert story.named("a0").crashes == ()
    assert [one.kind for one in story.named("a0").alerts] == ["outage"]
    story.say("a0", "stop")
    assert story.named("a0").alerts == ()


@pytest.mark.parametrize("is_down", [False, True])
def test_who_waits_for_a_service_that_failed_as_its_account_meets_a_limit_is_told_as_one_that_waits_for_that(
    is_down: bool,
) -> None:
    story = Account(*team(2)).all_work()
    story.say("a0", "stop-failure", error="overloaded")
    if is_down:
        story.dies("a0")
    parked = story.named("a0").parking
    assert parked is not None
    assert parked.kind is ParkingKind.OVERLOAD

    story.meets_limit("a1")
    if not is_down:
        story.dies("a0")

    agent = story.named("a0")
    assert agent.parking is not None
    assert (agent.parking.kind, agent.parking.until_wall) == (ParkingKind.LIMIT, RESET + 30)
    assert isinstance(agent.state, Parked)
    assert "parked, limit: a1 met the limit of its account" in agent.reason
    story.dies("a1")
    story.tell(AgentDeclared(claude("a2", account="team"), start=True))
    assert isinstance(story.named("a2").state, Parked)
