"""The description of the API is made aside: the first request for it holds up no other request."""

from __future__ import annotations

import json
import threading

import pytest

from phoenixd.api import openapi, responses
from tests.api.conftest import Live


async def test_the_description_is_made_in_a_thread_and_once(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = list[threading.Thread](), openapi.document

    def document(version: str) -> dict[str, object]:
        made.append(threading.current_thread())
        return whole(version)

    responses.description.cache_clear()
    monkeypatch.setattr(openapi, "document", document)
    first, second = [(await live.ask("GET", "/openapi.json")).json for _ in range(2)]

    assert first == second == json.loads(json.dumps(whole(first["info"]["version"])))
    assert [one is threading.main_thread() for one in made] == [False]
    responses.description.cache_clear()
