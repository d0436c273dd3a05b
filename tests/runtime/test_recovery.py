"""What a daemon asks anew at its start: who is alive, and what the measurements told that it will never hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import anyio.lowlevel
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.boot import Boot
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, Rebooted
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, RunMissing
from phoenixd.core.events.work import MeasurementLost
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.iteration import Opening, Turn
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from phoenixd.core.tasks.state import Task, Tasks
from phoenixd.errors import ShimFailed
from phoenixd.ports.journal import Entry, Saved, StoredEntry
from phoenixd.runtime.messages import Unfinished
from phoenixd.runtime.recovery import BOOT_KEY, TABLE_KEY, recover, restore, unfinished_texts
from phoenixd.runtime.world import Faced
from tests.core.story import Story, claude, spec
from tests.runtime.test_boots import Kept

NOW = Boot("b", 7, 100)
OF_NOW = {BOOT_KEY: NOW.boot_id, TABLE_KEY: NOW.table}


class Supervisor:
    """Remembers what it was told, in order."""

    def __init__(self, *agents: Agent) -> None:
        self.fleet = Fleet(agents={agent.name: agent for agent in agents})
        self.told: list[Event] = []

    def tell(self, event: Event) -> None:
        self.told.append(event)

    async def ask(self, event: Event) -> None:
        self.told.append(event)

    async def ask_all(self, events: list[Event]) -> None:
        self.told += events

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.told if isinstance(event, kinds)]


async def no_record(*run: object) -> None:
    return None


async def recovered(
    *agents: Agent,
    specs: tuple[AgentSpec, ...] = (),
    faced: Faced | None = None,
    known: Any = OF_NOW,
    recorded: Callable[..., Awaitable[AgentExited | None]] = no_record,
) -> Supervisor:
    """A start at which no shim listens and no run left an exit record."""
    supervisor: Any = Supervisor(*agents)

    async def connect(agent: str) -> None:
        return None

    shims, processes = SimpleNamespace(connect=connect), SimpleNamespace(boot=lambda: NOW)
    outside: Any = SimpleNamespace(journal=Kept(known), shims=shims, processes=processes)
    hearing: Any = SimpleNamespace(explained_end=recorded)
    await recover(supervisor, outside, hearing, specs, faced)
    told: Supervisor = supervisor
    return told


def running(name: str) -> Agent:
    return Story(claude(name)).works().agent


async def test_each_answer_about_the_work_that_was_under_way_is_asked_for_again_and_no_other() -> None:
    idle = Story(claude("idle")).agent
    loop = replace(Story(spec("loop", kind=Kind.LOOP)).agent, iteration=Opening(1, 30.0))
    judged = replace(idle, spec=claude("judged"), turns=(Turn(1, False),))
    weighed = replace(idle, spec=claude("weighed"), record=replace(idle.record, weighing=3))

    supervisor = await recovered(idle, loop, judged, weighed)

    assert [event.agent for event in supervisor.of(MeasurementLost)] == ["loop", "judged", "weighed"]


async def test_a_run_whose_shim_is_gone_is_missing_and_one_that_was_begun_a_moment_ago_is_left() -> None:
    """An old journal that was brought up to the world holds runs of this very start."""
    old, new, idle = running("old"), running("new"), Story(claude("idle")).agent
    assert old.run is not None
    assert new.run is not None

    assert [event.agent for event in (await recovered(old, new, idle)).of(RunMissing)] == ["old", "new"]
    faced = Faced(4, False, runs=frozenset({old.run.run_id}))
    supervisor = await recovered(old, new, idle, faced=faced)
    assert [event.agent for event in supervisor.of(RunMissing)] == ["old"]
    assert supervisor.told[0] == EpochBegun(4, 0)


@pytest.mark.parametrize(("known", "gone"), [(OF_NOW, False), ({**OF_NOW, BOOT_KEY: "a"}, True)])
async def test_p54_after_another_boot_all_runs_are_void_at_once(known: dict[str, str], gone: bool) -> None:
    supervisor = await recovered(running("a"), known=known)

    assert bool(supervisor.of(Rebooted)) is gone
    assert bool(supervisor.of(RunMissing)) is not gone


async def test_f_proc_26_after_another_boot_the_ends_are_told_with_what_had_failed_in_the_order_of_the_fleet() -> None:
    agents = (running("c"), running("a"), running("b"))

    async def recorded(agent: str, incarnation: int, run_id: str) -> AgentExited | None:
        for _ in range(5 if agent == "c" else 1):
            await anyio.lowlevel.checkpoint()
        failed = TurnFailed(agent, incarnation, failure="limit")
        return AgentExited(agent, incarnation, run_id, 1, None, failed=failed) if agent != "a" else None

    (booted,) = (await recovered(*agents, known={**OF_NOW, BOOT_KEY: "a"}, recorded=recorded)).of(Rebooted)
    assert [(one.agent, one.failed.failure) for one in booted.ended] == [("c", "limit"), ("b", "limit")]


async def test_p86_what_is_declared_starts_where_it_is_new_and_is_to_and_the_journal_is_whole() -> None:
    specs = (claude("known"), claude("new"), replace(claude("manual"), autostart=False))
    known = Story(claude("known")).agent

    def starts(supervisor: Supervisor) -> dict[str, bool]:
        return {event.spec.name: event.start for event in supervisor.of(AgentDeclared)}

    assert starts(await recovered(known, specs=specs)) == {"known": False, "new": True, "manual": False}
    behind = await recovered(known, specs=specs, faced=Faced(4, True))
    assert starts(behind) == {"known": False, "new": False, "manual": False}


def test_a_task_whose_worker_is_yet_to_begin_has_the_environment_of_the_agent_that_it_was_declared_with() -> None:
    env = (("KEY", "value"),)
    declared = {"a": claude("a", env=env)}
    worker = claude("a-t1", env_of="a", kind=Kind.EPHEMERAL)
    tasks = (
        Task("t1", "a-t1", spec=worker), Task("t2", "b-t2", spec=replace(worker, env_of="b")), Task("t3", "a-t3"),
    )  # fmt: skip
    restored = restore(Saved(tasks=Tasks(open=tasks)), declared, FleetLimits())

    of = [task.spec.env if task.spec is not None else None for task in restored.tasks.open]
    assert of == [env, (), None]


def test_texts_of_which_an_earlier_daemon_did_not_say_what_became_are_those_of_each_agent_in_order() -> None:
    def row(agent: str | None, orders: tuple[str, ...] = (), **detail: object) -> StoredEntry:
        return StoredEntry(1, Entry(0.0, 0.0, agent, 2, "SendRequested", dict(detail), actions=orders))

    typed = {"message_id": "m4", "text": "Read."}
    found = unfinished_texts([
        row("a", ("deliver",), message_id="m1", text="Go on."),
        row("a", ("deliver",), message_id="m2", text="Build."),
        row("b", ("alert", "deliver to b"), typing=[typed, {"message_id": "", "text": "x"}, {"message_id": "m5"}]),
        row("c", ("alert",), message_id="m3", text="Not typed."),
        row(None, ("deliver",), message_id="m6", text="Of nobody."),
        row("a", message_id="m1"),
        row("b", message_id="m2"),
    ])  # fmt: skip

    assert found == {
        "a": (Unfinished("a", 2, "m2", "Build."),), "b": (Unfinished("b", 2, "m4", "Read."),),
    }  # fmt: skip


async def test_a_shim_that_does_not_answer_at_the_start_is_taken_up_and_its_run_is_not_missing() -> None:
    taken: list[tuple[str, str]] = []
    supervisor: Any = Supervisor(running("a"), running("b"))

    async def connect(agent: str) -> None:
        if agent == "a":
            raise ShimFailed("it does not answer")

    shims = SimpleNamespace(connect=connect, take_up=lambda agent, why: taken.append((agent, why)))
    outside: Any = SimpleNamespace(journal=Kept(OF_NOW), shims=shims, processes=SimpleNamespace(boot=lambda: NOW))
    await recover(supervisor, outside, cast(Any, SimpleNamespace(explained_end=no_record)), (), None)

    assert taken == [("a", "it does not answer")]
    assert [one.agent for one in supervisor.of(RunMissing)] == ["b"]
