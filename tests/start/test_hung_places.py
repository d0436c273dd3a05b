"""Agents whose disk does not answer: their starts are refused, and nobody else's start or documents wait for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.documents.credential import credential_reference
from phoenixd.errors import LaunchFailed
from phoenixd.memory.publication import THREADS
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.start import starter
from tests.hung_disk import hung_mount
from tests.start.places import RUN_ID, SESSION_ID, Room


def agent_at(room: Room, name: str, what: str, dead: Path) -> Agent:
    """One that is being started, with this place of its own on a disk that hangs."""
    places = {
        "cwd": {"cwd": str(dead)},
        "home": {"env": (("HOME", str(dead)),)},
        "config": {"env": (("CLAUDE_CONFIG_DIR", str(dead)),)},
        "credential": {"env": (("API_KEY", credential_reference(str(dead / "key"))),)},
        "heartbeat": {"heartbeat_file": str(dead / "beat")},
        "nothing": {},
    }[what]
    spec = replace(room.spec(harness="claude", argv=("claude",)), name=name, **places)  # type: ignore[arg-type]
    return room.starting(room.agent(spec))


async def ordered(room: Room, agent: Agent) -> str:
    """The path of the order for a start of this agent."""
    spawn = Spawn(agent.name, agent.incarnation, RUN_ID, Mode.FRESH, SESSION_ID, PromptKind.GOAL)
    hello = ShimHello(agent.name, ProcessIdentity("boot", 1, 1), 1, "0", 1, None, None)
    return await room.starter.write_order(agent, spawn, hello)


@pytest.mark.parametrize("what", ["cwd", "home", "config", "credential"])
async def test_starts_on_a_disk_that_hangs_are_refused_and_hold_up_no_other(tmp_path: Path, what: str) -> None:
    """Each held one of the few threads in which all starts and documents are written, for as long as the disk hung."""
    room, refused, done = Room(tmp_path), list[str](), anyio.Semaphore(0)

    async def start_well() -> None:
        assert Path(await ordered(room, agent_at(room, "well", "nothing", tmp_path))).name == "order.json"
        done.release()

    async def refuse(number: int, dead: Path) -> None:
        with pytest.raises(LaunchFailed) as failed:
            await ordered(room, agent_at(room, f"dead-{number}", what, dead))
        refused.append(failed.value.message)
        done.release()

    async with anyio.create_task_group() as tasks:
        with hung_mount(tmp_path / "dead") as dead, anyio.fail_after(60):
            for number in range(THREADS + 1):
                tasks.start_soon(refuse, number, dead)
            tasks.start_soon(start_well)
            for _ in range(THREADS + 2):
                await done.acquire()
    assert all(str(dead) in one and "does not answer" in one for one in refused)


@pytest.mark.parametrize("what", ["cwd", "home", "config", "credential", "heartbeat"])
async def test_documents_are_written_beside_those_of_agents_whose_disk_hangs(tmp_path: Path, what: str) -> None:
    """A look into their sessions held the same threads, and the desks of the agents that were looked at with them."""
    room, written, done = Room(tmp_path), list[str](), anyio.Semaphore(0)

    async def publish(name: str, place: str, dead: Path) -> None:
        await room.papers.publication.publish(agent_at(room, name, place, dead), ())
        written.append(name)
        done.release()

    async with anyio.create_task_group() as tasks:
        with hung_mount(tmp_path / "dead") as dead, anyio.fail_after(60):
            for number in range(THREADS + 1):
                tasks.start_soon(publish, f"dead-{number}", what, dead)
            tasks.start_soon(publish, "well", "nothing", dead)
            for _ in range(THREADS + 2):
                await done.acquire()
    assert all((room.directories.agent_state(name) / "brief.md").is_file() for name in written)


@pytest.mark.parametrize("what", ["cwd", "home", "config"])
async def test_what_a_start_would_meet_on_a_disk_that_hangs_is_unknown_and_takes_no_thread_from_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Each agent that was added there took one of the forty that all share, until nothing of the daemon's was read."""
    monkeypatch.setattr(starter, "PATIENCE", 0.5)
    room = Room(tmp_path)
    with hung_mount(tmp_path / "dead") as dead:
        for _ in range(2):
            with anyio.fail_after(30):
                (told,) = await room.starter.start_problems(agent_at(room, "a", what, dead))
            assert "nobody knows whether it can start unattended" in told
        assert to_thread.current_default_thread_limiter().borrowed_tokens == 0
