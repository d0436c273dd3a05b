"""What Claude Code's transcripts tell, on a recorded session and line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.documents.transcript import Prompted, ToolBegan, Used
from phoenixd.harness.claude import transcript as claude_transcript
from tests.transcripts import samples
from tests.transcripts.samples import answer, api_error, boundary, claude, prompt, tool_result, tool_use


def facts_of(content: bytes) -> SessionFacts:
    reading = SessionReading()
    for line in content.split(b"\n"):
        if (record := claude_transcript.record(line)) is not None:
            reading.hear(record)
    return reading.facts()


def prompts_in(content: bytes) -> list[str]:
    records = [record for line in content.split(b"\n") if (record := claude_transcript.record(line)) is not None]
    return [fact.text for record in records for fact in record.facts if isinstance(fact, Prompted)]


def recorded(up_to: str) -> bytes:
    """The recorded session up to the last line that holds a text."""
    content = samples.SESSION.read_bytes()
    return content[: content.index(b"\n", content.rindex(up_to.encode())) + 1]


def test_e21_e22_e23_of_a_recorded_session_only_the_main_threads_requests_count() -> None:
    """One request is written as several lines, and a subagent's 99,000 tokens are not this context's."""
    facts = facts_of(recorded('"text":"Seven files."'))

    assert facts.usage is not None
    assert (facts.usage.input, facts.usage.cache_read, facts.usage.cache_creation, facts.usage.output) == (
        12, 16500, 300, 40,
    )  # fmt: skip
    assert (facts.usage.tokens, facts.usage.model, facts.requests) == (16852, "claude-opus-4-8", 4)


@pytest.mark.parametrize("at", ["begin", "end"])
def test_e23_a_subagents_usage_does_not_count_wherever_its_line_says_that_it_is_one(at: str) -> None:
    own = json.loads(answer())
    subagents = {name: value for name, value in own.items() if name != "isSidechain"} | {"requestId": "of-a-subagent"}
    told = {"isSidechain": True, **subagents} if at == "begin" else {**subagents, "isSidechain": True}

    assert facts_of(json.dumps(told).encode()).usage is None
    assert facts_of(json.dumps({**own, "isSidechain": False}).encode()).usage is not None


def test_only_what_a_person_submitted_is_a_prompt() -> None:
    """Neither shell lines, commands and what they print, nor what the CLI tells itself; also what was put off."""
    assert prompts_in(samples.SESSION.read_bytes()) == [
        "Fix the login page. Loop auth-race is open.",
        "Now count the files",
        "Wait a little",
        "and read the queue too",
        "Go on",
        "After the compaction",
    ]


def test_an_interruption_ends_the_turn_and_leaves_the_usage_alone() -> None:
    """What an interrupted answer had come to is written by a <synthetic> model with a usage of zeros."""
    before, after = facts_of(recorded('"content":"Go on"')), facts_of(recorded("[Request interrupted by user]"))

    assert before.turn_open is True
    assert (after.turn_open, after.ending and after.ending.how) == (False, "interrupted")
    assert after.usage == before.usage
    assert after.usage is not None


def test_e18_after_a_compaction_usage_is_unknown_until_the_next_request() -> None:
    """F-HO-4: 17,000 tokens are gone, and how many are left no request has said yet."""
    facts = facts_of(samples.SESSION.read_bytes())

    assert facts.usage is None
    assert facts.compaction is not None
    assert facts.compaction.trigger == "manual"
    assert facts.compaction.before is not None
    assert facts.compaction.before > 17000
    assert facts_of(boundary() + answer()).usage is not None


def test_an_api_error_ends_the_turn_and_is_no_request() -> None:
    facts = facts_of(samples.SESSION.read_bytes())

    assert facts.error is not None
    assert (facts.error.kind, facts.error.status) == ("billing_error", 400)
    assert (facts.turn_open, facts.ending and facts.ending.how) == (False, "failed")
    answered = answer(cached=5000)
    assert facts_of(answered + api_error("rate_limit", "429")).usage == facts_of(answered).usage
    assert facts_of(api_error("rate_limit", "429") + answer()).error is None


def test_the_reset_time_of_a_limit_is_read_where_it_stands() -> None:
    error = facts_of(api_error("rate_limit", "Claude AI usage limit reached|1795280000")).error

    assert error is not None
    assert error.resets == 1795280000.0


def test_clear_begins_another_session() -> None:
    facts = facts_of(samples.AFTER_CLEAR.read_bytes())

    assert facts.session_id != facts_of(samples.SESSION.read_bytes()).session_id
    assert facts.prompt is not None
    assert (facts.prompt.text, facts.turn_open, facts.compaction) == ("Begin anew", False, None)


def test_a_tool_is_in_flight_from_its_call_to_its_result() -> None:
    begun = prompt("Go.") + tool_use("t-1") + tool_use("t-2", "Agent")

    assert [(tool.call, tool.name) for tool in facts_of(begun).tools_in_flight] == [("t-1", "Bash"), ("t-2", "Agent")]
    one = facts_of(begun + tool_result("t-1", failed=True))
    assert [tool.call for tool in one.tools_in_flight] == ["t-2"]
    assert one.turn_open is True
    assert facts_of(begun + prompt("Something else.")).tools_in_flight == ()


def test_a_queued_prompt_leaves_the_tools_of_its_turn_in_flight() -> None:
    attached = {"type": "queued_command", "prompt": "and that", "commandMode": "prompt"}
    facts = facts_of(prompt("Go.") + tool_use("t-1") + claude("attachment", attachment=attached))

    assert facts.prompt is not None
    assert (facts.prompt.text, facts.prompt.queued) == ("and that", True)
    assert len(facts.tools_in_flight) == 1


def test_a_result_that_is_too_long_to_read_still_came_back() -> None:
    head = tool_result("t-1", "x" * 400)[:300]

    record = claude_transcript.beginning(head)

    assert record is not None
    reading = SessionReading()
    reading.hear(claude_transcript.record(tool_use("t-1")))  # type: ignore[arg-type]
    reading.hear(record)
    assert reading.facts().tools_in_flight == ()


@pytest.mark.parametrize(
    "line",
    [
        answer(isSidechain=True),
        answer(message={"model": "<synthetic>"}),
        answer(message={"usage": {}}),
        answer(message={"usage": {"input_tokens": 0, "output_tokens": 0}}),
        answer(message={"usage": {"input_tokens": -5, "output_tokens": 1}}),
        answer(message={"usage": {"input_tokens": True}}),
        answer(message={"usage": {"input_tokens": "12"}}),
        answer(message={"usage": {"input_tokens": 1e300}}),
        answer(message={"usage": [1, 2]}),
        claude("user", message={"usage": {"input_tokens": 5}}),
        claude("assistant", usage={"input_tokens": 5}),
    ],
)
def test_e18_unknown_usage_is_never_0(line: bytes) -> None:
    assert facts_of(line).usage is None


@pytest.mark.parametrize(
    "value", ["s", 1, None, [], {}, [{}], [[]], {"content": [1, None, {"type": 7}]}, {"content": {"a": []}}]
)
@pytest.mark.parametrize(
    "key", ["type", "message", "timestamp", "attachment", "origin", "requestId", "compactMetadata"]
)
def test_a_record_of_another_shape_says_nothing_wrong(key: str, value: Any) -> None:
    for line in (prompt("Go."), answer(), tool_use("t"), tool_result("t"), api_error("e", "x"), boundary()):
        damaged = json.dumps({**json.loads(line), key: value}).encode()
        record, said = claude_transcript.record(damaged), claude_transcript.said(damaged)
        for fact in record.facts if record is not None else ():
            assert not (isinstance(fact, Used) and fact.tokens == 0)
            assert not (isinstance(fact, ToolBegan) and not fact.call)
        assert said is None or said.pieces


def test_half_a_character_does_not_cost_the_line() -> None:
    """JavaScript cuts texts between the halves of a character, and writes half of it as an escape."""
    line = prompt("Go.").replace(b"Go.", b"Go \\ud83d")

    assert prompts_in(line) == ["Go \ufffd"]
    assert prompts_in(prompt("Go.").replace(b"Go.", b"Go \xff")) == ["Go \ufffd"]


def test_p49_the_form_of_a_line_does_not_decide_whether_it_is_read() -> None:
    """What is skipped unread is skipped by the CLI's own spelling alone."""
    line = json.dumps(json.loads(prompt("Go."))).encode()

    assert prompts_in(line) == ["Go."]
    assert prompts_in(b" " + line) == ["Go."]


