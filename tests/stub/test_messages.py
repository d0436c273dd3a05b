"""The stub answers as its scenario says, and keeps the CLI's side requests away from the script."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stub.generate_content import GenerateContent
from tests.stub.messages import MessagesStub
from tests.stub.responses import Responses
from tests.stub.scenario import Rejection, Scenario, Step, ToolUse, Usage, load, step_from
from tests.stub.server import Dialect

TOOLS = [{"name": "Bash"}]
COMPACTION = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Summarise."


@pytest.fixture
def stub() -> Iterator[MessagesStub]:
    with MessagesStub() as running:
        yield running


def ask(stub: MessagesStub, text: str, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=60)
    whole = {"model": "m", "max_tokens": 9, "tools": TOOLS, "messages": [{"role": "user", "content": text}], **body}
    connection.request("POST", "/v1/messages?beta=true", json.dumps(whole), headers or {})
    try:
        reply = connection.getresponse()
        raw = reply.read()
    finally:
        connection.close()
    return reply.status, raw.decode() if body.get("stream") else json.loads(raw), reply.headers


def said(reply: Any) -> str:
    return "".join(block.get("text", "") for block in reply["content"])


def test_steps_are_taken_once_in_order_then_the_default(stub: MessagesStub) -> None:
    stub.scenario.add(Step(text="one"), Step(text="two"))

    assert [said(ask(stub, "x")[1]) for _ in range(3)] == ["one", "two", "Done."]
    assert stub.scenario.remaining() == 0


def test_a_step_waits_for_the_request_that_it_matches(stub: MessagesStub) -> None:
    stub.scenario.add(Step(text="for b", match="task b"), Step(text="for s", session="s-1"))

    assert said(ask(stub, "task a")[1]) == "Done."
    assert said(ask(stub, "task b")[1]) == "for b"
    assert said(ask(stub, "task a", {"X-Claude-Code-Session-Id": "s-1"})[1]) == "for s"


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ({}, {"tools": []}, "side"),
        ({}, {"max_tokens": 1}, "side"),
        ({"X-Claude-Code-Agent-Id": "a7"}, {}, "subagent"),
        ({}, {"messages": [{"role": "user", "content": COMPACTION}]}, "compaction"),
    ],
)
def test_requests_behind_the_agents_back_eat_no_step(
    stub: MessagesStub, headers: dict[str, str], body: dict[str, Any], kind: str
) -> None:
    stub.scenario.add(Step(text="scripted"))

    ask(stub, "first prompt", headers, **body)

    assert stub.requests[-1].kind == kind
    assert stub.scenario.remaining() == 1
    assert said(ask(stub, "first prompt")[1]) == "scripted"


def test_reminders_of_the_cli_are_not_the_prompt(stub: MessagesStub) -> None:
    parts = [{"type": "text", "text": "<system-reminder>now</system-reminder>"}, {"type": "text", "text": "go on"}]
    ask(stub, "", messages=[{"role": "user", "content": parts}, {"role": "system", "content": "agents"}])

    assert stub.requests[-1].text == "go on"


def test_a_stream_carries_text_tool_and_usage(stub: MessagesStub) -> None:
    stub.scenario.add(Step(text="look", tool_use=(ToolUse("Bash", {"command": "ls"}),), usage=Usage(900_000, 5)))

    _, raw, headers = ask(stub, "x", stream=True)
    events = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]

    assert headers["content-type"] == "text/event-stream"
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"])
    assert json.loads(events[5]["delta"]["partial_json"]) == {"command": "ls"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["input_tokens"] == 900_000


def test_errors_have_the_apis_shape(stub: MessagesStub) -> None:
    stub.scenario.add(Step(error=Rejection(429, "rate_limit_error", "slow down", retry_after=3)))

    status, reply, headers = ask(stub, "x")

    assert (status, reply["error"]["type"], headers["retry-after"]) == (429, "rate_limit_error", "3")


def test_a_gateway_before_the_api_answers_in_its_own_words(stub: MessagesStub) -> None:
    stub.scenario.add(Step(error=Rejection(502, body='{"detail": "no upstream"}'), times=2))

    status, reply, headers = ask(stub, "x")

    assert (status, reply, headers["content-type"]) == (502, {"detail": "no upstream"}, "application/json")


def test_an_error_in_a_stream_is_its_last_event_and_without_a_stream_the_answer(stub: MessagesStub) -> None:
    error = Rejection(529, "overloaded_error", "Overloaded")
    stub.scenario.add(Step(text="half", fault="error_mid_stream", error=error, times=None))

    status, raw, _ = ask(stub, "x", stream=True)
    events = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]

    assert (status, events[0]["type"]) == (200, "message_start")
    assert events[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert ask(stub, "x")[0] == 529


@pytest.mark.parametrize(
    ("dialect", "start"), [(Responses(), "event: response.failed"), (GenerateContent(), "data: {")]
)
def test_each_dialect_has_an_error_for_a_stream_that_has_begun(dialect: Dialect, start: str) -> None:
    late = dialect.late(Rejection(503, "server_is_overloaded", "try later")).decode()

    assert late.startswith(start)
    assert "try later" in late
    assert late.endswith(("\n\n", "\r\n\r\n"))


@pytest.mark.parametrize("fault", ["drop", "drop_mid_stream"])
def test_a_dropped_connection_is_seen_as_one(stub: MessagesStub, fault: Any) -> None:
    stub.scenario.add(Step(text="half", fault=fault))

    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(stub, "x", stream=True)


def test_a_held_reply_waits_for_its_gate(stub: MessagesStub) -> None:
    stub.scenario.add(Step(text="late", hold="gate"))
    replies: list[str] = []
    asking = threading.Thread(target=lambda: replies.append(said(ask(stub, "x")[1])))
    asking.start()
    stub.wait_for_main(text="x")
    assert not replies

    stub.open_gate("gate")
    asking.join(10)

    assert replies == ["late"]


def test_waiting_names_what_was_seen_instead(stub: MessagesStub) -> None:
    ask(stub, "something else")

    with pytest.raises(TimeoutError, match="something else"):
        stub.wait_for_main(text="never asked", timeout=0.01)


def test_runs_by_hand_with_a_scenario_file_and_a_record(tmp_path: Path) -> None:
    scenario, record = tmp_path / "s.json", tmp_path / "r.jsonl"
    scenario.write_text(json.dumps({"steps": [{"tool_use": {"name": "Bash", "input": {"command": "ls"}}}]}))
    assert load(scenario).steps[0].tool_use[0].name == "Bash"
    command = [sys.executable, "-m", "tests.stub.messages", "--scenario", str(scenario), "--record", str(record)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"tools": TOOLS, "messages": []})
        connection.request("POST", "/v1/messages", body, {"x-api-key": "sk-secret"})
        assert b"tool_use" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    recorded = record.read_text()
    assert json.loads(recorded)["kind"] == "main"
    assert "sk-secret" not in recorded


def test_a_misspelt_scenario_is_refused() -> None:
    with pytest.raises(ValueError, match="step: unknown keys txt"):
        step_from({"txt": "hello"})
    with pytest.raises(ValueError, match="fault must be one of"):
        step_from({"fault": "explode"})


def test_an_exhausted_scenario_keeps_its_own_default() -> None:
    with MessagesStub(Scenario(default=Step(text="nothing left"))) as stub:
        assert said(ask(stub, "x")[1]) == "nothing left"
