"""Links to the shims: the peer is who it says, no message is lost by a broken link, nothing is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from phoenixd.drivers.shims import links as shims
from phoenixd.drivers.shims.links import SeqpacketShims
from phoenixd.errors import ShimFailed, ShimGone
from phoenixd.ports.shims import ShimMessage
from tests.drivers.shims.fake_shim import FakeShim
from tests.waiting import eventually

RUN = {"incarnation": 7, "run_id": "r-7", "pid": 4242, "start_time": 99, "started_at": "2026-11-21T10:00:00.123Z"}


class Links:
    """The driver with a sink that keeps everything."""

    def __init__(self, runtime_dir: Path, **options: Any) -> None:
        self.heard: list[ShimMessage] = []
        self.shims = SeqpacketShims(runtime_dir, self.heard.append, **options)

    async def heard_of(self, event: str) -> ShimMessage:
        return await eventually(
            lambda: next((message for message in self.heard if message.event == event), None), what=f"{event} was heard"
        )


@pytest.fixture
def links(short_tmp: Path) -> Iterator[Links]:
    made = Links(short_tmp)
    yield made
    made.shims.close()


async def test_a_shim_is_greeted_and_told(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp, run=RUN) as shim:
        hello = await links.shims.connect("a")
        assert hello is not None
        assert (hello.agent, hello.shim.pid, hello.hook_port) == ("a", os.getpid(), 40001)
        assert hello.run is not None
        assert (hello.run.incarnation, hello.run.run_id, hello.run.pid, hello.run.start_time) == (7, "r-7", 4242, 99)

        links.shims.start("a", "/run/order.json", 7, "r-7")
        links.shims.terminate("a", 7)
        links.shims.kill("a", 7)
        links.shims.acknowledge("a", 12)
        links.shims.disarm("a", 7, "f-1")
        links.shims.swept("a", ("r-6",))
        await shim.was_told("ack")

        abilities = {"held_again": True, "batches": True, "sweeps": True}
        assert shim.told[0] == {"op": "hello", "protocol": 2, "version": "0.1.0", **abilities}
        assert shim.told[1:] == [
            {"op": "start", "order": "/run/order.json", "incarnation": 7, "run_id": "r-7"},
            {"op": "terminate", "incarnation": 7},
            {"op": "kill", "incarnation": 7},
            {"op": "disarm", "incarnation": 7, "id": "f-1"},
            {"op": "swept", "run_ids": ["r-6"]},
            {"op": "ack", "seq": 12},
        ]
        assert links.shims.shim_of("a") == hello.shim


async def test_promise_9_shims_of_agents_that_are_stopped_and_one_more_are_told_at_once_what_epoch_is_durable(
    short_tmp: Path, links: Links
) -> None:
    """With a run or without one. The one more remembers it when the shim of a removed agent is gone."""
    fakes = {name: FakeShim(short_tmp, name, epoch=3) for name in ("a", "idle", "c", "d")}
    fakes |= {"runs": FakeShim(short_tmp, "runs", epoch=3, run=RUN), "old": FakeShim(short_tmp, "old", run=RUN)}
    async with AsyncExitStack() as there:
        for name, fake in fakes.items():
            await there.enter_async_context(fake)
            await links.shims.connect(name)
        links.shims.tell_epoch_at_once(8, {"idle", "runs", "old", "without a shim"})
        for name, fake in fakes.items():
            links.shims.disarm(name, 7, "that is all")
            await fake.was_told("disarm")

    told = [name for name, fake in fakes.items() if {"op": "epoch", "epoch": 8} in fake.told]
    assert told == ["a", "idle", "runs"], "a shim that knows no epochs would take it for nonsense"


async def test_what_was_acknowledged_in_one_turn_is_told_in_one_packet(short_tmp: Path, links: Links) -> None:
    """An agent decides how many events there are; a packet for each once filled the link, and that ended the daemon."""
    async with FakeShim(short_tmp, run=RUN) as shim:
        await links.shims.connect("a")
        for seq in range(1, 5001):
            links.shims.acknowledge("a", seq)
        assert await shim.was_told("ack") == {"op": "ack", "seq": 5000}


async def test_the_hello_stays_true(short_tmp: Path, links: Links) -> None:
    """connect on a link that is up tells what runs now, not what ran when the link was made."""
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        shim.say({"event": "started", **RUN})
        await links.heard_of("started")
        started = await links.shims.connect("a")
        assert started is not None
        assert started.run is not None
        assert started.run.pid == 4242
        shim.say({"event": "exited", "incarnation": 7, "run_id": "r-7", "code": None, "signal": 9, "cause": "exit"})
        await links.heard_of("exited")
        exited = await links.shims.connect("a")

        assert exited is not None
        assert exited.run is None
        assert exited.exit is not None
        assert exited.exit["signal"] == 9
        assert shim.accepted == 1


async def test_nobody_there_is_none_and_nothing_can_be_told(short_tmp: Path, links: Links) -> None:
    assert await links.shims.connect("a") is None
    async with FakeShim(short_tmp):
        pass
    assert (short_tmp / "agents/a/link.sock").exists()
    assert await links.shims.connect("a") is None
    for order in (
        lambda: links.shims.start("a", "/o", 1, "r"),
        lambda: links.shims.terminate("a", 1),
        lambda: links.shims.kill("a", 1),
        lambda: links.shims.quit("a"),
    ):
        with pytest.raises(ShimFailed):
            order()
    links.shims.acknowledge("a", 1)


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


async def test_a_shim_that_does_not_answer_is_given_up(short_tmp: Path) -> None:
    links = Links(short_tmp, hello_timeout=0.05)
    async with FakeShim(short_tmp) as shim:
        shim.hello = None
        with pytest.raises(ShimFailed, match="does not answer") as silent:
            await links.shims.connect("a")
    # A restart is ordered of that very shim.
    assert silent.value.remedy == f"kill -9 {os.getpid()}"
    assert silent.value.remedy in silent.value.message


async def test_promise_2_a_shim_that_lives_is_waited_for_until_it_listens_again(short_tmp: Path) -> None:
    """Without its word its run would be taken for lost, and ended."""
    asked: list[str] = []
    shim = FakeShim(short_tmp, run=RUN)

    def is_there(agent: str) -> bool:
        asked.append(agent)
        return True

    links = Links(short_tmp, is_there=is_there)
    task = asyncio.create_task(links.shims.connect("a"))
    await eventually(lambda: len(asked) > 2)
    async with shim:
        hello = await task
    assert hello is not None
    assert hello.run is not None
    links.shims.close()


async def test_what_seems_to_be_a_shim_and_never_listens_is_waited_for_once(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shims, "FIRST_PATIENCE", 0.1)
    asked: list[str] = []

    def is_there(agent: str) -> bool:
        asked.append(agent)
        return True

    links = Links(short_tmp, is_there=is_there)
    assert await links.shims.connect("a") is None
    count = len(asked)
    assert count > 0
    assert await links.shims.connect("a") is None
    assert len(asked) == count
    links.shims.close()


async def test_the_protocol_before_is_spoken_and_an_older_one_is_left_alone(short_tmp: Path) -> None:
    links = Links(short_tmp, protocol=3)
    async with FakeShim(short_tmp, "before", protocol=2), FakeShim(short_tmp, "older", protocol=1) as older:
        assert await links.shims.connect("before") is not None
        links.shims.kill("before", 1)
        hello = await links.shims.connect("older")
        assert hello is not None
        assert hello.protocol == 1
        with pytest.raises(ShimFailed, match="speaks protocol 1") as refused:
            links.shims.kill("older", 1)
        # A restart is ordered of that very shim, and the next run too; its terminal's end is what it does hear.
        assert refused.value.remedy == "phoenixctl down --agents && phoenixctl up"
        assert [message["op"] for message in older.told] == ["hello"]
    links.shims.close()


async def test_answers_are_armed_at_a_shim_that_knows_them_and_an_older_one_is_told_nothing(
    short_tmp: Path, links: Links
) -> None:
    answer = {"id": "f-1", "kind": "stop", "tools": [], "times": 1, "seconds": 60.0, "body": {"decision": "block"}}
    armed = [{"id": "f-1", "uses": 1}]
    async with FakeShim(short_tmp, "new", protocol=2, armed=armed) as new, FakeShim(short_tmp, "old") as old:
        for agent, told in (("new", (("f-1", 1),)), ("old", None)):
            hello = await links.shims.connect(agent)
            assert hello is not None
            assert hello.armed == told
        links.shims.arm("new", 7, answer)
        links.shims.disarm("new", 7, "f-1")
        links.shims.note_use("new", "f-1", 1)
        with pytest.raises(ShimFailed, match="protocol 1, which knows no armed answers"):
            links.shims.arm("old", 7, answer)
        links.shims.note_use("nobody", "f-1", 1)

        await new.was_told("armed_noted")
        assert new.told[1:] == [
            {"op": "arm", "incarnation": 7, **answer},
            {"op": "disarm", "incarnation": 7, "id": "f-1"},
            {"op": "armed_noted", "id": "f-1", "uses": 1},
        ]
        assert [message["op"] for message in old.told] == ["hello"]


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


async def test_what_a_shim_says_while_it_is_held_back_is_heard_once_it_is_read_again(
    short_tmp: Path, links: Links
) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.hold_back(True)
        shim.say({"event": "hook", "seq": 1, "kind": "stop"})
        links.shims.kill("a", 7)
        await shim.was_told("kill")
        assert links.heard == [], "it is told all the same, and not heard"
        links.shims.hold_back(False)
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


async def test_a_shim_that_died_while_it_was_held_back_is_not_taken_for_alive(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.hold_back(True)
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


async def test_what_is_left_unread_while_an_operator_is_answered_keeps_nobody_busy(
    short_tmp: Path, links: Links
) -> None:
    """The loop would else turn for nothing as long as something is there to be read."""
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.pause(True)
        shim.say({"event": "hook", "seq": 1, "kind": "stop"})
        await eventually(lambda: not links.shims._reading._listens, what="it is left alone")
        assert links.heard == []
        links.shims.pause(False)
        await links.heard_of("hook")


async def test_a_shim_that_died_while_an_operator_is_answered_is_not_taken_for_alive(
    short_tmp: Path, links: Links
) -> None:
    async with FakeShim(short_tmp) as shim:
        await links.shims.connect("a")
        links.shims.pause(True)
        await shim.stop_listening()
        shim.drop()
        assert await links.shims.connect("a") is None


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


async def test_a_runtime_directory_of_any_length_is_reached(short_tmp: Path) -> None:
    """A unix socket's address holds 107 bytes."""
    deep = short_tmp / ("d" * 100) / ("#(touch x);'\"\n$(id) ü" + "e" * 60)
    links = Links(deep)
    async with FakeShim(deep):
        assert await links.shims.connect("a") is not None
        links.shims.close()


@pytest.mark.parametrize("name", ["", "..", "../b", "A", "a/b", "a\n", "a" * 33])
async def test_a_name_cannot_lead_to_another_socket(links: Links, name: str) -> None:
    with pytest.raises(ShimFailed):
        await links.shims.connect(name)


async def test_many_ask_at_once_and_one_link_is_made(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        hellos = await asyncio.gather(*(links.shims.connect("a") for _ in range(20)))

        assert len(set(map(id, hellos))) == 1
        assert shim.accepted == 1


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
