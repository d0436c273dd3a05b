"""The first screen is drawn before textual is there, of the answer that the feed then goes on with."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.events.orders import StopRequested
from phoenixd.ctl import wire
from phoenixd.top import first
from phoenixd.top.face import Face, World
from phoenixd.top.feed import Feed
from phoenixd.top.model import Model
from phoenixd.top.view import paint
from phoenixd.top.words import Clock
from tests.api.conftest import runtime, serving
from tests.api.daemon import FakeDaemon
from tests.top.fleets import AT, world

__all__ = ["runtime"]


def asked(place: Path) -> first.Begun:
    connection = wire.connect([bytes(place)])
    assert connection is not None
    begun = first.ask(connection)
    begun.asked_at += 60  # A busy machine may take longer than a person waits for the first screen.
    first.listen(begun)
    return begun


async def test_all_is_known_before_the_feed_and_the_feed_goes_on_with_the_same_link(runtime: Path) -> None:
    daemon = FakeDaemon()
    for number in range(100):
        daemon.declare(f"agent-{number:02d}")
    async with serving(daemon, runtime, beat=0.1):
        begun = await asyncio.to_thread(asked, runtime / "api.sock")
        assert len(begun.model.agents) == 100
        assert begun.model.last_id is not None
        daemon.happen(StopRequested("agent-07"))
        # No place is named, so another link could not be made.
        follower = Feed([], begun.model.last_id, begun)
        async with asyncio.timeout(30):
            async for frames in follower.follow():
                assert not any(frame.event == "hello" for frame in frames), "nothing is told twice"
                if any(frame.event == "agent" and frame.data["name"] == "agent-07" for frame in frames):
                    break


async def test_what_refuses_is_left_to_the_feed(runtime: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 403 no\r\ncontent-type: application/json\r\n\r\n{}")
        writer.close()

    async with await asyncio.start_unix_server(answer, runtime / "api.sock"):
        begun = await asyncio.to_thread(asked, runtime / "api.sock")
    assert (begun.connection, begun.model) == (None, Model())


def test_a_daemon_that_is_silent_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first, "PATIENCE", 0.01)
    here, there = socket.socketpair()
    begun = first.Begun(here)
    first.listen(begun)
    assert begun.connection is not None
    there.send(b"HTTP/1.0 200 ok\r\ncontent-type: text/event-stream\r\n\r\nevent: hello\n")
    begun.asked_at += 60
    there.close()
    first.listen(begun)
    assert begun.connection is None


def test_until_all_was_told_it_says_that_it_connects_and_then_that_nothing_is_live() -> None:
    """Half of an answer would count wrongly, and a frame before any answer is no failure."""
    known = world().model
    for model in (Model(), replace(known, last_id=None)):
        for width in (80, 40, 20):
            before = World(model, Face(), Clock(AT, 0.0), width, 24, "build-1", AT - 1)
            top, second = paint(before).text.splitlines()[:2]
            assert "CONNECTING" in top
            assert "Asking phoenixd" in second
            assert "NEED" not in top
    late = World(Model(), Face(), Clock(AT + 60, 0.0), 80, 24, "build-1", AT)
    assert "NOT LIVE" in paint(late).text.splitlines()[0]
