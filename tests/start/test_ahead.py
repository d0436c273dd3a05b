"""An order that was written while its decision was being saved: it is the one that would be written now, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.durability import LATE
from phoenixd.errors import ResumeRefused
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.start.resumption import FRESH_MARKER
from tests.start.places import SESSION_ID, Room

HELLO = ShimHello("a", ProcessIdentity("boot", 1, 1), 1, "0.1.0", 40001, None, None)


def decided(room: Room, mode: Mode = Mode.FRESH, **changes: Any) -> tuple[Agent, Spawn]:
    agent = room.starting(room.agent(room.spec(**changes)), mode)
    assert agent.run is not None
    return agent, Spawn("a", agent.incarnation, agent.run.run_id, mode, SESSION_ID, PromptKind.GOAL)


def order_of(room: Room) -> Path:
    return room.directories.agent_runtime("a") / "order.json"


def writes(room: Room, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that the files of a start are written from now on."""
    done: list[str] = []
    write = room.starter._write

    def counted(*args: Any, **named: Any) -> str:
        done.append(write(*args, **named))
        return done[-1]

    monkeypatch.setattr(room.starter, "_write", counted)
    return done


async def test_it_is_given_as_it_was_written(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, spawn = decided(room)
    asked = await room.starter.write_order(agent, spawn, HELLO)
    expected = Path(asked).read_bytes()
    order_of(room).unlink()
    done = writes(room, monkeypatch)

    await room.starter.prepare(agent, spawn, HELLO, 0)
    path = await room.starter.write_order(agent, spawn, HELLO)

    assert Path(path).read_bytes() == expected
    assert len(done) == 1


def _other_agent(room: Room, agent: Agent, hello: ShimHello) -> tuple[Agent, ShimHello]:
    return replace(agent, spec=replace(agent.spec, env=(("NEW", "1"),))), hello


def _other_port(room: Room, agent: Agent, hello: ShimHello) -> tuple[Agent, ShimHello]:
    return agent, replace(hello, hook_port=50_000)


def _late(room: Room, agent: Agent, hello: ShimHello) -> tuple[Agent, ShimHello]:
    room.clock.wall += LATE + 1
    return agent, hello


def _other_epoch(room: Room, agent: Agent, hello: ShimHello) -> tuple[Agent, ShimHello]:
    room.starter._epoch = lambda: 7
    return agent, hello


@pytest.mark.parametrize("change", [_other_agent, _other_port, _late, _other_epoch])
async def test_where_it_no_longer_fits_it_is_written_anew(
    room: Room, monkeypatch: pytest.MonkeyPatch, change: Callable[[Room, Agent, ShimHello], tuple[Agent, ShimHello]]
) -> None:
    agent, spawn = decided(room)
    await room.starter.prepare(agent, spawn, HELLO, 0)
    done = writes(room, monkeypatch)

    changed, hello = change(room, agent, HELLO)
    order = json.loads(Path(await room.starter.write_order(changed, spawn, hello)).read_bytes())

    assert len(done) == 1
    assert order["env"].get("NEW") == dict(changed.spec.env).get("NEW")
    assert order["epoch"] == room.starter._epoch()


@pytest.mark.parametrize("marker", [".clean-exit", FRESH_MARKER])
async def test_a_word_about_the_run_before_stays_until_the_decision_is_saved(room: Room, marker: str) -> None:
    agent, spawn = decided(room)
    await room.starter.write_order(agent, spawn, HELLO)
    order_of(room).unlink()
    (room.state / marker).write_text("{}")

    await room.starter.prepare(agent, spawn, HELLO, 0)
    assert (room.state / marker).exists()
    assert not order_of(room).exists()

    await room.starter.write_order(agent, spawn, HELLO)
    assert not (room.state / marker).exists()
    assert order_of(room).exists()


async def test_a_daemon_that_dies_before_the_commit_leaves_nothing_that_the_next_one_goes_by(room: Room) -> None:
    agent, spawn = decided(room)
    await room.starter.write_order(agent, spawn, HELLO)
    order_of(room).unlink()
    (room.state / "exit.json").write_text('{"incarnation": 1}')
    kept = {path.name: path.read_bytes() for path in room.state.iterdir() if path.name.startswith((".", "exit", "run"))}
    await room.starter.prepare(agent, spawn, HELLO, 0)
    assert {name: (room.state / name).read_bytes() for name in kept} == kept

    room.restarted()
    again = replace(spawn, run_id="another-run-of-that-number")
    order = json.loads(Path(await room.starter.write_order(agent, again, HELLO)).read_bytes())

    assert (order["run_id"], order["token"]) == (again.run_id, room.starter.token(again.run_id))


async def test_why_it_could_not_be_written_is_told_when_it_counts(room: Room) -> None:
    agent, spawn = decided(room, Mode.RESUME)
    (room.state).mkdir(parents=True, exist_ok=True)
    (room.state / FRESH_MARKER).touch()

    await room.starter.prepare(agent, spawn, HELLO, 0)
    with pytest.raises(ResumeRefused):
        await room.starter.write_order(agent, spawn, HELLO)


async def test_one_that_is_overtaken_is_never_written_over_the_other(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, spawn = decided(room)
    done, desk = writes(room, monkeypatch), room.papers.publication.desks.desk_of(agent)
    other = replace(spawn, run_id="the-run-that-was-decided-on-last")
    async with anyio.create_task_group() as tasks:
        async with desk.lock:
            tasks.start_soon(room.starter.prepare, agent, spawn, HELLO, 0)
            for _ in range(5):
                await checkpoint()
            tasks.start_soon(room.starter.write_order, agent, other, HELLO)
            for _ in range(5):
                await checkpoint()

    assert len(done) == 1
    assert json.loads(order_of(room).read_bytes())["run_id"] == other.run_id
