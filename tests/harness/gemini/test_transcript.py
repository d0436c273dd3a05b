"""What the Gemini CLI's chats tell, on a recorded session and line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.documents.transcript import Prompted
from phoenixd.harness.gemini import transcript as gemini_transcript
from phoenixd.planting import challenge_text
from tests.transcripts.samples import GEMINI_SESSION as SESSION


def facts_of(content: bytes) -> SessionFacts:
    reading = SessionReading()
    for line in content.split(b"\n"):
        if (record := gemini_transcript.record(line)) is not None:
            reading.hear(record)
    return reading.facts()


def recorded(up_to: str) -> bytes:
    """The recorded session up to the last line of its own that holds a text."""
    lines = SESSION.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if up_to.encode() in line and not line.startswith(b'{"$set"'))
    return b"".join(lines[: last + 1])


def gemini(kind: str, **more: Any) -> bytes:
    record = {"id": "1", "timestamp": "2026-11-21T10:00:00.000Z", "type": kind}
    return json.dumps({**record, **more}, separators=(",", ":")).encode() + b"\n"


def test_e23_the_input_already_holds_the_cached_part() -> None:
    facts = facts_of(recorded("Seven files."))

    assert facts.usage is not None
    assert (facts.usage.input, facts.usage.cache_read, facts.usage.tokens) == (100, 16000, 16140)
    assert facts.usage.model is not None


def test_a_record_that_is_written_anew_is_one_request() -> None:
    assert facts_of(recorded("Seven files.")).requests == 3


def test_e18_after_a_compaction_usage_is_unknown_until_the_next_request() -> None:
    assert facts_of(recorded('"type":"info","content":""')).usage is None
    assert facts_of(SESSION.read_bytes()).usage is not None


@pytest.mark.parametrize("whole", [None, 0, -1, "12", 1e300, True, [], 1 << 60])
def test_e18_unknown_usage_is_never_0(whole: Any) -> None:
    assert facts_of(gemini("gemini", tokens={"input": whole, "output": 4, "cached": 2})).usage is None


def test_only_what_a_person_submitted_is_a_prompt() -> None:
    """Neither the CLI's context, nor what hooks add, nor tools' results."""
    records = [gemini_transcript.record(line) for line in SESSION.read_bytes().split(b"\n")]
    prompts = [fact.text for one in records if one is not None for fact in one.facts if isinstance(fact, Prompted)]

    assert prompts == ["Fix the login page. Loop auth-race is open.", "Now count the files", "Go on", "Begin anew",
                       "And now"]  # fmt: skip


def test_r3_a_check_at_a_turns_end_is_no_prompt_though_it_is_written_as_one() -> None:
    """The CLI writes the reason for which its turn goes on as what its user said."""
    asked = [{"text": "Build the shop."}]
    check = [{"text": challenge_text(1, "builder")}]
    told = facts_of(gemini("user", content=asked) + gemini("user", content=check, displayContent=asked))
    assert told.prompt is not None
    assert told.prompt.text == "Build the shop."


def test_what_hooks_put_around_a_prompt_is_not_the_prompt() -> None:
    added = {"text": "<hook_context>THE BRIEF, &lt;b&gt;</hook_context>"}
    assert facts_of(gemini("user", content=[added])).prompt is None

    for words in ("Go.", "Why is <hook_context>x</hook_context> in my prompt?"):
        said = {"text": words}
        for content in ([{"text": f"{added['text']}\n\n{words}"}], [said, added], [added, said], [added, said, added]):
            prompt = facts_of(gemini("user", content=content)).prompt
            assert prompt is not None
            assert prompt.text == words


@pytest.mark.parametrize(
    "words",
    [
        "<hook_context>" + " " * 1_000_000 + "x",
        " " * 1_000_000 + "<hook_context>",
        "<hook_context>" * 100_000,
        "x" + "</hook_context>" * 100_000,
    ],
    ids=["blanks behind", "blanks before", "openings", "endings"],
)
def test_a_prompt_that_only_looks_like_a_hooks_is_read_in_one_pass(words: str) -> None:
    """A pattern that tries each blank anew would be at it for hours."""
    gemini_transcript.record(gemini("user", content=[{"text": words}]))


def test_whether_a_turn_is_open_is_unknown_after_an_answer() -> None:
    """Nothing marks its end, and a tool at work leaves no trace before it came back."""
    assert facts_of(recorded('"text":"Now count the files"')).turn_open is True
    assert facts_of(recorded("Seven files.")).turn_open is None
    cancelled = facts_of(recorded("Request cancelled."))
    assert (cancelled.turn_open, cancelled.ending and cancelled.ending.how) == (False, "interrupted")


def test_an_api_error_ends_the_turn_and_is_named() -> None:
    facts = facts_of(SESSION.read_bytes())

    assert facts.error is not None
    assert (facts.error.kind, facts.error.status) == ("INVALID_ARGUMENT", 400)
    assert (facts.turn_open, facts.ending and facts.ending.how) == (False, "failed")


@pytest.mark.parametrize("value", ["s", 1, None, [], {}, [{}], [[]], {"type": []}])
def test_a_record_of_another_shape_says_nothing_wrong(value: Any) -> None:
    for line in SESSION.read_bytes().splitlines():
        record = json.loads(line)
        for key in record:
            damaged = json.dumps({**record, key: value}).encode()
            gemini_transcript.said(damaged)
            gemini_transcript.record(damaged)
            gemini_transcript.beginning(damaged)


def test_what_hooks_told_is_shown_with_the_prompt_that_it_stands_before() -> None:
    added = {"text": '<hook_context>salt &amp; "bread" — 7f3a9c</hook_context>'}
    shown = gemini_transcript.given(gemini("user", content=[added, {"text": "Go."}]))

    assert shown is not None
    assert 'salt & "bread" — 7f3a9c' in shown.text
    assert gemini_transcript.given(gemini("user", content=[{"text": "Why <hook_context> here?"}])) is None
