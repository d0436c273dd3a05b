"""`answer` in the API: who may, to what, and what it says came of it (P9)."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest

from phoenixd.api.closed_items import Closing
from phoenixd.core.agent.state import Running
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.orders import AnswerRequested, SendRequested, StopRequested
from phoenixd.core.events.runs import Delivered, HoldReleased, NotDelivered
from phoenixd.core.facts import AnswerJudged, Asked, AskingOver, Fact, Ordered
from phoenixd.core.question import leftover
from phoenixd.core.rules import RestartRules
from phoenixd.core.spec import PreparedAnswer
from phoenixd.documents.hooks import hook_event
from phoenixd.ports.journal import Entry, StoredEntry
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

CONFLICT, NOT_FOUND, DENIED, INVALID = 6, 4, 5, 2


@pytest.fixture
def asking(daemon: FakeDaemon) -> FakeDaemon:
    daemon.declare("docs")
    daemon.wait("docs", text="npm test", held=True)
    return daemon


def given(daemon: FakeDaemon) -> list[AnswerRequested]:
    return [order for order in daemon.orders if isinstance(order, AnswerRequested)]


async def test_promise_11_an_answer_counts_once_and_closes_the_item(live: Live, asking: FakeDaemon) -> None:
    item = (await live.ask("GET", "/v1/inbox")).json["items"][0]
    assert (item["text"], item["answer_by"]) == ("Bash npm test", "answer")
    assert "answer: phoenixctl answer 1" in (await live.ask("GET", "/v1/agents", text=True)).text

    first = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow", "text_hash": item["text_hash"]})
    second = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "deny", "reason": "no"})

    assert (first.exit, first.json["taken"]) == (0, True)
    assert second.exit == CONFLICT
    assert second.json["detail"] == "#1 waits no more; operator ended it: #1: its answer was taken (allowed)"
    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []


async def test_promise_11_who_answers_what_was_answered_at_its_terminal_is_told_how_it_ended(
    live: Live, asking: FakeDaemon
) -> None:
    asking.happen(HoldReleased("docs", 1, 1))

    late = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})
    never = await live.ask("POST", "/v1/inbox/2/answer", {"verdict": "allow"})

    assert late.exit == CONFLICT
    assert late.json["detail"].startswith(
        "#1 waits no more; nobody answered it from afar: its question was answered at"
    )
    assert never.exit == NOT_FOUND


async def test_promise_11_the_loser_is_told_who_was_first(live: Live, asking: FakeDaemon) -> None:
    asking.terminal_first = True

    late = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})

    assert (late.exit, late.json["taken"]) == (CONFLICT, False)
    assert "the terminal was first" in late.json["message"]


async def test_promise_11_an_answer_to_another_text_than_the_one_shown_is_refused(
    live: Live, asking: FakeDaemon
) -> None:
    other = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow", "text_hash": "0" * 64})

    assert other.exit == CONFLICT
    assert "something else than what you were shown" in other.text


async def test_promise_11_the_same_question_again_is_another_item(live: Live, asking: FakeDaemon) -> None:
    """One answer must never serve two requests, however alike they are."""
    asking.wait("docs", text="npm test", held=True)

    stale = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})

    assert stale.exit == CONFLICT
    assert [item["id"] for item in (await live.ask("GET", "/v1/inbox")).json["items"]] == [2]


async def test_promise_11_a_denial_says_why_and_a_wrong_word_is_no_answer(live: Live, asking: FakeDaemon) -> None:
    for body in ({"verdict": "deny"}, {"verdict": "deny", "reason": "  "}, {"verdict": "always"}, {}):
        assert (await live.ask("POST", "/v1/inbox/1/answer", body)).exit == INVALID, body
    assert given(asking) == []


async def test_promise_11_what_only_the_terminal_can_answer_says_so(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.wait("docs", text="npm test")

    refused = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})

    assert refused.exit == CONFLICT
    assert "phoenixctl attach docs" in refused.text


async def test_promise_11_a_text_with_secrets_taken_out_can_be_denied_but_not_allowed(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    daemon.hook("docs", "permission-request", tool="Bash", text="curl -H [redacted]", held=True, veiled=True, seq=1)

    assert (await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})).exit == CONFLICT
    assert "deny" in (await live.ask("GET", "/v1/inbox", text=True)).text
    assert (await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "deny", "reason": "no"})).exit == 0


async def test_promise_11_no_agent_may_answer_not_even_itself(live: Live, asking: FakeDaemon) -> None:
    asking.tokens["secret of docs"] = "docs"

    denied = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"}, authorization="Bearer secret of docs")

    assert denied.exit == DENIED
    assert given(asking) == []


async def test_promise_11_the_inbox_shows_every_character_that_is_asked_for(live: Live, daemon: FakeDaemon) -> None:
    command = "cat > x <<'E'\n    indented   and spaced" + " " * 90 + "; rm -rf build\nE"
    daemon.declare("docs")
    daemon.wait("docs", text=command, held=True)

    shown = (await live.ask("GET", "/v1/inbox?width=60", text=True)).text

    told = shown.split("#1 asks for:\n")[1].split("answer:")[0]
    told = re.sub("\n  > ?", "", told)  # What goes on below.
    assert "".join(told.split()) == "".join(f"Bash {command}".split())
    assert "\n        indented   and spaced" in shown
    assert "phoenixctl answer 1 allow" in shown


async def test_promise_11_what_the_terminal_answered_leaves_the_inbox(live: Live, asking: FakeDaemon) -> None:
    agent = asking.state.agents["docs"]
    assert isinstance(agent.state, Running)
    asking.happen(HoldReleased("docs", agent.incarnation, 1))

    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []


async def test_promise_11_a_prepared_answer_is_given_to_its_very_words_and_nobody_is_alerted(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs", answers=(PreparedAnswer("Bash npm test", allow=True),))
    daemon.wait("docs", text="npm test", held=True)

    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []
    assert daemon.state.agents["docs"].alerts == ()
    daemon.wait("docs", text="npm test; true", held=True)
    assert len((await live.ask("GET", "/v1/inbox")).json["items"]) == 1
    assert len(daemon.state.agents["docs"].alerts) == 1
    assert any("the configuration answers" in row.entry.reason for row in daemon.journal.rows)


async def test_promise_11_a_prepared_answer_that_came_too_late_leaves_the_question_to_people(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.terminal_first = True
    daemon.declare("docs", harness="claude", answers=(PreparedAnswer("Bash npm test", allow=True),))
    daemon.hook("docs", "session-start")
    daemon.wait("docs", text="npm test", held=True)

    items = (await live.ask("GET", "/v1/inbox")).json["items"]

    assert [item["answer_by"] for item in items] == ["attach"]
    assert [alert.kind for alert in daemon.state.agents["docs"].alerts] == ["permission"]


async def test_a_keyed_text_is_not_typed_again_by_the_next_daemon(live: Live, daemon: FakeDaemon) -> None:
    """The replies are in memory; the journal is what the next daemon has."""
    daemon.declare("docs")
    body = {"text": "go on"}
    first = await live.ask("POST", "/v1/agents/docs/send", body, **{"idempotency-key": "k-1"})
    live.api.replies._replies.clear()

    again = await live.ask("POST", "/v1/agents/docs/send", body, **{"idempotency-key": "k-1"})

    assert (first.json["delivered"], again.json["delivered"]) == (True, True)
    assert "not sent again" in again.json["message"]
    assert sum(isinstance(order, SendRequested) for order in daemon.orders) == 1


async def test_a_keyed_text_whose_daemon_died_is_reported_by_what_its_agent_says(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phoenixd.api.handlers.sending.ORPHAN_WAIT", 0.2)
    daemon.declare("docs")
    daemon.performs = False
    for key, text in (("k-1", "go on"), ("k-2", "stop it")):
        sent = {"text": text, "wait": False}
        assert (await live.ask("POST", "/v1/agents/docs/send", sent, **{"idempotency-key": key})).exit == 0
    live.api.replies._replies.clear()
    daemon.started_at = time.time() + 1
    daemon.hook("docs", "prompt-submit", text="go on")

    came = await live.ask("POST", "/v1/agents/docs/send", {"text": "go on"}, **{"idempotency-key": "k-1"})
    lost = await live.ask("POST", "/v1/agents/docs/send", {"text": "stop it"}, **{"idempotency-key": "k-2"})

    assert (came.json["delivered"], lost.json["delivered"]) == (True, False)
    assert "restarted" in lost.json["message"]
    assert not any(isinstance(order, Delivered) for order in daemon.orders)


@pytest.mark.parametrize("kind", ["permission", "dialog", "login", "quarantined"])
async def test_a_wait_for_idle_ends_when_a_person_is_needed(live: Live, daemon: FakeDaemon, kind: str) -> None:
    """Otherwise a script waits ten minutes for what nobody is told of."""
    daemon.declare("docs", harness="claude")
    daemon.hook("docs", "prompt-submit", text="write the manual")
    if kind == "permission":
        daemon.wait("docs", text="npm publish")
    elif kind == "dialog":
        daemon.happen(ScreenSeen("docs", 1, "trust", reader="send"))
    elif kind == "login":
        daemon.hook("docs", "stop-failure", error="authentication_failed")
    else:
        daemon.die("docs", 127)
    answer = await live.ask("GET", "/v1/agents/docs/wait?for=idle&timeout=5m")
    assert answer.exit == 6
    assert (answer.json["met"], answer.json["needs_person"]) == (False, True)
    assert "phoenixctl inbox" in answer.json["message"]


QUESTION = json.dumps({"questions": [{"question": "Which?", "options": [{"label": "SQLite"}, {"label": "none"}]}]})


async def test_p14_a_question_is_no_permission_and_an_allowance_does_not_swallow_it(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=QUESTION, held=True, seq=1)

    item = (await live.ask("GET", "/v1/inbox")).json["items"][0]
    answer = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": "allow"})

    assert (item["kind"], answer.exit) == ("question", INVALID)
    assert given(daemon) == []


async def test_p14_a_question_outlives_the_run_that_asked_it(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=QUESTION, held=True, seq=1)
    daemon.die("docs", 9)

    (item,) = (await live.ask("GET", "/v1/inbox")).json["items"]
    told = await live.ask("POST", "/v1/inbox/1/answer", {"answer": ["1"]})

    assert (item["kind"], item["incarnation"], item["left"]) == ("question", 1, True)
    assert (told.exit, told.json["taken"], told.json["verdict"]) == (0, True, "answer")
    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []


async def left(daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=QUESTION, held=True, seq=1)
    daemon.die("docs", 9)
    daemon.delivers = None


async def test_p14_an_answer_that_a_hook_names_was_given_whatever_the_typing_says(
    live: Live, daemon: FakeDaemon
) -> None:
    """It was said not to be answered, and its question was closed by its operator's answer."""
    await left(daemon)
    daemon.is_slow = True
    asked = asyncio.create_task(live.ask("POST", "/v1/inbox/1/answer", {"answer": ["1"]}))
    while not (item := daemon.state.agents["docs"].items[0]).answering:
        await asyncio.sleep(0)

    daemon.hook("docs", "prompt-submit", text=leftover.words_of(item))
    daemon.happen(NotDelivered("docs", 2, item.answering, "its hooks did not tell within 12 s that it took the prompt"))
    told = await asked

    assert (told.exit, told.json["taken"]) == (0, True), told.text
    (ended,) = (await live.ask("GET", "/v1/items?state=closed")).json["closed"]
    assert ended["by"] == "operator"


