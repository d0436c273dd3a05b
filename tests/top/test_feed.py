"""The stream as top follows it: from where it was, whole again where that is unknown, and refused in words."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from phoenixd.top import feed
from phoenixd.top.feed import Feed
from phoenixd.top.frames import Frame
from tests.api.conftest import runtime, serving
from tests.api.daemon import FakeDaemon

__all__ = ["runtime"]


async def heard(followed: AsyncIterator[list[Frame]], met: Callable[[Feed, Frame], bool], by: Feed) -> list[Frame]:
    """What comes until this is met."""
    found: list[Frame] = []
    async with asyncio.timeout(60):
        async for frames in followed:
            found += frames
            if any(met(by, one) for one in frames):
                return found
    raise AssertionError("the stream ended")


def has_place(by: Feed, frame: Frame) -> bool:
    return by.last_id is not None and frame.event == "beat"


async def test_a_link_that_is_lost_goes_on_from_where_it_was(runtime: Path) -> None:
    daemon = FakeDaemon()
    daemon.declare("docs")
    async with serving(daemon, runtime, beat=0.05):
        by = Feed([bytes(runtime / "api.sock")])
        async with aclosing(by.follow()) as followed:
            first = await heard(followed, has_place, by)
            daemon.declare("later")
            await heard(followed, lambda by, one: one.data.get("name") == "later" and one.id is not None, by)
        daemon.declare("more")
        async with aclosing(by.follow()) as followed:
            again = await heard(followed, lambda by, one: one.data.get("name") == "more", by)

    (hello,) = [one for one in first if one.event == "hello"]
    (back,) = [one for one in again if one.event == "hello"]
    assert (hello.data["whole"], back.data["whole"]) == (True, False)
    assert back.data["boot"] == hello.data["boot"]


async def test_a_row_of_another_journal_is_resynced(runtime: Path) -> None:
    daemon = FakeDaemon()
    daemon.declare("docs")
    async with serving(daemon, runtime, beat=0.05):
        by = Feed([bytes(runtime / "api.sock")], last_id=999_999)
        async with aclosing(by.follow()) as followed:
            told = await heard(followed, has_place, by)

    assert [one.event for one in told[:2]] == ["resync", "hello"]
    assert by.last_id is not None
    assert by.last_id < 999_999


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nphoenix-exit: 5\r\ncontent-type: application/problem+json\r\n\r\n{}", True),
        (b"HTTP/1.1 503 Busy\r\nphoenix-exit: 7\r\n\r\n{}", False),
        (b"no HTTP at all\n\n", False),
        (b"x" * 200_000, False),
        (b"", False),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: agent\ndata: {torn", False),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: agent\ndata: no json\n\n", False),
    ],
)
async def test_what_is_no_stream_is_asked_again_and_a_refusal_is_told(
    said: bytes, is_refused: bool, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "RETRY", 0.001)
    asked = asyncio.Event()
    count = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        await reader.readuntil(b"\r\n\r\n")
        count += 1
        if count == 3:
            asked.set()
        writer.write(said)
        writer.close()

    path = runtime / "other.sock"
    async with await asyncio.start_unix_server(answer, path):
        by = Feed([b"/nowhere/api.sock", bytes(path)])
        following = asyncio.ensure_future(anext(by.follow()))
        waiting = asyncio.ensure_future(asked.wait())
        async with asyncio.timeout(60):
            done, _ = await asyncio.wait((following, waiting), return_when=asyncio.FIRST_COMPLETED)
        assert (following in done) is is_refused
        if is_refused:
            assert isinstance(following.exception(), feed.Refused)
        waiting.cancel()
        following.cancel()
        await asyncio.gather(waiting, following, return_exceptions=True)


def test_who_leaves_is_not_held_up_by_an_answer_that_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, late = threading.Event(), threading.Event()

    def never(*_: object, **__: object) -> None:
        asked.set()
        late.wait()

    async def leave() -> None:
        asking = asyncio.ensure_future(feed.ask([b"nowhere"], "GET", "/v1/stream"))
        await asyncio.to_thread(asked.wait)
        asking.cancel()

    monkeypatch.setattr(feed.wire, "ask", never)
    leaving = threading.Thread(target=lambda: asyncio.run(leave()), daemon=True)
    leaving.start()
    try:
        leaving.join(20)
        assert asked.is_set()
        assert not leaving.is_alive()
    finally:
        late.set()
        leaving.join()
