"""What each CLI, asked without a terminal, says of its answer's end: as each of them printed it (issue 13)."""

from __future__ import annotations

import json

import pytest

from phoenixd.documents.seal import Told
from phoenixd.drivers.writers.command import unwrapped
from phoenixd.harness.claude.headless import ClaudeHeadless
from phoenixd.harness.codex.headless import CodexHeadless
from phoenixd.harness.gemini.headless import GeminiHeadless

RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "One.", "usage": {"output_tokens": 7}}


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ({"stop_reason": "end_turn"}, "whole"),
        ({"stop_reason": "stop_sequence"}, "whole"),
        # The stream ended after a block: exit 0, "success", and this.
        ({"stop_reason": None}, "cut"),
        ({"stop_reason": "max_tokens"}, "cut"),
        ({"stop_reason": "of next year"}, "cut"),
        ({}, "unknown"),
    ],
)
def test_claude_tells_it_by_its_stop_reason(said: dict[str, str | None], ended: Told) -> None:
    printed = json.dumps({**RESULT, **said})

    assert ClaudeHeadless().said(0, printed, "").ended == ended
    assert unwrapped(printed).ended == (ended if said else "whole"), "a command's exit 0 is its word"


def test_claude_that_ran_out_of_its_output_limit_for_good_has_failed() -> None:
    printed = json.dumps({**RESULT, "is_error": True, "result": "API Error: Claude's response exceeded the 64000 ..."})

    assert "exceeded the 64000" in ClaudeHeadless().said(1, printed, "").problem


def test_codex_tells_it_by_its_last_event() -> None:
    said = json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": "One."}})
    over = json.dumps({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}})
    words = "Incomplete response returned, reason: max_output_tokens"
    failed = json.dumps({"type": "turn.failed", "error": {"message": words}})

    assert CodexHeadless().said(0, f"{said}\n{over}\n", "").ended == "whole"
    assert CodexHeadless().said(0, f"{said}\n", "").ended == "unknown"
    assert words in CodexHeadless().said(1, f"{said}\n{failed}\n", "").problem


def test_gemini_cannot_tell() -> None:
    printed = json.dumps({"session_id": "s", "response": "One.", "stats": {"models": {}}})

    assert GeminiHeadless().said(0, printed, "").ended == "unknown"


def test_gemini_that_glued_four_answers_has_failed_though_it_exits_0() -> None:
    error = {"type": "INVALID_STREAM", "message": "Model stream ended without a finish reason."}
    printed = json.dumps({"session_id": "s", "response": "OneOneOneOne", "stats": {"models": {}}, "error": error})

    assert "without a finish reason" in GeminiHeadless().said(0, printed, "").problem
