"""When a treatment has held: which turns and which hours of life count."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.rules import LivenessRules
from phoenixd.core.spec import Kind
from phoenixd.core.treatment.outcome import OPEN_TIME, TURNS
from tests.core.patients import back, case, cases, dies, turn
from tests.core.story import Story, claude, spec

# Which turn counts.


def gemini(name: str = "a", **changes: Any) -> Story:
    return Story(claude(name, **{"harness": "gemini", **changes})).works()


def test_a_turn_of_gemini_counts_once_its_screen_shows_that_it_ended_well() -> None:
    """Its hook comes at the end of a turn that failed as well."""
    story = gemini()
    dies(story)
    back(story)
    turn(story)
    story.screen = None
    for _ in range(TURNS + 2):
        turn(story)
    assert case(story).outcome == "open", "held by turns of which nobody knows whether they ended well"

    for verdict in ("login", "limit-dialog", "dialog"):
        turn(story)
        story.tell(ScreenSeen("a", story.run.incarnation, verdict))
    assert case(story).treated[0].turns == 0

    story.screen = "idle"
    for _ in range(TURNS - 1):
        turn(story)
    assert case(story).outcome == "open"
    turn(story)
    assert [one.outcome for one in case(story).treated] == ["held"]


def test_the_run_of_gemini_that_failed_is_productive_once_its_screen_says_so() -> None:
    story = gemini()
    story.hook("stop-failure", error="max_output_tokens")
    story.screen = None
    turn(story)

    assert story.fleet.cases.patient("a") is not None
    assert all(one.productive is None for one in case(story).treated)


def test_the_time_that_a_turn_waits_for_a_person_is_no_work(story: Story) -> None:
    dies(story)
    back(story)
    turn(story)
    story.hook("prompt-submit", text="a long one")
    story.hook("permission-request", tool="Bash", text="make deploy")
    story.pass_over(OPEN_TIME + 60)
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.hook("stop")

    assert case(story).outcome == "open"


@pytest.mark.parametrize(("asks", "expected"), [("", "held"), ("leave that, and do this", "moot")])
def test_what_a_person_asks_for_in_the_middle_of_the_first_turn_makes_it_moot(
    story: Story, asks: str, expected: str
) -> None:
    """What comes later is talk: an agent that people speak to is treated like any other."""
    dies(story)
    back(story)
    if asks:
        story.hook("prompt-submit", text=asks)
    for _ in range(TURNS + 1):
        turn(story)

    assert case(story).treated[0].outcome == expected


# Commands, which no hook tells of (design section 3).


def comes_back(**changes: Any) -> Story:
    """A command that has died once, and runs again."""
    story = Story(spec(**changes))
    story.start()
    story.started()
    story.pass_over(400)
    story.exited(1)
    story.respawned().started()
    return story


def test_a_treatment_of_a_command_without_hooks_held_after_an_hour_of_life_since_it_was_productive() -> None:
    story = comes_back()
    story.wait(300 + 3599)
    (one,) = case(story).treated
    assert (one.productive is not None, one.outcome) == (True, "open")
    story.wait(2)

    (one,) = case(story).treated
    assert (one.outcome, one.why) == ("held", "productive, and an hour of life without it since; it shows no turns")
    assert case(story).closed is not None


def test_a_command_that_dies_again_within_the_hour_was_not_held() -> None:
    story = comes_back()
    story.wait(300 + 3000)
    story.exited(1)

    assert cases(story)[0].treated[0].outcome == "failed"


def test_the_silence_of_a_command_whose_heartbeat_is_watched_counts_for_nothing() -> None:
    story = comes_back(heartbeat_file="beat.json", liveness=LivenessRules(stale=10 * 3600))
    story.wait(2 * 3600)
    assert case(story).treated[0].outcome == "open"
    story.tell(EvidenceSeen("a", story.agent.incarnation, "heartbeat"))
    story.tell(Tick())

    assert case(story).treated[0].outcome == "held"


def test_five_iterations_of_a_loop_without_hooks_that_ended_well_are_five_turns() -> None:
    story = Story(spec(kind=Kind.LOOP))
    story.start()
    story.started()
    story.pass_over(60)
    story.exited(1)
    for number in range(1 + TURNS):
        story.respawned().started()
        assert case(story).treated[0].outcome == "open", number
        story.pass_over(60)
        story.exited(0)

    assert case(story).treated[0].outcome == "held"
