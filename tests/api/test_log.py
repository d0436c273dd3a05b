"""The log as a stream: its ids say up to where each transcript was told, and are small enough to come back."""

from __future__ import annotations

import asyncio
import json

import pytest

from phoenixd.api.handlers import log
from phoenixd.api.handlers.log import LONGEST_ID
from phoenixd.documents.log_lines import LogLine
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon


async def first_frame(live: Live, last: str | None = None, query: str = "") -> tuple[str, list[str]]:
    """The id of the first frame with lines, and their texts."""
    reader, writer = await asyncio.open_unix_connection(live.socket, limit=1 << 24)
    known = f"last-event-id: {last}\r\n" if last is not None else ""
    writer.write(f"GET /v1/log{query} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n{known}\r\n".encode())
    try:
        async with asyncio.timeout(60):
            while not (line := await reader.readline()).startswith(b"id: "):
                assert line, "the stream ended"
            data = await reader.readline()
    finally:
        writer.close()
    return line.decode()[4:].rstrip("\r\n"), [one["text"] for one in json.loads(data[6:])["lines"]]


async def test_the_ids_of_a_thousand_agents_fit_into_a_header_and_lose_nothing(live: Live, daemon: FakeDaemon) -> None:
    names = [f"agent-{number:04}-of-a-fleet-as-long" for number in range(1000)]
    for name in names:
        daemon.declare(name, start=False)
    wall = daemon.now().wall
    daemon.spoken = [LogLine(name, "said", "before", wall - 10) for name in names]

    last, told = await first_frame(live, query="?lines=400")
    daemon.spoken += [LogLine(name, "said", f"after {name}", daemon.now().wall) for name in names[::100]]
    _, since = await first_frame(live, last)

    assert told == ["before"] * 400
    assert 1000 < len(last) <= LONGEST_ID
    assert sorted(since) == sorted(f"after {name}" for name in names[::100])


async def test_an_id_of_an_older_daemon_is_a_time(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.spoken = [LogLine("docs", "said", "old", 1000.0), LogLine("docs", "said", "new", 3000.0)]

    assert (await first_frame(live, "2000.5"))[1] == ["new"]


@pytest.mark.parametrize("last", ["x", "nan", "inf", "1 docs:1:\x1b", "-1", "1" * 40, "1 " + "a" * 9000])
async def test_what_is_no_id_is_refused(live: Live, daemon: FakeDaemon, last: str) -> None:
    daemon.declare("docs")

    answer = await live.ask("GET", "/v1/log", accept="text/event-stream", last_event_id=last)

    assert answer.status == 400, answer.text
    assert answer.json["remedy"].startswith("leave it out") or "\x1b" in last


async def test_a_state_is_looked_at_now_and_then_and_names_only_as_agents_come(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docs", "shop"):
        daemon.declare(name)
    looked: list[object] = []
    known = log.project
    monkeypatch.setattr(log, "project", lambda *given: looked.append(given) or known(*given))  # type: ignore[func-returns-value]
    monkeypatch.setattr(log, "EVERY", 0.0)
    daemon.spoken = [LogLine("docs", "said", "one", 1.0)]
    reader, writer = await asyncio.open_unix_connection(live.socket)
    writer.write(b"GET /v1/log?select=d%2A HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n")
    async with asyncio.timeout(60):
        for number in range(20):
            while b"said" not in await reader.readline():
                pass
            daemon.spoken.append(LogLine("docs", "said", str(number)))
    writer.close()

    assert len(looked) == 1, "all of them are known by their names"
