"""What the world says, read before anything is killed or started: files, shims, and whether the journal is behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog
from anyio import to_thread

from phoenixd.core import alerts
from phoenixd.core.behind.verdicts import lag
from phoenixd.core.behind.world import SeenRun, Trace, World
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.seat.lost import generations
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.numbers import whole
from phoenixd.errors import ShimFailed
from phoenixd.ports import Outside
from phoenixd.ports.journal import Epochs, RunFiles
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime.epochs import KIND, EpochKeeper
from phoenixd.runtime.supervisor import Supervisor

CONCURRENT = 16

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Faced:
    """newest: the highest epoch that was met. behind: whether the journal is older than the world.

    lives: a run of ours lives, so this is still the boot of our runs, whatever boot an old journal remembers. runs: the
    ids of the runs that journal and world knew of; this daemon began any other.
    """

    newest: int
    behind: bool
    lives: bool = False
    runs: frozenset[str] = frozenset()


async def face(
    supervisor: Supervisor,
    outside: Outside,
    epochs: Epochs,
    keeper: EpochKeeper,
    specs: Sequence[AgentSpec],
    *,
    is_damaged: bool = False,
) -> Faced:
    """Compare journal and world, and put what follows before all other events.

    is_damaged: the journal was salvaged at this start. To be called before the supervisor runs: its first step may
    start what an old journal wants.
    """
    fleet = supervisor.fleet
    world = await look(outside, epochs, fleet.epoch, {*fleet.agents, *(spec.name for spec in specs)})
    world = replace(world, is_damaged=is_damaged)
    keeper.committed = fleet.epoch
    wishes = {one.agent: one.wish for one in world.traces if one.wish is not None}
    standing = alerts.find(fleet.alerts, KIND)
    keeper.knows(wishes, world.epoch, standing.text if standing is not None else "")
    specs = tuple(generations(specs, fleet, world.traces))
    why = lag(world, fleet.agents, fleet.retired, {spec.name for spec in specs})
    if why is not None:
        log.error("journal_behind", reason=why)
        supervisor.begin_with(JournalBehind(why, world, specs))
    lives = any(trace.living is not None for trace in world.traces)
    seen = (run for trace in world.traces for run in (trace.living, trace.last) if run is not None)
    runs = {run.run_id for run in seen} | {agent.run.run_id for agent in fleet.agents.values() if agent.run is not None}
    return Faced(world.newest, why is not None, lives, frozenset(runs))


async def left_alone(outside: Outside, epochs: Epochs, name: str) -> World | None:
    """What is known of an agent that nobody declares and whose run lives; None where nothing of it does."""
    trace = await _trace(outside, name, await to_thread.run_sync(epochs.run_files, name))
    if trace.living is None:
        return None
    return World(outside.processes.boot_id(), 0, await to_thread.run_sync(epochs.epoch), (trace,))


async def look(outside: Outside, epochs: Epochs, journal: int, names: Iterable[str]) -> World:
    """All that is known of these agents, and of those that have a directory, beside the journal."""
    met = sorted({*names, *(await to_thread.run_sync(epochs.names))})
    # One way to a thread for all of them: a thousand ways cost more than what is read there.
    files = await to_thread.run_sync(lambda: {name: epochs.run_files(name) for name in met})
    limit, traces = anyio.CapacityLimiter(CONCURRENT), dict.fromkeys(met, Trace(""))

    async def trace(name: str) -> None:
        async with limit:
            traces[name] = await _trace(outside, name, files[name])

    async with anyio.create_task_group() as tasks:
        for name in met:
            tasks.start_soon(trace, name)
    epoch = await to_thread.run_sync(epochs.epoch)
    return World(outside.processes.boot_id(), journal, epoch, tuple(traces.values()))


async def _trace(outside: Outside, name: str, files: RunFiles) -> Trace:
    known = max(files.incarnation, files.wish.incarnation if files.wish is not None else 0)
    found = Trace(
        name, files.wish, "none", None, files.last, known, ended=files.ended, breaker=files.breaker,
        anchored=files.anchored,
    )  # fmt: skip
    try:
        hello = await outside.shims.connect(name)
    except ShimFailed as failure:
        log.warning("shim_silent", agent=name, reason=failure.message)
        return replace(found, shim="silent")
    if hello is None:
        return found
    told = hello.told
    ended = whole((hello.exit or {}).get("incarnation"))
    if hello.run is None:
        return replace(found, shim="idle", incarnation=max(known, ended), told=told)
    living = _living(hello, files.last)
    run_id, hook = files.heard
    living = replace(living, heard=hook if run_id == living.run_id else "")
    return replace(found, shim="runs", living=living, incarnation=max(known, ended, living.incarnation), told=told)


def _living(hello: ShimHello, last: SeenRun | None) -> SeenRun:
    run = hello.run
    assert run is not None
    same = last if last is not None and last.run_id == run.run_id else None
    seen = same or SeenRun(run.incarnation, run.run_id)
    return replace(
        seen,
        incarnation=run.incarnation,
        pid=run.pid,
        start_time=run.start_time,
        session_id=run.session_id or seen.session_id,
        mode=run.mode or seen.mode,
        epoch=run.epoch or seen.epoch,
        boot_id=hello.shim.boot_id,
    )
