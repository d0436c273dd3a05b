"""At daemon start: what the journal remembers meets what is alive. Adopt the living, finish what was under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

import anyio
import structlog

from phoenixd.core import answers, opening
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.boot import Boot, is_another_host, is_another_table, read_boot, why_gone
from phoenixd.core.events.fleet import EpochBegun, Rebooted
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, RunMissing
from phoenixd.core.events.work import MeasurementLost
from phoenixd.core.fleet import Fleet
from phoenixd.core.progress import waits
from phoenixd.core.recycling.rules import is_weighed
from phoenixd.core.seat.finding import meant, seated
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules, Task
from phoenixd.core.treatment.authority import Caps
from phoenixd.errors import JournalFailed, PhoenixdError, ShimFailed
from phoenixd.ports import Clock, Outside
from phoenixd.ports.journal import Saved, StoredEntry
from phoenixd.ports.shims import ShimLinks
from phoenixd.runtime.deaths import LOOK_AGAIN
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.last_life import LastLife
from phoenixd.runtime.messages import Unfinished
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.world import Faced

BOOT_KEY = "boot_id"
TABLE_KEY = "process_table"
"""Beside the boot id, which an older phoenixd compares as it stands."""
CONCURRENT = 16

log = structlog.get_logger()


def restore(
    saved: Saved,
    specs: dict[str, AgentSpec],
    limits: FleetLimits,
    jobs: JobRules = JobRules(),  # noqa: B008 - frozen
    clinic: Caps = Caps(),  # noqa: B008 - frozen
    ways: tuple[str, ...] = (),
) -> Fleet:
    """The fleet as it was saved, with what the journal must not hold (environments) filled in from configuration.

    Answers that were under way are marked as an earlier daemon's.
    """
    agents = {
        agent.name: answers.orphaned(_with_environment(agent, specs.get(_declared_as(agent.spec))))
        for agent in saved.agents
    }
    waiting = tuple(_as_declared(task, specs) for task in saved.tasks.open)
    fleet = Fleet(
        agents=agents, limits=limits, next_item=saved.next_item, alerts=saved.alerts, retired=saved.retired,
        epoch=saved.epoch, seats={seat.name: seat for seat in saved.seats}, jobs=jobs,
        clinic=clinic,
        tasks=replace(saved.tasks, open=waiting), cases=saved.cases, undoable=saved.undoable,
        mutes=saved.mutes, ways=ways,
    )  # fmt: skip
    return seated(fleet)


async def recover(
    supervisor: Supervisor,
    outside: Outside,
    hearing: Hearing,
    specs: Iterable[AgentSpec],
    faced: Faced | None = None,
    newest_task: int = 0,
    before: LastLife | None = None,
    kept: tuple[Task, ...] = (),
) -> None:
    """Tell the supervisor what became of every saved run, then what the configuration declares.

    A run is adopted under its living shim, ended by that shim's word, or reported missing: then its remains are fenced,
    and its exit record tells how it ended. On another boot all runs are void. Agents that were stopped on purpose are
    left alone (P54, P86, F-SY-1, F-SY-5). faced: what was found of the world before. newest_task: the highest
    number of a task that has a directory. before: the daemon that watched before this one. kept: what stands
    on the disk of tasks, which an old journal may not know.
    """
    if faced is not None:
        # Also waited for because all that follows compares with what an old journal was brought up to.
        until, how = (before.until, before.ended) if before is not None else (None, "")
        await supervisor.ask(EpochBegun(faced.newest, newest_task, until, how, kept if faced.behind else ()))
    boot = outside.processes.boot()
    is_gone = await why_all_is_gone(supervisor, outside, boot)
    is_behind = faced is not None and faced.behind
    if is_gone and not (is_behind and faced is not None and faced.lives):
        await supervisor.ask(Rebooted(boot.boot_id, await _recorded(supervisor, hearing)))
    else:
        limit = anyio.CapacityLimiter(CONCURRENT)
        async with anyio.create_task_group() as tasks:
            for agent in tuple(supervisor.fleet.agents.values()):
                if faced is not None and agent.run is not None and agent.run.run_id not in faced.runs:
                    # An old journal was brought up to the world, and so this run was begun a moment ago.
                    continue
                tasks.start_soon(_recover_agent, agent, supervisor, outside, hearing, limit)
    for agent in tuple(supervisor.fleet.agents.values()):
        if waits(agent) or agent.turns or agent.record.weighing or is_weighed(agent):
            supervisor.tell(MeasurementLost(agent.name))
    # Of a seat, whose holder may bear another name, no generation is started because it is declared.
    unknown = {one.name for one in specs if meant(supervisor.fleet, one.name) is None}
    declared = [AgentDeclared(one, one.name in unknown and one.autostart and not is_behind) for one in specs]
    # In one commit: a hundred of them one by one take a slow disk minutes.
    await supervisor.ask_all(declared)


async def why_all_is_gone(supervisor: Supervisor, outside: Outside, now: Boot) -> str | None:
    """Why none of the saved runs can be alive, None where they can; and remember the boot that this is."""
    journal = outside.journal
    known = read_boot(await journal.recall(BOOT_KEY), await journal.recall(TABLE_KEY))
    answering = set[str]()
    if is_another_table(known, now) and not is_another_host(known, now):
        for agent in tuple(supervisor.fleet.agents.values()):
            try:
                listens = await outside.shims.connect(agent.name) is not None
            except ShimFailed as failure:
                log.warning("shim_of_another_table", agent=agent.name, reason=failure.message)
                listens = True
            if listens:
                answering.add(agent.name)
    # Remembered first: a crash before the runs are declared void leaves them to be found missing, which is as true.
    # The other way round, the next daemon would declare runs of this very boot void, and double them. What stands there
    # already is not written again: a daemon has to start on a full disk, too.
    if known is None or known.boot_id != now.boot_id:
        await journal.remember(BOOT_KEY, now.boot_id)
    if known is None or known.table != now.table:
        try:
            await journal.remember(TABLE_KEY, now.table)
        except JournalFailed as failure:
            if known is None or is_another_table(known, now):
                raise
            # An older version knew no more than the boot, which is the same.
            log.warning("process_table_not_remembered", reason=failure.message)
    why = why_gone(known, now, answering)
    if why is not None:
        log.info("all_runs_are_gone", why=why)
    return why


def unfinished_texts(rows: Iterable[StoredEntry]) -> dict[str, tuple[Unfinished, ...]]:
    """By agent: the texts that an earlier daemon was to type, without saying what became of them; oldest first."""
    begun: dict[tuple[str, str], Unfinished] = {}
    for row in rows:
        entry = row.entry
        if entry.agent is None:
            continue
        if not entry.detail.get("text"):
            begun.pop((entry.agent, str(entry.detail.get("message_id"))), None)
        if any(action.startswith("deliver") for action in entry.actions):
            for one in (entry.detail, *entry.detail.get("typing", ())):
                if one.get("message_id") and one.get("text"):
                    message, text = str(one["message_id"]), str(one["text"])
                    begun[entry.agent, message] = Unfinished(entry.agent, entry.incarnation, message, text)
    found: dict[str, tuple[Unfinished, ...]] = {}
    for one in begun.values():
        found[one.agent] = (*found.get(one.agent, ()), one)
    return found


async def unfinished_openings(
    agents: Iterable[Agent], words: Callable[[Agent], Awaitable[str]]
) -> dict[str, Unfinished]:
    """By agent: the first words of its run that an earlier daemon was to type; empty where they cannot be read."""
    found: dict[str, Unfinished] = {}
    for agent in agents:
        message = opening.unfinished(agent)
        if not message:
            continue
        try:
            text = await words(agent)
        except PhoenixdError as failure:
            log.warning("opening_words_unknown", agent=agent.name, reason=failure.message)
            text = ""
        found[agent.name] = Unfinished(agent.name, agent.incarnation, message, text)
    return found


async def relink(
    name: str, find: Callable[[str], Agent | None], shims: ShimLinks, hearing: Hearing, clock: Clock
) -> None:
    """After a link was lost and opened again: compare what the shim says now with what is known."""
    while (agent := find(name)) is not None:
        try:
            hello = await shims.connect(name)
            if hello is not None:
                hearing.reconcile(agent, hello)
        except ShimFailed as failure:
            # It is lost again by now, and will be said to be.
            log.info("link_lost_again", agent=name, reason=failure.message)
        except OSError as fault:
            log.warning("link_not_compared", agent=name, reason=str(fault))
            await clock.sleep_until(clock.at() + LOOK_AGAIN)
            continue
        return


async def _recorded(supervisor: Supervisor, hearing: Hearing) -> tuple[AgentExited, ...]:
    """The ends of all runs that were recorded before the boot, in the order of the fleet."""
    found: dict[str, AgentExited] = {}

    async def look(name: str, run: Run) -> None:
        end = await hearing.explained_end(name, run.incarnation, run.run_id)
        if end is not None:
            found[name] = end

    names = tuple(supervisor.fleet.agents)
    async with anyio.create_task_group() as tasks:
        for agent in supervisor.fleet.agents.values():
            if agent.run is not None:
                tasks.start_soon(look, agent.name, agent.run)
    return tuple(found[name] for name in names if name in found)


async def _recover_agent(
    agent: Agent, supervisor: Supervisor, outside: Outside, hearing: Hearing, limit: anyio.CapacityLimiter
) -> None:
    async with limit:
        try:
            hello = await outside.shims.connect(agent.name)
        except ShimFailed as failure:
            log.warning("shim_left_alone", agent=agent.name, reason=failure.message)
            outside.shims.take_up(agent.name, failure.message)
            return
        if hello is not None:
            try:
                hearing.reconcile(agent, hello)
            except OSError as fault:
                # The host could not look, and no daemon ends for that.
                log.warning("link_not_compared", agent=agent.name, reason=str(fault))
                hearing.compare_later(agent.name)
            return
        # Its exit.json alone proves nothing: an agent can write one and take its shim's socket away. It is read once
        # the fence has found nothing that lives.
        if agent.run is not None:
            supervisor.tell(RunMissing(agent.name, agent.run.incarnation))


def _with_environment(agent: Agent, spec: AgentSpec | None) -> Agent:
    if spec is None:
        return agent
    return replace(agent, spec=replace(agent.spec, env=spec.env))


def _declared_as(spec: AgentSpec) -> str:
    """Under which name the configuration has the environment of an agent."""
    return spec.env_of or spec.seat or spec.name


def _as_declared(task: Task, specs: dict[str, AgentSpec]) -> Task:
    """A task whose worker is yet to begin, with the environment of the agent that it has it of."""
    if task.spec is None or (found := specs.get(task.spec.env_of)) is None:
        return task
    return replace(task, spec=replace(task.spec, env=found.env))
