"""What shims say is read in order, fairly, and not while an operator is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.ports.shims import ShimMessage
from tests.drivers.shims.fake_shim import FakeShim
from tests.drivers.shims.links import Links
from tests.waiting import eventually

LEFT_ALONE = pytest.mark.parametrize("leave_alone", ["hold_back", "pause"])
"""Too much waits for the fleet, or an operator is answered."""


@LEFT_ALONE
async def test_what_a_shim_says_while_it_is_left_alone_is_heard_once_it_is_read_again_and_keeps_nobody_busy(
    short_tmp: Path, links: Links, leave_alone: str
) -> None:
    """The loop would else turn for nothing as long as something is there to be read."""
    leave = getattr(links.shims, leave_alone)
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        leave(True)
        shim.say({"event": "hook", "seq": 1, "kind": "stop"})
        links.shims.kill("a", 7)
        await shim.was_told("kill")
        await eventually(lambda: not links.shims._reading._listens, what="it is left alone")
        assert links.heard == [], "it is told all the same, and not heard"
        leave(False)
        await links.heard_of("hook")


async def test_a_shim_that_says_much_keeps_no_other_from_being_heard(short_tmp: Path) -> None:
    """They are heard in the order in which they had something to say, a packet of each, as soon as one may be."""
    heard: list[str] = []

    def hear(message: ShimMessage) -> None:
        heard.append(message.agent)
        shims.hold_back(True)

    shims = SeqpacketShims(short_tmp, hear)
    async with FakeShim(short_tmp, "a") as first, FakeShim(short_tmp, "b") as second:
        await shims.connect("a")
        await shims.connect("b")
        shims.hold_back(True)
        for number in range(100):
            first.say({"event": "hook", "seq": number, "kind": "stop"})
        second.say({"event": "exited"})
        await eventually(lambda: shims._reading.waiting == ["a", "b"], what="both wait")
        for so_far in (["a"], ["a", "b"], ["a", "b", "a"]):
            shims.hold_back(False)
            await eventually(lambda so_far=so_far: len(heard) >= len(so_far), what=f"heard of {so_far[-1]}")
            assert heard == so_far
            assert "a" in shims._reading.waiting, "the first one waits again"
    shims.close()


async def test_much_that_shims_say_leaves_all_else_in_the_loop_its_turn(
    short_tmp: Path, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's request passes through the loop a dozen times, and waits each time for what is read meanwhile."""
    monkeypatch.setattr("phoenixd.drivers.shims.reading.SPAN", 0.0)
    async with FakeShim(short_tmp, "a") as first, FakeShim(short_tmp, "b") as second:
        await links.shims.connect("a")
        await links.shims.connect("b")
        links.shims.hold_back(True)
        for number in range(5):
            first.say({"event": "hook", "seq": number, "kind": "stop"})
            second.say({"event": "hook", "seq": number, "kind": "stop"})
        links.shims.hold_back(False)
        so_far = []
        while len(links.heard) < 10:
            await asyncio.sleep(0)
            so_far.append(len(links.heard))

    assert set(range(1, 11)) <= set(so_far), "one at a time"
    assert [message.agent for message in links.heard] == ["a", "b"] * 5


async def test_each_shim_that_waits_is_read_once_where_that_was_long(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp, "a") as first, FakeShim(short_tmp, "b") as second:
        await links.shims.connect("a")
        await links.shims.connect("b")
        links.shims.hold_back(True)
        for number in range(3):
            first.say({"event": "hook", "seq": number, "kind": "stop"})
        second.say({"event": "exited"})
        await eventually(lambda: len(links.shims._reading.waiting) == 2, what="both wait")
        links.shims.read_each()
        await eventually(lambda: len(links.heard) == 2, what="each was heard")
        assert links.shims._reading.waiting == ["a"], "the first one has more to say, and waits"
        assert [message.agent for message in links.heard] == ["a", "b"]


@LEFT_ALONE
async def test_a_shim_that_died_while_it_was_left_alone_is_not_taken_for_alive(
    short_tmp: Path, links: Links, leave_alone: str
) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        getattr(links.shims, leave_alone)(True)
        await shim.stop_listening()
        shim.drop()
        assert await links.shims.connect("a") is None


async def test_while_an_operator_is_answered_shims_are_left_alone_whatever_else_says_that_they_are_read(
    short_tmp: Path, links: Links
) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.pause(True)
        links.shims.hold_back(True)
        shim.say({"event": "hook", "seq": 1, "kind": "stop"})
        await eventually(lambda: links.shims._reading.waiting == ["a"], what="it waits")
        links.shims.hold_back(False)
        links.shims.kill("a", 7)
        await shim.was_told("kill")
        assert links.heard == []
        links.shims.hold_back(True)
        links.shims.pause(False)
        links.shims.kill("a", 8)
        await shim.was_told("kill")
        assert links.heard == [], "it is crowded still"
        links.shims.hold_back(False)
        await links.heard_of("hook")


async def test_many_events_are_heard_in_order(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        for number in range(1000):
            while True:
                try:
                    shim.say({"event": "hook", "seq": number})
                    break
                except BlockingIOError:
                    await asyncio.sleep(0)
        await eventually(lambda: len(links.heard) == 1000)

    assert [message.body["seq"] for message in links.heard] == list(range(1000))
