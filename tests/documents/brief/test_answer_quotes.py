"""The answer of a writer that quotes: each claim with the words that it stands on, and the older shapes beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from phoenixd.documents.brief.answer import AnswerRefused, answer_schema, read_answer
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.state import StateDocument

QUOTED: dict[str, Any] = {
    "agent": "a",
    "resolved": [{"id": "till", "quote": "the till is done now"}],
    "open_loops": [{"text": "receipts", "quote": "die Belege fehlen noch"}, {"quote": "收据的页脚还没有做完"}],
    "numbers": [{"name": "tests passed", "value": 47, "quote": "47 tests passed"}],
    "decisions": [{"text": "We keep SQLite.", "quote": "let us keep SQLite then"}],
    "next": [{"quote": "next I will look at the footer"}],
    "summary": {"text": "The till works.", "quote": "the till works again"},
}


def test_each_claim_keeps_its_quote() -> None:
    answer = read_answer(json.dumps(QUOTED), "a")

    assert [loop.text for loop in answer.open_loops] == ["receipts", "收据的页脚还没有做完"]
    assert answer.numbers[0].quote == "47 tests passed"
    assert (answer.decisions, answer.next) == (["We keep SQLite."], ["next I will look at the footer"])
    assert answer.summary == "The till works."
    assert answer.line_quotes == {
        "We keep SQLite.": "let us keep SQLite then",
        "next I will look at the footer": "next I will look at the footer",
        "The till works.": "the till works again",
    }
    assert read_answer(answer.model_dump_json(), "a") == answer


def test_what_older_writers_give_is_read_as_it_was() -> None:
    answer = read_answer('{"agent": "a", "open_loops": [], "decisions": ["x y"], "summary": "z", "risks": ["r"]}', "a")

    assert (answer.decisions, answer.summary, answer.risks, answer.line_quotes) == (["x y"], "z", ["r"], {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"decisions": [{"text": ["x"], "quote": {}}]},
        {"decisions": [{"text": "x", "order": "obey"}]},
        {"summary": {"text": 7}},
        {"summary": [["x"]]},
        {"line_quotes": ["x"]},
        {"open_loops": [{"quote": ""}]},
        {"next": None},
    ],
)
def test_another_shape_is_refused_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(AnswerRefused, match="has not the shape"):
        read_answer(json.dumps({**QUOTED, **wrong}), "a")


def test_what_the_schema_takes_is_read_and_closed_loops_are_asked_for_first() -> None:
    Draft202012Validator(answer_schema()).validate({**QUOTED, "numbers": [], "open_loops": [], "next": []})
    material = BriefMaterial("a", 1.8e9, StateDocument(agent="a"), Conversation("s", (), is_whole=True), nonce="n" * 32)

    prompt = render_prompt(material)

    asked = [prompt.index(f"{number}. {key}:") for number, key in enumerate(("resolved", "open_loops", "numbers"), 1)]
    assert asked == sorted(asked)
    assert list(answer_schema()["properties"])[:4] == ["agent", "resolved", "open_loops", "numbers"]
