"""A context that is full ends a session, and not the agent: the next run is fresh, with the brief (F-HO-1)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import Spawn, Terminate
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Stopping
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_event
from tests.core.story import Story, claude

TOO_LONG = {"error": "invalid_request", "error_details": "Prompt is too long"}
RAN_OUT = {"error": "invalid_request", "last_assistant_message": "Codex ran out of room in the model's context window."}
EXCEEDED = {"error": "max_output_tokens", "last_assistant_message": "API Error: model_context_window_exceeded"}


def working(kind: Kind = Kind.RESIDENT, **changes: Any) -> Story:
    """In its second turn: what fills its context is its own work."""
    story = Story(claude(kind=kind, **changes)).works()
    story.hook("stop")
    story.hook("prompt-submit", text="Go on.")
    return story


def filled(story: Story, tokens: int, window: int = 200_000) -> None:
    assert story.agent.session is not None
    session_id = story.agent.session.session_id
    story.tell(UsageSeen("a", 1, None, window, "status line", None, session_id))
    story.tell(UsageSeen("a", 1, tokens, None, "transcript", story.wall, session_id))


def fails(story: Story, **said: Any) -> None:
    story.tell(hook_event("a", 1, "stop-failure", said, story.wall))


def goes_fresh(story: Story) -> None:
    assert isinstance(story.state, Stopping), story.agent.reason
    assert story.of(Terminate)
    story.exited(143)
    spawn = story.respawned().spawn
    assert (spawn.incarnation, spawn.mode) == (2, Mode.FRESH)


@pytest.mark.parametrize("said", [TOO_LONG, RAN_OUT, EXCEEDED], ids=["claude", "codex", "window exceeded"])
@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
def test_f_ho_1_a_request_that_is_too_long_by_its_words_goes_fresh(kind: Kind, said: dict[str, str]) -> None:
    story = working(kind)
    fails(story, **said)

    assert "its context is full" in story.agent.reason
    assert story.alerts() == [], "nobody has to do anything"
    assert story.agent.items == ()
    goes_fresh(story)


@pytest.mark.parametrize("error", ["invalid_request", "max_output_tokens"])
def test_f_ho_1_where_the_words_say_nothing_the_meter_does(error: str) -> None:
    story = working()
    filled(story, 176_500)
    fails(story, error=error, error_details="the request was refused")

    assert "88" in story.agent.reason
    goes_fresh(story)


@pytest.mark.parametrize("error", ["invalid_request", "max_output_tokens", "model_not_found", None])
def test_the_same_word_with_room_left_is_for_a_person(error: str | None) -> None:
    story = working()
    filled(story, 100_000)
    fails(story, error=error, error_details="a tool has no name")

    assert isinstance(story.state, Running)
    assert [item.kind for item in story.agent.items] == ["failed turn"]


def test_unknown_is_not_full() -> None:
    story = working()
    fails(story, error="max_output_tokens")

    assert isinstance(story.state, Running)


@pytest.mark.parametrize("error", ["rate_limit", "server_error", "authentication_failed"])
def test_another_failure_says_nothing_of_the_context_however_full_it_is(error: str) -> None:
    story = working()
    filled(story, 199_000)
    fails(story, error=error, last_assistant_message="Prompt is too long")

    assert isinstance(story.state, Running)


def test_a_subagents_context_is_its_own() -> None:
    story = working()
    fails(story, agent_id="sub", **TOO_LONG)

    assert isinstance(story.state, Running)


def test_an_agent_that_is_to_end_by_itself_is_told_of_and_not_started_again() -> None:
    story = working(Kind.EPHEMERAL)
    fails(story, **TOO_LONG)

    assert isinstance(story.state, Running)
    assert [item.kind for item in story.agent.items] == ["failed turn"]


def test_an_agent_whose_every_session_is_full_is_given_up_and_does_not_start_for_ever() -> None:
    story = working()
    for _ in range(30):
        story.tell(hook_event("a", story.run.incarnation, "stop-failure", TOO_LONG, story.wall))
        story.exited(143)
        if story.state.name == "quarantined":
            break
        story.respawned().works()

    assert story.state.name == "quarantined"
    assert len(story.of(Spawn)) < 20
