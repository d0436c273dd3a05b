"""What a shim is told goes in order and in few packets, and a shim that does not read is dropped within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from phoenixd.errors import ShimFailed
from tests.drivers.shims.fake_shim import FakeShim
from tests.drivers.shims.links import RUN, Links
from tests.waiting import eventually


async def test_what_was_acknowledged_in_one_turn_is_told_in_one_packet(short_tmp: Path, links: Links) -> None:
    """An agent decides how many events there are; a packet for each once filled the link, and that ended the daemon."""
    async with FakeShim(short_tmp, run=RUN) as shim:
        await links.shims.connect("a")
        for seq in range(1, 5001):
            links.shims.acknowledge("a", seq)
        assert await shim.was_told("ack") == {"op": "ack", "seq": 5000}


async def test_a_shim_that_does_not_read_is_dropped_within_bounds(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        shim.stop_reading()
        await shim.stop_listening()

        def flood() -> None:
            for _ in range(10_000):
                links.shims.disarm("a", 7, "x" * 10_000)

        with pytest.raises(ShimFailed, match="does not read"):
            flood()
        await links.heard_of("link_lost")


async def test_what_waits_is_sent_in_order_once_the_shim_reads_on(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        for number in range(250):
            links.shims.disarm("a", number, "x" * 5000)
        told = await eventually(lambda: [m for m in shim.told if m["op"] == "disarm"][249:] and shim.told)

    assert [message["incarnation"] for message in told if message["op"] == "disarm"] == list(range(250))


async def test_what_waits_is_not_overtaken_by_what_comes_later(short_tmp: Path, links: Links) -> None:
    """The shim reads on just before the next order, and before the loop had its turn to send what waits."""
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        shim.stop_reading()
        await asyncio.sleep(0)
        peer = links.shims._peer("a")
        assert peer.link is not None
        assert shim.connection is not None
        sent = 0
        while len(peer.link._waiting) < 3:
            links.shims.disarm("a", sent, "x" * 10_000)
            sent += 1
        read: list[int] = []

        def read_all() -> bool:
            with contextlib.suppress(BlockingIOError):
                while shim.connection is not None:
                    read.append(json.loads(shim.connection.recv(65536))["incarnation"])
            return len(read) == sent + 1

        read_all()
        links.shims.disarm("a", sent, "")
        await eventually(read_all)

    assert read == list(range(sent + 1))
