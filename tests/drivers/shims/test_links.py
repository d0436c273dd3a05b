"""Links to the shims: how a shim is found, greeted and told, and which protocols are spoken."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from phoenixd.drivers.shims import links as shims
from phoenixd.errors import ShimFailed
from tests.drivers.shims.fake_shim import FakeShim
from tests.drivers.shims.links import RUN, Links
from tests.waiting import eventually


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
        assert refused.value.remedy == "phoenixctl down --agents; phoenixctl up"
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


async def test_a_runtime_directory_of_any_length_is_reached(short_tmp: Path) -> None:
    """A unix socket's address holds 107 bytes."""
    deep = short_tmp / ("d" * 100) / ("#(touch x);'\"\n$(id) ü" + "e" * 60)
    links = Links(deep)
    async with FakeShim(deep):
        assert await links.shims.connect("a") is not None
        links.shims.close()


async def test_many_ask_at_once_and_one_link_is_made(short_tmp: Path, links: Links) -> None:
    async with FakeShim(short_tmp) as shim:
        hellos = await asyncio.gather(*(links.shims.connect("a") for _ in range(20)))

        assert len(set(map(id, hellos))) == 1
        assert shim.accepted == 1
