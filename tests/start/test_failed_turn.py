"""A turn that the API refused, and that no hook tells of: what the transcript says becomes the hook."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.state import Running
from phoenixd.core.causes import CutHow
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.limits.state import Limits, Parking, ParkingKind
from phoenixd.core.limits.waits import signal
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import ApiFailed, CutShort, Prompted
from phoenixd.harness import HARNESSES
from phoenixd.harness.failed_turn import failed_turn, failure_word
from tests.start.places import NOW, Room


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        ("usage_limit_exceeded", None, "rate_limit"),
        ("rate_limit_exceeded", None, "rate_limit"),
        ("invalid_prompt", None, "invalid_request"),
        ("unknown", 429, "rate_limit"),
        ("server_overloaded", None, "server_error"),
        ("http_connection_failed", 503, "server_error"),
        ("unauthorized", 401, "authentication_failed"),
        ("PERMISSION_DENIED", None, "authentication_failed"),
        ("other", 402, "billing_error"),
        ("context_window_exceeded", None, "invalid_request"),
        ("something new", 418, "invalid_request"),
        ("something new", None, "something new"),
        ("unknown", None, "unknown"),
    ],
)
def test_one_vocabulary_for_the_failures_of_all_apis(kind: str, status: int | None, word: str) -> None:
    assert failure_word(ApiFailed(kind, "", NOW, status)) == word


FAILED = ApiFailed("usage_limit_exceeded", "You've hit your usage limit. Try again at 4:50 PM.", NOW + 5)


def told(room: Room, facts: SessionFacts, harness: str = "codex") -> TurnFailed | None:
    agent = room.running(room.agent(room.spec(harness=harness)))
    return failed_turn(agent, facts, HARNESSES[harness], NOW + 6)


def test_a_limit_that_only_the_transcript_tells_is_heard_as_a_hook(room: Room) -> None:
    event = told(room, SessionFacts(turn_open=False, error=replace(FAILED, status=429)))

    assert event is not None
    assert (event.kind, event.error, event.incarnation) == ("stop-failure", "rate_limit", 1)
    assert event.text == FAILED.text
    assert event.reset_wall is not None
    assert event.reset_wall > NOW
    assert event.status == 429


def test_c13_an_account_without_credit_is_for_a_person_and_no_limit(room: Room) -> None:
    unpaid = replace(FAILED, text="Quota exceeded. Check your plan and billing details.")

    event = told(room, SessionFacts(turn_open=False, error=unpaid))

    assert event is not None
    assert event.failure == "billing"
    assert signal(event) is None, "nobody is parked for it"


@pytest.mark.parametrize(
    ("facts", "harness"),
    [
        (SessionFacts(turn_open=False), "codex"),
        (SessionFacts(turn_open=True, error=FAILED), "codex"),
        (SessionFacts(turn_open=False, error=replace(FAILED, at=NOW - 1)), "codex"),
        (SessionFacts(turn_open=False, error=replace(FAILED, at=None)), "codex"),
        (SessionFacts(turn_open=False, error=FAILED, prompt=Prompted("Go on.", NOW + 6)), "codex"),
        (SessionFacts(turn_open=False, error=FAILED), "claude"),
    ],
    ids=[
        "no error",
        "it tries again",
        "of an earlier run",
        "nobody knows when",
        "of an earlier turn",
        "its hook tells",
    ],
)
def test_nothing_else_is(room: Room, facts: SessionFacts, harness: str) -> None:
    assert told(room, facts, harness) is None


def test_what_was_heard_of_is_not_told_again(room: Room) -> None:
    agent = room.running(room.agent(room.spec(harness="codex")))
    assert isinstance(agent.state, Running)
    facts, codex = SessionFacts(turn_open=False, error=FAILED), HARNESSES["codex"]
    parking, waiting = Parking(ParkingKind.LIMIT, NOW, NOW, "limit"), Waiting("login", "", NOW)

    asking = replace(agent.state, activity=replace(agent.state.activity, waiting=waiting))
    for known in (replace(agent, limits=Limits(parking)), replace(agent, state=asking)):
        assert failed_turn(known, facts, codex, NOW + 6) is None


def test_words_of_a_transcript_cannot_fill_the_state(room: Room) -> None:
    event = told(room, SessionFacts(turn_open=False, error=replace(FAILED, text="x" * 100_000)))

    assert event is not None
    assert len(event.text) <= 4096


@pytest.mark.parametrize(
    ("said", "how", "waited"),
    [
        ("stream disconnected before completion: error sending request", "stream", True),
        ("stream disconnected before completion: stream closed before response.completed", "stream", True),
        ("stream disconnected before completion: Invalid image.", "stream", False),
        ("stream disconnected before completion: Your credit balance is too low.", "stream", False),
        ("Incomplete response returned, reason: max_output_tokens", "output_limit", False),
        ("Incomplete response returned, reason: content_filter", "filtered", False),
    ],
)
def test_f_proc_26_a_connection_that_broke_is_waited_out_unless_its_words_name_another_cause(
    room: Room, said: str, how: CutHow, waited: bool
) -> None:
    """Codex has no word of its own for it, and writes "other"; its reader says that the stream broke."""
    facts = SessionFacts(turn_open=False, error=ApiFailed("other", said, NOW + 5), cut=CutShort(how, NOW + 5, None))

    event = told(room, facts)

    assert event is not None
    assert (signal(event) is ParkingKind.OVERLOAD) == waited, event.failure


TOO_LONG = ApiFailed("invalid_request", "Prompt is too long", NOW + 5)
CODEX_FULL = ApiFailed("context_window_exceeded", "Codex ran out of room in the model's context window.", NOW + 5)


@pytest.mark.parametrize(("failed", "harness"), [(TOO_LONG, "claude"), (CODEX_FULL, "codex")])
def test_f_ho_1_a_prompt_that_the_cli_refuses_by_itself_is_heard_as_a_hook(
    room: Room, failed: ApiFailed, harness: str
) -> None:
    """Claude Code refuses from 88 % on, and nothing but its transcript tells of it."""
    agent = room.running(room.agent(room.spec(harness=harness)))
    assert isinstance(agent.state, Running)
    asked = replace(agent, state=replace(agent.state, activity=replace(agent.state.activity, turn_open=True)))
    event = failed_turn(asked, SessionFacts(turn_open=False, error=failed), HARNESSES[harness], NOW + 6)

    assert event is not None
    assert (event.error, event.failure) == ("invalid_request", "full")


def test_a_refusal_whose_hook_was_heard_is_told_once(room: Room) -> None:
    agent = room.running(room.agent(room.spec(harness="claude")))
    assert isinstance(agent.state, Running)
    closed = replace(agent, state=replace(agent.state, activity=replace(agent.state.activity, turn_open=False)))

    assert failed_turn(closed, SessionFacts(turn_open=False, error=TOO_LONG), HARNESSES["claude"], NOW + 6) is None
