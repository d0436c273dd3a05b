"""What agents tell by the thousand is held back while an operator is answered, and for no agent."""

from __future__ import annotations

import asyncio
import os
from typing import cast

import pytest

from phoenixd.api.connection import Connection
from tests.api.conftest import FakeDaemon, Live
from tests.api.test_hostile import connected
from tests.waiting import eventually


class Gate:
    """What was asked of it, in order, and who is inside."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.inside: set[object] = set()

    def enter(self, who: object) -> None:
        if who not in self.inside:
            self.steps.append("enter")
            self.inside.add(who)

    def leave(self, who: object) -> None:
        if who in self.inside:
            self.steps.append("leave")
            self.inside.discard(who)


@pytest.fixture
def gate(live: Live) -> Gate:
    gate = Gate()
    live.api.gate = gate
    return gate


async def test_the_gate_is_shut_from_an_operators_first_word_to_the_answer(live: Live, gate: Gate) -> None:
    assert (await live.ask("GET", "/healthz")).status == 200
    assert gate.steps == ["enter", "leave"]
    assert (await live.ask("GET", "/v1/agents", text=True)).status == 200
    assert (await live.ask("POST", "/v1/agents/nobody/start", {})).status == 404
    await eventually(lambda: not gate.inside, what="also of what was refused")
    assert gate.steps == ["enter", "leave"] * 3


async def test_one_connection_shuts_it_for_each_of_its_requests(live: Live, gate: Gate) -> None:
    reader, writer = await asyncio.open_unix_connection(live.socket)
    for number in range(1, 4):
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readuntil(b"}\n")
        await eventually(lambda number=number: gate.steps == ["enter", "leave"] * number, what="answered")
    writer.close()
    await writer.wait_closed()


async def test_an_agent_shuts_it_for_no_longer_than_it_takes_to_know_it(
    live: Live, gate: Gate, daemon: FakeDaemon
) -> None:
    daemon.shims = {os.getpid(): "docs"}
    async with connected(live, 1):
        await eventually(lambda: gate.steps == ["enter", "leave"], what="it is known")
        assert live.server.server_state.connections, "while it is connected still"
        assert (await live.ask("GET", "/healthz")).status == 200
    assert gate.steps == ["enter", "leave"] * 2, "nor by what it asks"


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/events"])
async def test_who_follows_shuts_it_until_his_first_frames_alone(live: Live, gate: Gate, path: str) -> None:
    reader, writer = await asyncio.open_unix_connection(live.socket)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n".encode())
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    await eventually(lambda: gate.steps == ["enter", "leave"], what="an agent's word reaches a follower at once")
    assert live.server.server_state.connections, "while he follows still"
    writer.close()
    await writer.wait_closed()


async def test_who_follows_and_says_more_shuts_it_no_more(live: Live, gate: Gate) -> None:
    """What he asks now is answered once his stream is over."""
    reader, writer = await asyncio.open_unix_connection(live.socket)
    writer.write(b"GET /v1/stream HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    await eventually(lambda: gate.steps == ["enter", "leave"], what="his stream has begun")
    (found,) = live.server.server_state.connections
    connection = cast(Connection, found)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    await eventually(lambda: connection.flow.read_paused, what="it is heard that he asks")
    assert gate.steps == ["enter", "leave"]
    writer.close()
    await writer.wait_closed()


async def test_who_says_nothing_and_goes_leaves_it_open(live: Live, gate: Gate) -> None:
    async with connected(live, 3):
        await eventually(lambda: len(gate.inside) == 3, what="three are there")
    await eventually(lambda: not gate.inside, what="they are gone")