async def test_p14_what_ended_while_its_answer_was_typed_is_told_with_its_end(live: Live, daemon: FakeDaemon) -> None:
    await left(daemon)
    daemon.is_slow = True
    asked = asyncio.create_task(live.ask("POST", "/v1/inbox/1/answer", {"answer": ["1"]}))
    while not (item := daemon.state.agents["docs"].items[0]).answering:
        await asyncio.sleep(0)

    daemon.happen(NotDelivered("docs", 2, item.answering, "a dialog is open"))
    daemon.happen(StopRequested("docs", by="ada"))
    told = await asked

    assert told.exit == CONFLICT
    assert (
        "a dialog is open; #1 waits no more; nobody answered it from afar: stopped: stopped by ada"
        in told.json["message"]
    ), told.text


async def test_p14_an_answer_that_was_not_taken_leaves_its_question_open_and_ends_nothing(
    live: Live, daemon: FakeDaemon
) -> None:
    await left(daemon)

    told = await live.ask("POST", "/v1/inbox/1/answer", {"answer": ["1"]})

    assert told.exit == CONFLICT
    assert [one["id"] for one in (await live.ask("GET", "/v1/inbox")).json["items"]] == [1]
    judged = [fact for row in daemon.journal.rows for fact in row.entry.facts if isinstance(fact, AnswerJudged)]
    assert judged == [AnswerJudged(1, False)]