def test_what_a_hook_added_at_a_sessions_start_is_shown_where_the_cli_took_it_over() -> None:
    """The hook's own output stands there as well, and says nothing of what became of it."""
    lines = (Path(__file__).parents[2] / "transcripts/claude-session.jsonl").read_bytes().splitlines()

    shown = [found.text for line in lines if (found := claude_transcript.given(line)) is not None]

    assert shown == ["The brief says that the till is half done."] * 2


def test_the_codes_of_a_failure_stand_apart_from_the_words_that_people_read() -> None:
    """2.1.330 writes the API's own type, a closer code of its own, and the body that came."""
    details = 'request_too_large: 400 {"error":{"type":"exceed_context_size_error","message":"zu lang"}}'
    found = {
        **json.loads(api_error("invalid_request", "Prompt is too long")),
        "apiErrorType": "odd_type",
        "apiError": "odd_error",
        "errorDetails": details,
    }

    told = facts_of(json.dumps(found).encode()).error

    assert told is not None
    assert told.codes == ("odd_type", "odd_error", "request_too_large", "exceed_context_size_error")
    assert "zu lang" not in told.text


def test_a_prompt_that_was_pasted_is_told_without_the_tags_of_2_1_330() -> None:
    """A text of several lines that phoenixd sent is found by its words, and a brief shows them as they were sent."""
    tagged = '\n\n<pasted_content id="02d8">\n1. one\n\n> two\n</pasted_content id="02d8">\n'
    assert prompts_in(prompt(tagged)) == ["1. one\n\n> two"]
    said = claude_transcript.said(prompt(tagged).strip())
    assert said is not None
    assert [piece.text for piece in said.pieces] == ["1. one\n\n> two"]
