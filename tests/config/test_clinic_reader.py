"""[clinic] model and command: off unless set, and what is wrong with them is told with a remedy."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from phoenixd.config.tables.clinic import ClinicTable
from phoenixd.core.treatment.examined import ReaderRules


def test_nobody_reads_failures_unless_it_is_set() -> None:
    table = ClinicTable()

    assert (table.model, table.command) == (None, ())
    assert ReaderRules().name == ""
    assert (table.timeout, table.questions_per_day, table.tokens_per_day) == (60.0, 24, 200_000)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"model": "anthropic:x", "command": ["reader"]}, "two readers"),
        ({"model": "claude"}, "PROVIDER:NAME"),
        ({"command": [" "]}, "command needs a program"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "20m"}, "timeout"),
        ({"questions_per_day": -1}, "questions_per_day"),
        ({"tokens_per_day": -1}, "tokens_per_day"),
        ({"authority": "act"}, "authority"),
    ],
)
def test_what_is_wrong_is_told(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ClinicTable.model_validate(keys)
