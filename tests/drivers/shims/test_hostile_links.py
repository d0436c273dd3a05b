"""Who is no shim of ours is told nothing, and nonsense ends no more than its link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from phoenixd.errors import ShimFailed
from tests.drivers.shims.fake_shim import FakeShim
from tests.drivers.shims.links import RUN, Links
from tests.waiting import eventually


@pytest.mark.parametrize(
    "lie",
    [
        {"agent": "b"},
        {"pid": 1},
        {"event": "hook"},
        {"protocol": 3},
        {"protocol": "1"},
        {"pid": None},
        {"run": "7"},
        {"run": {"incarnation": 7}},
    ],
    ids=str,
)
async def test_who_is_not_the_agents_shim_is_not_spoken_to(short_tmp: Path, links: Links, lie: dict[str, Any]) -> None:
    async with FakeShim(short_tmp) as shim:
        assert shim.hello is not None
        shim.hello |= lie
        with pytest.raises(ShimFailed):
            await links.shims.connect("a")
        with pytest.raises(ShimFailed):
            links.shims.kill("a", 1)
    assert links.heard == []


@pytest.mark.parametrize("nonsense", [b"{", b"[]", b'"x"', b'{"event":7}', b"\xff", b"[" * 60000, b"x" * 65536])
async def test_nonsense_ends_the_link_and_nothing_else(short_tmp: Path, links: Links, nonsense: bytes) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        shim.say(nonsense)
        await links.heard_of("hello")

        assert shim.accepted == 2


async def test_a_packet_over_the_limit_is_refused(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        shim.say(b'{"event":"hook"}' + b" " * 70000)
        await links.heard_of("hello")

        assert "hook" not in [message.event for message in links.heard]
        with pytest.raises(ShimFailed, match="does not fit"):
            links.shims.disarm("a", 7, "x" * 70000)


@pytest.mark.parametrize("name", ["", "..", "../b", "A", "a/b", "a\n", "a" * 33])
async def test_a_name_cannot_lead_to_another_socket(links: Links, name: str) -> None:
    with pytest.raises(ShimFailed):
        await links.shims.connect(name)


async def test_promise_5_a_process_of_an_agents_is_told_nothing_and_is_no_shim(short_tmp: Path) -> None:
    """It put its own socket in the place of its shim's, and says all that a shim says."""
    asked: list[int] = []

    def is_of_a_run(pid: int) -> bool:
        asked.append(pid)
        return True

    links = Links(short_tmp, is_of_a_run=is_of_a_run)
    try:
        async with FakeShim(short_tmp, run=RUN) as impostor:
            assert await links.shims.connect("a") is None
            assert links.shims.shim_of("a") is None
            with pytest.raises(ShimFailed):
                links.shims.kill("a", 7)
            await eventually(lambda: impostor.accepted, what="it was met")
        assert (impostor.told, links.heard, asked) == ([], [], [os.getpid()])
    finally:
        links.shims.close()