def test_p14_who_gave_an_answer_that_was_not_taken_is_not_said_to_have_ended_the_question() -> None:
    facts: list[tuple[dict[str, object], Fact]] = [
        ({}, Asked(27, "question")),
        ({"item": 27}, Ordered("answer", "operator")),
        ({}, AnswerJudged(27, False)),
        ({}, AskingOver(27, "question")),
    ]
    closing = Closing()
    closing.hear(
        StoredEntry(number, Entry(0.0, number, "docs", 2, "hook_seen", detail, reason=f"row {number}", facts=(fact,)))
        for number, (detail, fact) in enumerate(facts, 1)
    )
    assert (closing.found[27].by, closing.found[27].how) == (None, "row 4")


async def test_p14_the_answer_to_an_agent_that_is_down_is_kept_for_its_next_start(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs", restart=RestartRules(max_crashes=1))
    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=QUESTION, held=True, seq=1)
    daemon.die("docs", 9)

    told = await live.ask("POST", "/v1/inbox/1/answer", {"answer": ["a file"]})

    assert (told.exit, told.json["taken"], told.json["kept"]) == (0, False, True)
    assert [item.answer for item in daemon.state.agents["docs"].items if item.left] == ["a file"]


async def test_p15_what_is_asked_can_be_read(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    asked = json.dumps({"tool": "Write", "input": {"file_path": "/\u00e9", "content": "\u00e9\nb"}})
    text = hook_event("docs", 1, "permission-request", {"tool_name": "Write", "held": True, "asked": asked}).text
    daemon.hook("docs", "permission-request", tool="Write", text=text, held=True, seq=1)

    shown = (await live.ask("GET", "/v1/inbox", text=True)).text

    assert "  Write /\u00e9, 4 bytes, 2 lines, no newline at the end\n    1  \u00e9\n    2  b\n" in shown


async def test_p15_a_row_carries_its_number_and_what_to_type(live: Live, asking: FakeDaemon) -> None:
    shown = (await live.ask("GET", "/v1/agents", text=True)).text

    assert "#1 waiting: permission (Bash npm test) - phoenixctl answer 1" in " ".join(shown.split())


async def test_p14_a_verdict_is_no_answer_to_a_question(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    text = json.dumps({"questions": [{"question": "Deny it?", "options": [{"label": "yes"}]}]})
    daemon.hook("docs", "permission-request", tool="AskUserQuestion", text=text, held=True, seq=1)

    for verdict in ("allow", "deny"):
        refused = await live.ask("POST", "/v1/inbox/1/answer", {"verdict": verdict})
        assert refused.exit == INVALID, verdict

    assert given(daemon) == []
