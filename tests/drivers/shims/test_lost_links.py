"""A link that ends is told, and opened again as long as its shim lives; a shim that is gone is known as such."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from phoenixd.errors import ShimFailed, ShimGone
from tests.drivers.shims.fake_shim import FakeShim
from tests.drivers.shims.links import Links
from tests.waiting import eventually


async def test_f_tmux_2_an_order_to_a_shim_whose_link_has_ended_finds_it_gone(short_tmp: Path) -> None:
    """A start whose shim went before it was told its order failed like one of a shim that cannot be spoken to."""
    links = Links(short_tmp, lives=lambda agent, shim: False)
    async with FakeShim(short_tmp) as shim:
        assert await links.shims.connect("a") is not None
        await shim.stop_listening()
        shim.drop()
        await eventually(lambda: links.shims.linked("a") is None, what="the end of the link was read")
        with pytest.raises(ShimGone, match="no link"):
            links.shims.start("a", "/o", 1, "r")
    links.shims.close()


async def test_f_tmux_2_a_shim_that_goes_while_it_is_greeted_is_told_from_one_that_is_not_accepted(
    short_tmp: Path, links: Links
) -> None:
    async with FakeShim(short_tmp) as shim:
        shim.hello = None
        greeted = asyncio.create_task(links.shims.connect("a"))
        await shim.was_told("hello")
        shim.drop()
        with pytest.raises(ShimGone):
            await greeted
        shim.hello = {"event": "hello", "of": "no shim"}
        with pytest.raises(ShimFailed) as lied:
            await links.shims.connect("a")
    assert not isinstance(lied.value, ShimGone)


async def test_a_link_that_closes_is_opened_again_by_itself(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        assert shim.hello is not None
        shim.hello["exit"] = {"incarnation": 7, "code": 1}
        shim.drop()
        again = await links.heard_of("hello")

        assert again.body["exit"] == {"incarnation": 7, "code": 1}
        shim.say({"event": "hook", "seq": 1, "kind": "stop"})
        await links.heard_of("hook")
        links.shims.kill("a", 7)
        await shim.was_told("kill")
    assert [message.event for message in links.heard[:2]] == ["hello", "hook"]


async def test_promise_10_a_link_that_goes_on_closing_is_taken_up_as_long_as_its_shim_lives(short_tmp: Path) -> None:
    """Once the fourth loss within ten seconds was the last: nobody tried again."""
    links = Links(short_tmp, longest_pause=1.0)
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        for count in range(1, 8):
            shim.drop()
            await eventually(
                lambda count=count: [m.event for m in links.heard].count("hello") == count,  # type: ignore[misc]
                timeout=60,
            )
        assert "link_lost" in [message.event for message in links.heard], "what takes some time is told"
        links.shims.kill("a", 7)
        await shim.was_told("kill")
    links.shims.close()


async def test_promise_10_a_shim_that_listens_again_is_found(short_tmp: Path) -> None:
    links = Links(short_tmp, longest_pause=0.05)
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        await shim.stop_listening()
        shim.drop()
        lost = await links.heard_of("link_lost")
        assert lost.body["reason"] == "the shim closed it; nobody listens on its socket"
    async with FakeShim(short_tmp) as again:
        await links.heard_of("hello")
        links.shims.kill("a", 7)
        await again.was_told("kill")
    assert [message.event for message in links.heard] == ["link_lost", "hello"], "told once"
    links.shims.close()


async def test_promise_1_another_shim_in_the_place_of_a_lost_one_is_compared_by_who_started_it(short_tmp: Path) -> None:
    """It has no run before it is ordered one: compared before that, a run that begins seemed to be missing, and was
    ended."""
    links = Links(short_tmp, longest_pause=0.05)
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        await shim.stop_listening()
        shim.drop()
        await links.heard_of("link_lost")
    async with FakeShim(short_tmp, start_time=6) as other:
        assert await links.shims.connect("a") is not None
        await eventually(lambda: not links.shims._reconnecting)
        assert [message.event for message in links.heard] == ["link_lost"]
        other.drop()
        await links.heard_of("hello")
    links.shims.close()


async def test_promise_10_a_shim_that_could_not_be_spoken_to_at_first_is_tried_again(short_tmp: Path) -> None:
    links = Links(short_tmp, longest_pause=0.05, hello_timeout=0.2)
    async with FakeShim(short_tmp) as shim:
        hello, shim.hello = shim.hello, None
        with pytest.raises(ShimFailed):
            await links.shims.connect("a")
        links.shims.take_up("a", "it was not accepted")
        links.shims.take_up("a", "asked for twice, it is tried once")
        lost = await links.heard_of("link_lost")
        assert "does not answer" in lost.body["reason"]
        shim.hello = hello
        await links.heard_of("hello")
    links.shims.close()


async def test_nobody_looks_for_a_shim_that_is_gone(short_tmp: Path) -> None:
    living = [True]
    links = Links(short_tmp, longest_pause=0.05, lives=lambda agent, shim: living[0])
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        await shim.stop_listening()
        shim.drop()
        await links.heard_of("link_lost")
        living[0] = False
        await eventually(lambda: not links.shims._reconnecting)
    assert [message.event for message in links.heard] == ["link_lost"]


async def test_a_link_to_nobody_is_reported_lost(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        await shim.stop_listening()
        shim.drop()
        await links.heard_of("link_lost")

    assert await links.shims.connect("a") is None
    with pytest.raises(ShimFailed):
        links.shims.kill("a", 1)


async def test_a_shim_that_was_told_to_leave_is_not_missed(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.quit("a")
        await shim.was_told("quit")
        shim.drop()
        await eventually(lambda: links.shims.shim_of("a") is None)

    assert links.heard == []


@pytest.mark.parametrize("looks", ["lives", "is_of_a_run"])
async def test_promise_10_a_look_that_fails_once_does_not_end_the_search_for_a_shim(
    short_tmp: Path, looks: str
) -> None:
    """Without descriptors neither its life nor its lineage can be looked up: that is no word on the shim."""
    failures = [OSError(errno.EMFILE, "Too many open files")]
    armed = [False]

    def look(*_: object) -> bool:
        if armed[0] and failures:
            raise failures.pop()
        return looks == "lives"

    options: dict[str, Any] = {looks: look}
    links = Links(short_tmp, longest_pause=0.05, **options)
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        armed[0] = True
        shim.drop()
        await links.heard_of("hello")
        assert not failures
        links.shims.kill("a", 7)
        await shim.was_told("kill")
    links.shims.close()
