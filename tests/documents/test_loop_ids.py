"""Ids of loops as people write them."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest

from phoenixd.documents.loop_ids import meant
from phoenixd.documents.state_reading import read_state


@pytest.mark.parametrize("name", ["轮换密钥", "prüfung-barrierefrei", "accès-compta", "обновить-ключ", "auth-flow"])
def test_an_id_is_kept_as_it_was_written(name: str) -> None:
    reading = read_state(
        f'{{"agent": "a", "open_loops": [{{"id": "{name}", "text": "x"}}]}}'.encode(), "a", date(2026, 11, 21)
    )

    assert reading.document is not None
    assert [loop.id for loop in reading.document.open_loops] == [name]
    for given in (name, unicodedata.normalize("NFD", name), f" {name}"):
        assert meant(given, [name, "other"]) == name


def test_an_id_that_was_mended_is_known_by_what_was_written() -> None:
    assert meant("Auth Flow!", ["auth-flow"]) == "auth-flow"
    assert meant("unknown", ["auth-flow"]) == "unknown"
