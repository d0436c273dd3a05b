"""What of a model's answer about a failure is believed: the frozen answers, each with its verdict (C13 to C18, C36)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.treatment.examined import Opinion, why_not_believed
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic_answer import ANSWER_LIMIT, AnswerRefused, read_answer

FROZEN = tomllib.loads((Path(__file__).parent / "answers" / "frozen.toml").read_text(encoding="utf-8"))
CLEAN = Cleaner((FROZEN["secret"],))


def verdict(said: str) -> tuple[str, Opinion | None]:
    try:
        opinion = read_answer(said, FROZEN["prompt"], CLEAN)
    except AnswerRefused:
        return "refused", None
    return ("guess" if why_not_believed(opinion) else "believed"), opinion


@pytest.mark.parametrize("one", FROZEN["answer"], ids=lambda one: one["name"])
def test_a_frozen_answer_comes_to_its_verdict(one: dict[str, Any]) -> None:
    found, opinion = verdict(one["said"])

    assert found == one["expected"], f"{one['rows']}: {opinion}"
    if found == "believed":
        assert opinion is not None
        assert opinion.action == one["action"]
        assert "\x1b" not in opinion.explanation


def test_an_answer_beyond_its_bound_is_not_read() -> None:
    with pytest.raises(AnswerRefused, match="20000 are read"):
        read_answer(" " * (ANSWER_LIMIT + 1), "", CLEAN)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cause": "magic"}, "a cause that there is not"),
        ({"action": "restart"}, "an action that there is not"),
        ({"confidence": float("nan")}, "no number"),
        ({"confidence": True}, "no number"),
        ({"confidence": 7.0}, "not between 0 and 1"),
        ({"explanation": " "}, "explains nothing"),
        ({"action": "modify_prompt", "note": " "}, "names none"),
        ({"confidence": 0.49}, "guesses"),
    ],
)
def test_the_core_believes_no_opinion_beyond_its_closed_sets(change: dict[str, Any], why: str) -> None:
    """The core asks again, and does not rest on what a driver has read."""
    sound: dict[str, Any] = {"cause": "logic_error", "explanation": "Because.", "confidence": 0.9, "action": "retry"}

    assert why_not_believed(Opinion(**sound)) == ""
    assert why in why_not_believed(Opinion(**(sound | change)))
