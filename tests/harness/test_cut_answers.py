"""What the transcripts of the real CLIs say of answers that were cut (issue 13): lines as each of them wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.harness.claude import transcript as claude
from phoenixd.harness.codex import transcript as codex
from phoenixd.jobs.collection import stop_of

AT = "2026-11-23T05:02:35.{:03d}Z"


def line(number: int, kind: str, message: dict[str, Any], **more: Any) -> bytes:
    made = {"parentUuid": None, "isSidechain": False, "type": kind, "message": message, "timestamp": AT.format(number)}
    return json.dumps({**made, **more}, separators=(",", ":")).encode()


def person(number: int, text: str = "Say it.") -> bytes:
    return line(number, "user", {"role": "user", "content": text})


def meta(number: int, text: str) -> bytes:
    return line(number, "user", {"role": "user", "content": text}, isMeta=True, turnCompanion=True)


def answer(number: int, stop: str | None, *calls: str, text: str = "One. Two.") -> bytes:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    parts += [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}} for name in calls]
    usage = {"input_tokens": 3000, "output_tokens": 7}
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-8", "content": parts}
    return line(number, "assistant", {**message, "stop_reason": stop, "usage": usage})


def result(number: int, call: int) -> bytes:
    part = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": "ok"}
    return line(number, "user", {"role": "user", "content": [part]})


def error(number: int, word: str, text: str, **more: Any) -> bytes:
    message = {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}]}
    return line(
        number, "assistant", {**message, "stop_reason": "stop_sequence"}, isApiErrorMessage=True, error=word, **more
    )


OUT_OF_TOKENS = error(90, "max_output_tokens", "API Error: Claude's response exceeded the 64000 output token maximum.")
OUT_OF_WINDOW = error(90, "max_output_tokens", "API Error: The model has reached its context window limit.")
LOST = error(90, "server_error", "API Error: Connection lost mid-response.", truncatedAfterOutput=True)
RESUME = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
CUT_OFF = "Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no recap."

CLAUDE: dict[str, tuple[list[bytes], tuple[str, bool] | None]] = {
    "a whole answer": ([person(1), answer(2, "end_turn")], None),
    "a call and a whole one": ([person(1), answer(2, "tool_use", "Bash"), result(3, 2), answer(4, "end_turn")], None),
    "parts of one answer": ([person(1), answer(2, None), answer(3, "end_turn")], None),
    "the output limit once": ([person(1), answer(2, "max_tokens"), answer(3, "end_turn")], ("output_limit", True)),
    "once, as 2.1.330 writes it": (
        [person(1), answer(2, "max_tokens"), meta(3, RESUME), answer(4, "end_turn")], ("output_limit", True),
    ),
    "each time": (
        [person(1), *(answer(n, "max_tokens") for n in (2, 3, 4, 5)), OUT_OF_TOKENS], ("output_limit", False),
    ),
    "the window once": (
        [person(1), answer(2, "model_context_window_exceeded"), answer(3, "end_turn")], ("window", True),
    ),
    "the window each time": (
        [person(1), *(answer(n, "model_context_window_exceeded") for n in (2, 3)), OUT_OF_WINDOW], ("window", False),
    ),
    "a refusal": ([person(1), answer(2, "refusal"), error(3, "invalid_request", "API Error")], ("filtered", False)),
    "the stream ends after a block": ([person(1), answer(2, None)], ("stream", False)),
    "the same, as 2.1.330 writes it": (
        [person(1), answer(2, "end_turn"), meta(3, CUT_OFF), answer(4, "end_turn")], ("stream", True),
    ),
    "the same for ever": (
        [person(1), answer(2, "end_turn"), meta(3, CUT_OFF), answer(4, "end_turn"), meta(5, CUT_OFF), LOST],
        ("stream", False),
    ),
    "a cut answer of an earlier turn": ([person(1), answer(2, "max_tokens"), person(3), answer(4, "end_turn")], None),
    "written before its prompt": (
        [answer(2, "refusal"), error(3, "invalid_request", "API"), person(1)], ("filtered", False),
    ),
    "gone on with before its prompt is written": (
        [answer(2, "max_tokens"), answer(3, "end_turn"), person(1)], ("output_limit", True),
    ),
    "written before its prompt, and the rest after it": (
        [answer(2, "max_tokens"), person(1), answer(3, "end_turn")], ("output_limit", True),
    ),
    "a stream that ends, written before its prompt": ([answer(2, None), person(1)], ("stream", False)),
    "the rest written first": ([answer(3, "end_turn"), person(1), answer(2, "max_tokens")], ("output_limit", True)),
    "the rest written before it": ([person(1), answer(3, "end_turn"), answer(2, "max_tokens")], ("output_limit", True)),
    "parts of one answer, the last one first": ([answer(3, "end_turn"), person(1), answer(2, None)], None),
    "after a whole answer of an earlier turn": (
        [person(1), answer(2, "end_turn"), person(3), answer(4, "max_tokens")], ("output_limit", False),
    ),
    "a person's words are no sign": ([person(1, CUT_OFF), answer(2, "end_turn", text=CUT_OFF)], None),
}  # fmt: skip


def facts_of(form: Any, lines: list[bytes]) -> SessionFacts:
    reading = SessionReading()
    for one in lines:
        if (record := form.record(one)) is not None:
            reading.hear(record)
    return reading.facts()


@pytest.mark.parametrize("case", CLAUDE)
def test_claudes_transcript_tells_each_way_in_which_an_answer_is_cut(case: str) -> None:
    lines, wanted = CLAUDE[case]
    facts = facts_of(claude, lines)

    found = facts.cut_at_end
    assert (None if found is None else (found.how, facts.went_on and facts.unended is None)) == wanted


def test_a_turn_whose_prompt_is_written_after_its_answer_is_over_and_one_whose_call_is_open_goes_on() -> None:
    """A busy Claude Code writes the first prompt of a session late: it makes the file first."""
    over = facts_of(claude, [answer(2, "end_turn"), person(1)])
    assert (over.turn_open, stop_of(over)) == (False, "done")
    assert over.prompt is not None
    assert over.prompt.text == "Say it."

    late = facts_of(claude, [answer(5, "end_turn"), person(1), answer(2, "max_tokens", "Bash"), result(3, 2)])
    assert (late.turn_open, late.tools_in_flight, stop_of(late)) == (False, (), "done")
    calling = facts_of(claude, [answer(2, "tool_use", "Bash"), person(1)])
    assert (calling.turn_open, len(calling.tools_in_flight)) == (True, 1)
    assert facts_of(claude, [answer(2, "end_turn"), person(3)]).turn_open, "a later one begins a turn"


def test_a_call_that_came_with_a_cut_answer_is_named_for_the_cli_executes_it() -> None:
    begun = [person(1), answer(2, "max_tokens", "Bash")]
    assert facts_of(claude, begun).turn_open
    assert len(facts_of(claude, begun).tools_in_flight) == 1

    facts = facts_of(claude, [*begun, result(3, 2), answer(4, "end_turn")])
    assert facts.cut_at_end is not None
    assert (facts.cut_at_end.calls, facts.went_on) == (("Bash",), True)


@pytest.mark.parametrize(
    ("words", "kind", "how"),
    [
        ("Incomplete response returned, reason: max_output_tokens", "other", "output_limit"),
        ("stream disconnected before completion: Incomplete response returned, reason: content_filter", "other",
         "filtered"),
        ("stream disconnected before completion: stream closed before response.completed", "other", "stream"),
        ("stream disconnected before completion: Transport error: network error: error decoding response body", "other",
         "stream"),
        # What was refused is no answer; the session is given up for it (core/meter/dead_end.py).
        ("Codex ran out of room in the model's context window. Start a new thread.", "context_window_exceeded", None),
        ("unexpected status 401 Unauthorized", "unauthorized", None),
    ],
)  # fmt: skip
def test_codexs_rollout_tells_it_in_the_words_of_the_error(words: str, kind: str, how: str | None) -> None:
    said = {"type": "task_complete", "last_agent_message": None, "error": {"message": words, "codex_error_info": kind}}
    ended = json.dumps({"timestamp": AT.format(5), "ordinal": 7, "type": "event_msg", "payload": said}).encode()
    facts = facts_of(codex, [ended])

    assert (facts.cut_at_end.how if facts.cut_at_end is not None else None) == how
    assert facts.error is not None
    assert facts.turn_open is False


def codex_line(kind: str, **payload: Any) -> bytes:
    return json.dumps({"timestamp": AT.format(4), "ordinal": 1, "type": kind, "payload": payload}).encode()


def codex_call(number: int) -> list[bytes]:
    call = {"name": "exec_command", "arguments": "{}", "call_id": f"call_{number}"}
    output = {"call_id": f"call_{number}", "output": "Process exited with code 0"}
    return [
        codex_line("response_item", type="function_call", **call),
        codex_line("response_item", type="function_call_output", **output),
    ]


def codex_usage(total: int) -> bytes:
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"input_tokens": 5, "output_tokens": 1}}
    return codex_line("event_msg", type="token_count", info=info)


def codex_failed(words: str) -> bytes:
    return codex_line("event_msg", type="task_complete", error={"message": words, "codex_error_info": "other"})


LIMIT = "Incomplete response returned, reason: max_output_tokens"
STREAM = "stream disconnected before completion: stream closed before response.completed"


@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        ([*codex_call(1), codex_usage(6), codex_failed(LIMIT)], ("exec_command",)),
        ([*codex_call(1), codex_usage(6), codex_usage(12), codex_failed(LIMIT)], ()),
        ([*codex_call(1), codex_failed(STREAM)], ("exec_command",)),
        ([*codex_call(1), codex_usage(6), codex_failed(STREAM)], ()),
    ],
    ids=["with the cut answer", "with the answer before", "with the broken stream", "before the broken stream"],
)
def test_codex_executes_such_a_call_too_and_only_a_call_of_the_cut_answer_is_named(
    lines: list[bytes], calls: tuple[str, ...]
) -> None:
    facts = facts_of(codex, [codex_line("event_msg", type="task_started"), *lines])

    assert facts.cut_at_end is not None
    assert facts.cut_at_end.calls == calls
