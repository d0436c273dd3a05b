"""What is begun while a decision is being saved: nothing that counts before it is, and nothing of a person's order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from phoenixd.core.actions import Action, Spawn
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.spec import AgentSpec
from phoenixd.ports.journal import Batch
from phoenixd.runtime.supervisor import Supervisor
from tests.clocks import SlowClock


class Disk:
    """A journal whose commits end when they may; what happened, in order."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.may = anyio.Event()
        self.may.set()

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.happened.append("commit begins")
        await self.may.wait()
        self.happened.append("commit landed")
        return tuple(range(len(batch.entries)))

    def release_reserve(self) -> bool:
        return False

    async def shortage(self) -> str | None:
        return None

    def act(self, action: Action) -> None:
        if isinstance(action, Spawn):
            self.happened.append("spawn")

    def prepare(self, actions: Sequence[Action], epoch: int) -> None:
        if any(isinstance(action, Spawn) for action in actions):
            self.happened.append(f"prepared for {epoch}")


@asynccontextmanager
async def supervised(disk: Disk) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(Fleet(), SlowClock(), disk)  # type: ignore[arg-type]

    def deaf(*told: Any) -> None:
        return None

    supervisor.connect(
        dispatch=disk.act, clean=lambda agent, text: text, remember=deaf, listener=deaf, on_saved=deaf,
        on_crowded=deaf, on_long_crowded=deaf, prepare=disk.prepare,
    )  # fmt: skip
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            tasks.start_soon(supervisor.ask, AgentDeclared(AgentSpec("a", ("x",), "/"), start=True))
            await checkpoint()
            await supervisor.turn()
            yield supervisor
            tasks.cancel_scope.cancel()


async def runs(supervisor: Supervisor) -> None:
    """In a turn of its own: a slow clock parts what is told at once."""
    agent = supervisor.fleet.agents["a"]
    assert agent.run is not None
    supervisor.tell(AgentStarted("a", agent.incarnation, agent.run.run_id, 5, 5))
    await supervisor.turn()


def die(supervisor: Supervisor) -> None:
    agent = supervisor.fleet.agents["a"]
    assert agent.run is not None
    supervisor.tell(AgentExited("a", agent.incarnation, agent.run.run_id, None, 9))


async def test_a_start_is_prepared_while_its_decision_is_saved_and_ordered_when_it_is() -> None:
    disk = Disk()
    async with supervised(disk) as supervisor:
        assert disk.happened == ["commit begins", "commit landed", "spawn"], "a person's order is not"
        await runs(supervisor)
        disk.happened.clear()
        die(supervisor)
        await supervisor.turn()

        epoch = supervisor.fleet.epoch
    assert sorted(disk.happened[:2]) == ["commit begins", f"prepared for {epoch}"]
    assert disk.happened[2:4] == ["commit landed", "spawn"]


async def test_save_before_act_of_a_daemon_that_dies_in_between_nothing_was_ordered() -> None:
    disk = Disk()
    async with supervised(disk) as supervisor:
        await runs(supervisor)
        disk.happened.clear()
        disk.may = anyio.Event()
        die(supervisor)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.turn)
            while len(disk.happened) < 2:
                await checkpoint()
            for _ in range(10):
                await checkpoint()
            tasks.cancel_scope.cancel()
    assert sorted(disk.happened) == ["commit begins", f"prepared for {supervisor.fleet.epoch}"]
