"""The keys of handoffs: who words the papers, and how many packages stay."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from phoenixd.config.tables.memory import HandoffTable


def test_a_command_words_the_papers_and_five_handoffs_are_kept_by_default() -> None:
    made = HandoffTable.model_validate({"writer": "command", "command": ["my-writer"]})
    assert (made.command, made.keep) == (("my-writer",), 5)


def test_a_model_words_the_papers() -> None:
    assert HandoffTable.model_validate({"writer": "model", "model": "anthropic:x"}).model == "anthropic:x"


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"writer": "command"}, "needs a command"),
        ({"writer": "command", "command": [" "]}, "needs a command"),
        ({"writer": "model"}, "needs a model"),
        ({"writer": "model", "model": "claude"}, "write PROVIDER:NAME"),
        ({"writer": "poet"}, "is unknown"),
        ({"keep": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        HandoffTable.model_validate(keys)
