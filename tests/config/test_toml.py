"""What we write is read back by the standard library as the same tables."""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.config.toml import write_toml

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=6))
def test_any_plain_table_survives_the_round_trip(tables: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(tables)) == tables


def test_a_table_reads_as_a_person_would_write_it() -> None:
    text = write_toml({"agent": {"a": {"argv": ["x"], "autostart": True, "restart": {"period": "30m"}}}})

    assert text == '[agent.a]\nargv = ["x"]\nautostart = true\n\n[agent.a.restart]\nperiod = "30m"\n'


@pytest.mark.parametrize("value", [None, float("inf"), float("nan"), date(2026, 1, 1), "\ud800", {1, 2}])
def test_what_is_no_plain_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"TOML|surrogate"):
        write_toml({"key": value})
