"""A prompt whose only answer is Claude Code's own: read off a recorded session, which was killed and resumed twice."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.documents.brief.around import Around
from phoenixd.documents.redact import redact
from phoenixd.documents.session_facts import SessionReading
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument
from phoenixd.documents.times import utc_date
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.memory.brief.closing import settle
from phoenixd.memory.brief.last_words import HeardByHooks, all_said, last_words
from phoenixd.memory.brief.loops.seen import Seen
from tests.documents.ledgers import ledger_of, recorded
from tests.memory.brief.loops.sessions import NOW, Story, empty, settled, texts
from tests.transcripts.samples import HERE, answer, prompt

NAME, NO_ANSWER, ASKED = "claude-unanswered", "No response requested.", "translate the footer"
OPEN = f'Asked, and its turn did not end: "{ASKED}"'


def typed(text: str) -> bool:
    """What the daemon typed at a resume."""
    return text.startswith("You were interrupted")


def loops(ledger: SessionLedger, before: StateDocument | None = None) -> list[str]:
    around = Around(
        session=ledger.session_id or "",
        number=2,
        cwd="/w",
        is_ours=typed,
        going_on=lambda text: text if typed(text) else "",
    )
    seen = Seen(ledger, None, around, NOW, utc_date(NOW), (ledger.session_id or "")[:8])
    return texts(settle(before or empty(), seen))


def test_the_recorded_session_holds_what_the_cli_fills_in() -> None:
    lines = (HERE / f"{NAME}.jsonl").read_bytes().split(b"\n")

    assert sum(NO_ANSWER.encode() in line for line in lines) == 2


def test_p24_a_request_whose_only_answer_is_the_clis_own_stays_open() -> None:
    assert loops(recorded(NAME)) == [OPEN]
    assert [words.turn for words in recorded(NAME).speech.person] == ["done", None, None, None]


def test_p24_a_later_session_that_was_never_answered_closes_no_request_of_the_one_before() -> None:
    before = settled(Story().asked("fix the export")).state

    assert 'Asked, and its turn did not end: "fix the export"' in loops(recorded(NAME), before)


def test_p24_the_models_own_answer_to_going_on_ends_the_request() -> None:
    content = (HERE / f"{NAME}.jsonl").read_bytes()

    assert loops(ledger_of(content + answer("It is translated."))) == []


def test_p24_an_answer_that_a_kill_cut_off_ends_no_request() -> None:
    """A first part was written, and not that the answer ended: the prompt of the resume does not tell it either."""
    cut = prompt(ASKED) + answer("I look at it.", message={"stop_reason": None})

    ledger = ledger_of(cut + prompt("You were interrupted. Continue."))

    assert loops(ledger) == [OPEN]
    assert [(words.text, words.is_final) for words in ledger.speech.agent] == [("I look at it.", False)]


def test_p45_the_clis_own_answer_is_nobodys_last_words() -> None:
    ledger = recorded(NAME)
    quotes = last_words(all_said(ledger, HeardByHooks()), (), typed, redact).quotes

    assert [(one.speaker, one.pieces) for one in quotes] == [
        ("person", ("Say hello.",)), ("agent", ("Hello.",)), ("person", (ASKED,)),
    ]  # fmt: skip


def test_the_clis_own_answer_is_not_said_and_is_no_answer_of_the_turn() -> None:
    lines = (HERE / f"{NAME}.jsonl").read_bytes().split(b"\n")
    reading = SessionReading()
    told: list[str] = []
    for line in lines:
        if (record := claude_transcript.record(line)) is not None:
            reading.hear(record)
        if (said := claude_transcript.said(line)) is not None:
            told += [piece.text for piece in said.pieces]

    assert NO_ANSWER not in told
    assert told[:3] == ["Say hello.", "Hello.", ASKED]
    assert (reading.facts().newest_kind, reading.facts().turn_open, reading.facts().went_on) == ("prompt", True, False)


@pytest.mark.parametrize("model", ["claude-opus-4-8", "<synthetic>"])
def test_the_same_words_of_a_model_or_a_failure_are_heard(model: str) -> None:
    """A model may say so; and a limit may have these words, which is a failure and no filled place."""
    failed: dict[str, Any] = {"isApiErrorMessage": True, "error": "rate_limit"} if model == "<synthetic>" else {}
    line = answer(NO_ANSWER, message={"model": model}, **failed)
    record, said = claude_transcript.record(line), claude_transcript.said(line)

    assert record is not None
    assert said is not None
    assert (record.kind, [piece.text for piece in said.pieces]) == ("assistant", [NO_ANSWER])
