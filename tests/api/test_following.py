"""Followers of the journal: each row once, in order, on from the last one that was seen, over a restart as well."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

from phoenixd.api.handlers import streams
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.orders import StopRequested
from tests.api.conftest import Live, serving
from tests.api.daemon import FakeDaemon


@contextlib.asynccontextmanager
async def following(live: Live, path: str, **headers: str) -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_unix_connection(os.fspath(live.socket))
    told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET {path} HTTP/1.0\r\naccept: text/event-stream\r\n{told}\r\n".encode())
    assert b" 200 " in await reader.readline()
    while await reader.readline() != b"\r\n":
        pass
    try:
        yield reader
    finally:
        writer.close()


async def frames(reader: asyncio.StreamReader, count: int) -> list[dict[str, str]]:
    """The next frames that carry data."""
    found: list[dict[str, str]] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            frame: dict[str, str] = {}
            while (line := (await reader.readline()).decode()) not in ("\n", ""):
                name, _, value = line.rstrip("\n").partition(": ")
                frame[name] = value
            if "data" in frame:
                found.append(frame)
    return found


async def test_a_follower_resumes_after_its_last_row_over_a_restart(daemon: FakeDaemon, runtime: Path) -> None:
    daemon.declare("docs", start=False)
    async with serving(daemon, runtime) as live, following(live, "/v1/events") as reader:
        daemon.declare("shop", start=False)
        (seen,) = await frames(reader, 1)
    daemon.declare("api", start=False)
    daemon.declare("infra", start=False)
    async with serving(daemon, runtime) as live, following(live, "/v1/events", last_event_id=seen["id"]) as reader:
        rest = await frames(reader, 2)
        daemon.declare("last", start=False)
        rest += await frames(reader, 1)

    assert [int(frame["id"]) for frame in (seen, *rest)] == [2, 3, 4, 5]
    assert [json.loads(frame["data"])["agent"] for frame in rest] == ["api", "infra", "last"]


async def test_a_follower_of_one_agent_gets_its_rows_and_beats(daemon: FakeDaemon, runtime: Path) -> None:
    daemon.declare("docs", start=False)
    async with serving(daemon, runtime, beat=0.01) as live, following(live, "/v1/events?agent=docs&lines=1") as reader:
        assert [frame["id"] for frame in await frames(reader, 1)] == ["1"]
        daemon.declare("shop", start=False)
        assert await reader.readuntil(b": beat\n\n")
        assert streams.BEAT == 2.0, "as design section 6 has it"
        await daemon.order(daemon.start_requested("docs"))
        assert [json.loads(frame["data"])["agent"] for frame in await frames(reader, 2)] == ["docs", "docs"]


async def test_a_follower_of_a_selector_gets_the_row_by_which_an_agent_leaves_it_and_none_after(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    daemon.declare("shop")
    async with following(live, "/v1/events?select=s:running&all=true&lines=1") as reader:
        await frames(reader, 1)
        daemon.happen(StopRequested("docs"))
        rows = [row.seq for row in daemon.journal.rows if row.entry.agent == "docs"][-2:]
        assert [int(frame["id"]) for frame in await frames(reader, 2)] == rows
        assert daemon.state.agents["docs"].state.name == "stopped"
        for trouble in ("brief", "heartbeat", "state"):
            daemon.happen(TroubleSeen("shop", trouble, "it is old"))
            assert [json.loads(frame["data"])["agent"] for frame in await frames(reader, 1)] == ["shop"]
        daemon.happen(TroubleSeen("docs", "brief", "it is old"))
        daemon.happen(StopRequested("shop"))
        assert [json.loads(frame["data"])["agent"] for frame in await frames(reader, 1)] == ["shop"]


async def test_an_agent_that_leaves_a_selector_is_followed_while_the_row_of_that_is_being_committed(
    live: Live, daemon: FakeDaemon
) -> None:
    """The fleet is ahead of the journal by a commit, and a follower may look in between."""
    daemon.declare("docs")
    daemon.declare("shop")
    async with following(live, "/v1/events?select=s:running&all=true&lines=1") as reader:
        await frames(reader, 1)
        known = len(daemon.journal.rows)
        daemon.happen(StopRequested("docs"))
        late = daemon.journal.rows[known:]
        del daemon.journal.rows[known:]
        daemon.happen(TroubleSeen("shop", "brief", "it is old"))
        assert [json.loads(frame["data"])["agent"] for frame in await frames(reader, 1)] == ["shop"]
        for row in late:
            daemon.journal.append(row.entry)
        daemon.happen(TroubleSeen("shop", "heartbeat", "it is old"))
        told = [json.loads(frame["data"])["agent"] for frame in await frames(reader, len(late) + 1)]
        assert told == ["docs"] * len(late) + ["shop"]


async def test_text_frames_for_people(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", start=False)
    async with following(live, "/v1/events?since=8h&form=text&width=60") as reader:
        (frame,) = await frames(reader, 1)
    assert frame["data"].endswith("docs         agent declared -> declared")


async def test_streams_refuse_as_plain_requests_do(live: Live) -> None:
    for path, header in (
        ("/v1/events?agent=nobody", ""),
        ("/v1/events?since=never", ""),
        ("/v1/events", "last-event-id: x\r\n"),
    ):
        raw = await live.raw(f"GET {path} HTTP/1.0\r\naccept: text/event-stream\r\n{header}\r\n".encode())
        assert raw.split(b" ")[1] in (b"404", b"400"), path


async def test_events_and_the_stream_show_the_story_and_all_shows_the_notes(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.hook("docs", "prompt-submit", text="write the manual")
    for _ in range(3):
        daemon.hook("docs", "stop")
    daemon.die("docs")
    story = [row for row in daemon.journal.rows if row.entry.weight == "story"]
    assert 0 < len(story) < len(daemon.journal.rows)

    shown = (await live.ask("GET", "/v1/events")).json["events"]
    everything = (await live.ask("GET", "/v1/events?all=1")).json["events"]

    assert [event["id"] for event in shown] == [row.seq for row in story]
    assert [event["id"] for event in everything] == [row.seq for row in daemon.journal.rows]
    assert {event["weight"] for event in everything} == {"story", "detail"}
    assert "run_ended" in [fact["name"] for event in shown for fact in event["facts"]]
    async with following(live, "/v1/events?since=8h") as reader:
        assert [int(frame["id"]) for frame in await frames(reader, len(story))] == [row.seq for row in story]
    async with following(live, "/v1/events?all=1", last_event_id=str(story[0].seq)) as reader:
        assert [int(frame["id"]) for frame in await frames(reader, 3)] == [
            row.seq for row in daemon.journal.rows if row.seq > story[0].seq
        ][:3]


async def test_a_follower_of_the_story_goes_on_after_a_note_as_after_any_row(live: Live, daemon: FakeDaemon) -> None:
    """Last-Event-ID is the number of a row, also of one that this stream does not show."""
    daemon.declare("docs")
    daemon.hook("docs", "prompt-submit")
    daemon.hook("docs", "stop")
    note = daemon.journal.rows[-1]
    assert note.entry.weight == "detail"
    daemon.die("docs")
    async with following(live, "/v1/events", last_event_id=str(note.seq)) as reader:
        (frame,) = await frames(reader, 1)

    assert int(frame["id"]) > note.seq
    assert "run_ended" in frame["data"]
