"""What Codex's rollouts tell, on a recorded session and line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.documents.transcript import Prompted, ToolEnded
from phoenixd.harness.codex import transcript as codex_transcript
from tests.transcripts.samples import CODEX_SESSION as SESSION


def facts_of(content: bytes) -> SessionFacts:
    reading = SessionReading()
    for line in content.split(b"\n"):
        if (record := codex_transcript.record(line)) is not None:
            reading.hear(record)
    return reading.facts()


def recorded(up_to: str) -> bytes:
    """The recorded session up to the last line that holds a text."""
    content = SESSION.read_bytes()
    return content[: content.index(b"\n", content.rindex(up_to.encode())) + 1]


def event(kind: str, **payload: Any) -> bytes:
    record = {"timestamp": "2026-11-21T10:00:00.000Z", "ordinal": 7, "type": "event_msg"}
    return json.dumps({**record, "payload": {"type": kind, **payload}}, separators=(",", ":")).encode() + b"\n"


def token_count(whole: Any, cached: Any = 0, total: int = 1, window: Any = 258_400) -> bytes:
    last = {"input_tokens": whole, "cached_input_tokens": cached, "output_tokens": 40}
    info = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}, "model_context_window": window}
    return event("token_count", info=info)


def test_e23_the_input_already_holds_the_cached_part() -> None:
    facts = facts_of(recorded('"text":"Both are done.","annotations"') + token_count(17100, 17000, 9))

    assert facts.usage is not None
    assert (facts.usage.input, facts.usage.cache_read, facts.usage.tokens) == (100, 17000, 17140)
    assert facts.usage.window == 258_400


def test_a_usage_that_is_told_again_is_one_request() -> None:
    assert facts_of(token_count(100, total=5) * 3 + token_count(200, total=9)).requests == 2


def test_e18_after_a_compaction_usage_is_unknown_until_the_next_request() -> None:
    """The newest usage is then one of zeros, and the summary's own request is none of the conversation's."""
    after = facts_of(recorded('"type":"ContextCompaction"'))

    assert after.usage is None
    assert after.compaction is not None
    assert facts_of(SESSION.read_bytes()).usage is not None


@pytest.mark.parametrize("whole", [None, 0, -1, "12", 1e300, True, [], 1 << 60])
def test_e18_unknown_usage_is_never_0(whole: Any) -> None:
    assert facts_of(token_count(whole)).usage is None
    assert facts_of(event("token_count", info=None)).usage is None


def test_only_what_a_person_submitted_is_a_prompt() -> None:
    """The CLI gives the model its environment and the end of an interrupted turn as the user, too."""
    records = [codex_transcript.record(line) for line in SESSION.read_bytes().split(b"\n")]
    prompts = [fact.text for one in records if one is not None for fact in one.facts if isinstance(fact, Prompted)]

    assert prompts == [
        "Fix the login page. Loop auth-race is open.",
        "Wait a little",
        "and read the queue too",
        "Go on",
        "After the compaction",
        "Begin anew",
    ]


def test_an_api_error_of_which_no_hook_tells_is_told_by_the_end_of_the_turn() -> None:
    facts = facts_of(recorded("usage_limit_exceeded"))

    assert facts.error is not None
    assert facts.error.kind == "usage_limit_exceeded"
    assert "try again at" in facts.error.text
    assert (facts.turn_open, facts.ending and facts.ending.how) == (False, "failed")
    assert facts_of(SESSION.read_bytes()).error is None


def test_an_error_with_details_names_its_kind_and_status() -> None:
    info = {"response_stream_disconnected": {"http_status_code": 503}}
    error = facts_of(event("task_complete", error={"message": "gone", "codex_error_info": info})).error

    assert error is not None
    assert (error.kind, error.status) == ("response_stream_disconnected", 503)


def test_an_interruption_ends_the_turn() -> None:
    facts = facts_of(recorded('"type":"turn_aborted"'))

    assert (facts.turn_open, facts.ending and facts.ending.how) == (False, "interrupted")
    assert facts_of(recorded('"text":"Go on"')).turn_open is True


def test_a_tool_is_in_flight_from_its_call_to_its_result() -> None:
    before, after = recorded('\\"sleep 3\\"'), recorded('"type":"function_call_output"')

    assert [tool.name for tool in facts_of(before).tools_in_flight] == ["exec_command"]
    assert facts_of(before).turn_open is True
    assert facts_of(after).tools_in_flight == ()
    ended = [fact for line in after.split(b"\n") if (one := codex_transcript.record(line)) for fact in one.facts]
    assert [fact.failed for fact in ended if isinstance(fact, ToolEnded)] == [False, True, False]


def test_a_result_that_is_too_long_to_read_still_came_back() -> None:
    line = next(line for line in SESSION.read_bytes().split(b"\n") if b"function_call_output" in line)
    record = codex_transcript.beginning(line[:300])

    assert record is not None
    assert isinstance(record.facts[0], ToolEnded)


@pytest.mark.parametrize("value", ["s", 1, None, [], {}, [{}], [[]], {"type": []}, {"content": [1, None, {"text": 7}]}])
@pytest.mark.parametrize("key", ["type", "payload", "timestamp"])
def test_a_record_of_another_shape_says_nothing_wrong(key: str, value: Any) -> None:
    for line in SESSION.read_bytes().splitlines():
        damaged = json.dumps({**json.loads(line), key: value}).encode()
        assert codex_transcript.said(damaged) is None or key == "timestamp"
        record = codex_transcript.record(damaged)
        assert record is None or key == "timestamp" or record.kind == "system"


@pytest.mark.parametrize("value", ["s", 1, None, [], {}, [{}], [[]], {"type": []}])
def test_a_payload_of_another_shape_says_nothing_wrong(value: Any) -> None:
    for line in SESSION.read_bytes().splitlines():
        record = json.loads(line)
        for key in record["payload"]:
            damaged = json.dumps({**record, "payload": {**record["payload"], key: value}}).encode()
            codex_transcript.said(damaged)
            codex_transcript.record(damaged)
            codex_transcript.beginning(damaged)


def test_what_the_cli_itself_gives_the_model_is_shown() -> None:
    lines = (Path(__file__).parents[2] / "transcripts/codex-session.jsonl").read_bytes().splitlines()

    shown = [found.text for line in lines if (found := codex_transcript.given(line)) is not None]

    assert any(text.startswith("<skills_instructions>") for text in shown)
    assert not any(codex_transcript.given(line) for line in lines if b'"role":"assistant"' in line)
