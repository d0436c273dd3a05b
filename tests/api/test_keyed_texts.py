"""`send --key`: the same command again tells what became of the text, and nothing is typed twice."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.events.orders import HandoffRequested, RollbackRequested, SendRequested
from phoenixd.core.handoff.state import Handoff
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

SEND = "/v1/agents/docs/send"


def texts(daemon: FakeDaemon) -> list[str]:
    return [one.message_id for one in daemon.orders if isinstance(one, SendRequested)]


@pytest.mark.parametrize(
    ("path", "more", "key"), [(SEND, {}, "k"), ("/v1/act", {"verb": "send", "select": "docs"}, "k.docs")]
)
async def test_what_was_not_known_in_time_is_asked_again_and_told_once_it_is(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, path: str, more: dict[str, Any], key: str
) -> None:
    monkeypatch.setattr("phoenixd.api.handlers.sending.TYPING", 0.0)
    daemon.declare("docs")
    daemon.performs = False
    body = {"text": "go on", "timeout": "0.01s", **more}

    unknown = await live.ask("POST", path, body, idempotency_key="k")
    still = await live.ask("POST", path, body, idempotency_key="k")
    assert (unknown.exit, still.exit) == (8, 8)
    assert "no word of it" in still.text
    daemon.happen(daemon.delivered("docs", key))
    known = await live.ask("POST", path, body, idempotency_key="k")

    assert known.exit == 0, known.text
    assert "delivered to docs before" in known.text
    assert texts(daemon) == [key]


async def test_the_same_text_under_the_same_key_may_be_waited_for_longer_or_not_at_all(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    daemon.performs = False
    first = await live.ask("POST", SEND, {"text": "go on", "wait": False}, idempotency_key="k")
    again = await live.ask("POST", SEND, {"text": "go on", "wait": False}, idempotency_key="k")
    assert (first.json["delivered"], again.json["delivered"]) == (None, None)
    assert (first.exit, again.exit) == (0, 0)
    daemon.happen(daemon.delivered("docs", "k"))

    told = await live.ask("POST", SEND, {"text": "go on", "timeout": "2m"}, idempotency_key="k")
    without = await live.ask("POST", SEND, {"text": "go on", "wait": False}, idempotency_key="k")

    assert (told.json["delivered"], without.json["delivered"]) == (True, True)
    assert texts(daemon) == ["k"]


async def test_another_text_under_a_key_is_refused_in_the_words_of_the_option(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.performs = False
    await live.ask("POST", SEND, {"text": "go on", "wait": False}, idempotency_key="w7")

    other = await live.ask("POST", SEND, {"text": "stop"}, idempotency_key="w7")

    assert (other.exit, other.json["code"]) == (6, "conflict")
    assert (other.json["detail"], other.json["remedy"]) == ("--key w7 was given to another text", "choose another key")
    assert texts(daemon) == ["w7"]


@pytest.fixture
def passing(daemon: FakeDaemon) -> Handoff:
    """A seat that passes to its next generation."""
    daemon.declare("boss", kind="orchestrator", cwd="/srv", project="shop")
    daemon.happen(HandoffRequested("boss"))
    handoff = daemon.fleet().seats["boss"].handoff
    assert handoff is not None
    return handoff


@pytest.mark.parametrize("wait", [True, False])
async def test_a_text_that_is_sent_during_a_handoff_is_kept_and_that_is_told_at_once(
    live: Live, daemon: FakeDaemon, passing: Handoff, wait: bool
) -> None:
    body = {"text": "go on", "timeout": "3d", "wait": wait}

    kept = await live.ask("POST", "/v1/agents/boss/send", body, idempotency_key="k")
    again = await live.ask("POST", "/v1/agents/boss/send", body, idempotency_key="k")

    for one in (kept, again):
        assert (one.exit, one.json["delivered"], one.json["kept"]) == (0, None, True)
        assert one.json["message"] == f"kept for who holds boss after handoff {passing.id}"
    live.api.replies._replies.clear()
    other = await live.ask("POST", "/v1/agents/boss/send", {"text": "stop"}, idempotency_key="k")
    assert (other.exit, other.json["detail"]) == (6, "--key k was given to another text")
    assert texts(daemon) == ["k"]


async def test_a_text_that_was_kept_is_told_as_delivered_once_it_is(
    live: Live, daemon: FakeDaemon, passing: Handoff
) -> None:
    await live.ask("POST", "/v1/agents/boss/send", {"text": "go on"}, idempotency_key="k")
    daemon.happen(RollbackRequested("boss"))

    told = await live.ask("POST", "/v1/agents/boss/send", {"text": "go on"}, idempotency_key="k")

    assert (told.exit, told.json["delivered"], told.json["kept"]) == (0, True, False), told.text
    assert texts(daemon) == ["k"]
