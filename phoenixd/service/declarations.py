"""Which agents are declared: the files and the fleet change together, and one change sees the one before it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio

from phoenixd import config
from phoenixd.api.values import Planned
from phoenixd.bounded_reads import BoundedReads
from phoenixd.config.seats import require_seats
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.behind.world import World
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, UndoRequested
from phoenixd.core.seat.finding import declared, meant
from phoenixd.core.seat.names import refusal_of_name
from phoenixd.core.spec import AgentSpec
from phoenixd.core.undo.state import KEPT
from phoenixd.directories import Directories, check_socket_paths, find_configuration, for_any_shell, start_again
from phoenixd.errors import ConfigurationError, NoAnswer
from phoenixd.ports import Clock
from phoenixd.remedies import anew
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.service.changes import changes_of
from phoenixd.service.sources import Starts
from phoenixd.terrain import TERRAIN

PATIENCE = 3.0
"""Seconds that one foreign place is waited for: a working directory, a command, a directory that declared agents."""
START_PATIENCE = 8.0
"""Seconds in which it is found out what stands in the way of a start: a login shell has 5 of its own."""


@dataclass(slots=True)
class Declarations:
    """Adds, removes, brings back and applies declared agents; one order at a time.

    Agents' places may hang. Each order looks at them before it waits for its turn, so that it meets only known hangs
    when its turn has come, and nobody waits for an order about another agent's dead mount.
    """

    supervisor: Supervisor
    clock: Clock
    starts: Starts
    directories: Directories
    environ: Mapping[str, str] = field(repr=False)
    began_with: ConfigurationTable = field(repr=False)
    """The settings that are in force since the daemon's start."""
    left_alone: Callable[[str], Awaitable[World | None]]
    """What is known of an agent that nobody declared so far; None where nothing of it lives."""
    adopted: Callable[[str], object]
    """Takes up the run of one that was declared while it lives."""
    files: frozenset[str]
    """Those of the configuration that were read since the daemon began."""
    began_without: Mapping[str, int] = field(default_factory=dict)
    """The agents that no file declared when the daemon began, with their incarnations: their environments are in no
    journal."""
    _made: Path | None = None
    _declaring: anyio.Lock = field(default_factory=anyio.Lock)
    """Held from the look at the declarations to the fleet's answer, so that each sees what the one before it did."""
    _reads: BoundedReads = field(default_factory=BoundedReads)

    async def add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[str, ...]:
        """Declare one more agent by its table; returns its warnings."""
        cwd = table.get("cwd")
        try:
            if isinstance(cwd, str):
                await self._reads.of(cwd, lambda: os.path.lexists(cwd), PATIENCE)
        except NoAnswer as silent:
            return Refusal("invalid", _hangs(name, silent), "name another directory, or have its file system answer")
        await self._read()
        declared = await self._add(name, table)
        if isinstance(declared, Refusal):
            return declared
        holder = meant(self.supervisor.fleet, name)
        if holder is None:
            return ()
        problems: tuple[str, ...] = (
            "nobody knows whether it can start unattended: its command, its home or its shell do not answer",
        )
        with anyio.move_on_after(START_PATIENCE):
            problems = await self.starts.start_problems(holder)
        # A missing directory is told where its name was typed.
        known = declared if await anyio.to_thread.run_sync(TERRAIN.is_directory, holder.spec.cwd) else ()
        return (*(one.message for one in known if one.agent == name and one.severity == "warning"), *problems)

    async def _add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[config.Problem, ...]:
        """Declare one more agent; returns what is wrong with the configuration then."""
        async with self._declaring:
            before = await self._read()
            if (refusal := refusal_of_name(name)) is not None:
                return refusal
            fleet = self.supervisor.fleet
            if meant(fleet, name) is not None or name in fleet.agents or name in before.agents:
                return Refusal(
                    "conflict", f"there is an agent {name} already", f"choose another name, or phoenixctl remove {name}"
                )
            try:
                check_socket_paths(self.directories.runtime, [name])
                await anyio.to_thread.run_sync(config.write_agent, self.directories.state, name, dict(table), before)
            except ConfigurationError as error:
                return Refusal("invalid", error.message, error.remedy)
            after = await self._read()
            wrong = [problem for problem in after.errors if problem.agent == name]
            spec = after.agents.get(name)
            if spec is None:
                await self._restore(name, before)
                told = "; ".join(map(str, wrong)) or f"{name} could not be declared"
                if wrong and all(problem.is_conflict for problem in wrong):
                    return Refusal("conflict", told, "name another project or another directory, or phoenixctl status")
                return Refusal("invalid", told, "phoenixctl config check")
            (refusal,) = await self._declare([AgentDeclared(spec)])
            if refusal is not None:
                await self._restore(name, before)
                return refusal
            return after.problems

    async def remove(self, name: str, by: str = "operator", act: str = "") -> Refusal | None:
        """Withdraw an agent's declaration, and the agent."""
        await self._read()
        async with self._declaring:
            if meant(self.supervisor.fleet, name) is None:
                return Refusal("not_found", f"there is no agent {name}", "phoenixctl status")
            configuration = await self._read()
            try:
                # The declaration goes first: after a crash in between the agent is undeclared, not started anew.
                await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, configuration, act)
                if act:
                    young = self.clock.now().wall - KEPT
                    # A clock may jump; the journal counts in supervised time.
                    known = frozenset(one.act for one in self.supervisor.fleet.undoable)
                    await anyio.to_thread.run_sync(config.forget_removed, self.directories.state, young, known)
            except ConfigurationError as error:
                return Refusal("conflict", error.message, error.remedy)
            return await self.supervisor.order(AgentWithdrawn(name, by, act))

    async def bring_back(self, name: str, by: str, act: str) -> Refusal | None:
        """Take an act back; of an agent that was removed the declaration first."""
        await self._read()
        async with self._declaring:
            there = meant(self.supervisor.fleet, name)
            if there is None:
                if (refused := await self._declare_again(name, act)) is not None:
                    return refused
            elif await anyio.to_thread.run_sync(config.is_kept, self.directories.state, name, act):
                if there.removing:
                    return Refusal(
                        "conflict",
                        f"{name} is being removed still: wait a moment",
                        f"phoenixctl undo {name}",
                    )
                again = f"phoenixctl remove {name} && phoenixctl undo {name} --act {act}"
                return Refusal("conflict", f"there is an agent {name} again, which is another one", again)
        return await self.supervisor.ask(UndoRequested(name, act, by))

    async def _declare_again(self, name: str, act: str) -> Refusal | None:
        """Declare an agent as it was before this act; where that is refused or fails, its file is kept as before."""
        found = False
        try:
            found = await anyio.to_thread.run_sync(config.restore_agent, self.directories.state, name, act)
            after = await self._read()
            spec = after.agents.get(name)
            if spec is not None:
                (refused,) = await self._declare([AgentDeclared(spec, is_undo=True)])
                return refused
            wrong = "; ".join(str(one) for one in after.errors if one.agent == name or (found and one.agent is None))
        except ConfigurationError as error:
            return Refusal("conflict", f"{name} cannot be declared again: {error.message}", error.remedy)
        finally:
            if found and meant(self.supervisor.fleet, name) is None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, None, act)
        if wrong:
            return Refusal("conflict", f"{name} cannot be declared again: {wrong}", "phoenixctl config check")
        why = f"{name} cannot be declared again: its declaration is kept nowhere any more"
        return Refusal("conflict", why, f"phoenixctl add {name} -- COMMAND")

    async def plan(self) -> Planned:
        """What `apply` would do."""
        configuration = await self._load()
        return await self._planned(await self._compare(configuration), configuration)

    async def apply(self) -> Planned:
        """Bring the fleet to what the configuration says; what is refused says so in its line."""
        await self.plan()
        async with self._declaring:
            configuration = await self._load()
            difference = await self._compare(configuration)
            require_seats(difference.added)
            planned = await self._planned(difference, configuration)
            orders: list[Event] = [LimitsDeclared(configuration.limits, configuration.jobs, configuration.clinic)]
            found = configuration.agents
            orders += [AgentDeclared(found[name], fills_env=True) for name in self._without_env() & found.keys()]
            orders += [AgentDeclared(change.spec) for change in difference.changed]
            orders += [AgentWithdrawn(name) for name in difference.removed]
            added = [AgentDeclared(spec, start=spec.autostart) for spec in difference.added]
            answers = await self._declare(added, orders)
            named = [_agent_of(one) for one in (*orders, *added)]
            refused = {name: one.message for name, one in zip(named, answers, strict=True) if name and one is not None}
            changes = (replace(one, refused=refused.get(one.agent, "")) for one in planned.changes)
            return replace(planned, changes=tuple(changes))

    async def _declare(self, added: Sequence[AgentDeclared], others: Sequence[Event] = ()) -> list[Refusal | None]:
        """Give these orders in one turn. A new agent that lives already is adopted: a start would end that run."""
        seen = [replace(one, world=await self.left_alone(one.spec.name)) for one in added]
        answers = await self.supervisor.ask_all([*others, *seen])
        for one in seen:
            if one.world is not None:
                self.adopted(one.spec.name)
        return answers

    def _place(self) -> Path | None:
        """The configuration, also one that was made since the daemon began; that one may be gone by now."""
        if self.directories.configuration is not None:
            return self.directories.configuration
        self._made = find_configuration(self.environ) or self._made
        return self._made

    async def _read(self) -> config.Configuration:
        place, state = self._place(), self.directories.state
        return await anyio.to_thread.run_sync(config.read_configuration, place, state, self.environ)

    async def _load(self) -> config.Configuration:
        place, state = self._place(), self.directories.state
        return await anyio.to_thread.run_sync(config.load_configuration, place, state, self.environ)

    async def _planned(self, difference: config.Plan, configuration: config.Configuration) -> Planned:
        waiting = config.after_restart(self.began_with, configuration.settings)
        fleet = self.supervisor.fleet
        settings = config.at_once(fleet.limits, fleet.jobs, fleet.clinic, configuration)
        warnings = await self._warnings(difference, configuration)
        return Planned(changes_of(difference, self.supervisor.fleet, warnings), waiting, settings)

    async def _warnings(self, difference: config.Plan, configuration: config.Configuration) -> dict[str, list[str]]:
        """By agent: that it is declared twice, also where nothing changes; that its directory or command is missing."""
        found = _twice(configuration)

        def missing(spec: AgentSpec) -> str | None:
            # A command may be named by a path from the directory: of the two the directory comes first.
            is_there = os.path.isdir(spec.cwd)
            return self.starts.command_problem(spec) if is_there else f"{spec.cwd} is no directory now"

        async def look(spec: AgentSpec) -> None:
            try:
                problem = await self._reads.of(spec.cwd, partial(missing, spec), PATIENCE)
            except NoAnswer as silent:
                problem = _hangs(spec.name, silent)
            if problem is not None:
                found.setdefault(spec.name, []).append(problem)

        async with anyio.create_task_group() as tasks:
            for spec in (*difference.added, *(change.spec for change in difference.changed)):
                tasks.start_soon(look, spec)
        return found

    async def _compare(self, configuration: config.Configuration) -> config.Plan:
        """Raises ConfigurationError where agents would be removed only because their place cannot be read."""
        known, found = declared(self.supervisor.fleet), configuration.agents
        filled = {name: replace(known[name], env=found[name].env) for name in self._without_env() & found.keys()}
        difference = config.plan(known | filled, found)
        removed = {name: known[name].source for name in difference.removed}
        read = self.files | configuration.read
        config.require_given_up(removed, await self._seen(set(removed.values())), read, self._again)
        # Another look may have ended meanwhile.
        self.files |= read
        return difference

    async def _seen(self, sources: Iterable[str]) -> dict[str, config.Seen]:
        """What looks for these files find, but for those of `add`."""
        files = [Path(source) for source in sources if source]
        seen = {}
        for file in sorted(file for file in files if file.parent != self.directories.declarations):
            try:
                seen[os.fspath(file)] = await self._reads.of(os.fspath(file), partial(config.look_for, file), PATIENCE)
            except NoAnswer as silent:
                told = f"{silent.message}: its file system hangs, and nobody knows what it declares"
                raise ConfigurationError(told, "have its file system answer, then: phoenixctl apply") from silent
        return seen

    def _without_env(self) -> frozenset[str]:
        """Of whom nobody has read the environment; who was started since was started without one."""
        agents = {name: meant(self.supervisor.fleet, name) for name in self.began_without}
        return frozenset(
            name
            for name, agent in agents.items()
            if agent is not None and not agent.spec.env and agent.incarnation == self.began_without[name]
        )

    def _again(self, place: Path) -> str:
        """What begins a daemon that reads another place than this one."""
        directories = replace(self.directories, configuration=place)
        return anew(start_again(for_any_shell(self.environ), directories))

    async def _restore(self, name: str, before: config.Configuration) -> None:
        """Take back a declaration that turned out wrong; one that was replaced is put back as it was."""
        table = before.settings.agent.get(name)
        if table is None:
            await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, before)
            return
        plain = table.model_dump(mode="python", exclude_unset=True)
        await anyio.to_thread.run_sync(config.write_agent, self.directories.state, name, plain, before)


def _hangs(name: str, silent: NoAnswer) -> str:
    return f"{silent.message}: the file system hangs on which {name} works"


def _agent_of(order: Event) -> str:
    """Which agent an order of apply is about; empty for one about the fleet."""
    match order:
        case AgentDeclared(spec=spec):
            return spec.name
        case AgentWithdrawn(agent=name):
            return name
        case _:
            return ""


def _twice(configuration: config.Configuration) -> dict[str, list[str]]:
    """What is to be known of each agent that a file and `add` declare."""
    return {one.agent: [str(one)] for one in configuration.problems if one.is_twice and one.agent is not None}
