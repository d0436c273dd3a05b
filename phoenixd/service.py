"""What operators can ask of the living daemon: the API's view of it, over the supervisor and the files."""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio

from phoenixd import config
from phoenixd.api.rights import Seated
from phoenixd.api.service import (
    Attendant,
    BriefPage,
    Change,
    Facts,
    Finding,
    LogReader,
    LoopCounts,
    MarkerFace,
    MemoryFace,
    RebuiltMarker,
    Rechecked,
)
from phoenixd.config.seats import require_seats
from phoenixd.core.agent import Agent
from phoenixd.core.behind.world import World
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, RestartRequested, StartRequested, UndoRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment
from phoenixd.core.requests import LAUNCH_KEYS
from phoenixd.core.seat.finding import declared, meant, why_fenced
from phoenixd.core.seat.names import refusal_of_name, seat_name
from phoenixd.core.seat.state import Seat, project_of
from phoenixd.core.sight import Sight
from phoenixd.core.spec import Kind
from phoenixd.core.undo.state import KEPT
from phoenixd.directories import Directories, check_socket_paths, find_configuration
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.log_lines import LogLine
from phoenixd.documents.project.memory import SharedFile
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.redact import redact_json
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.screen import coloured
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.errors import ConfigurationError, PhoenixdError
from phoenixd.harness import HARNESSES
from phoenixd.planting import Marker
from phoenixd.ports import Clock
from phoenixd.ports.journal import Journal, StoredEntry
from phoenixd.ports.processes import Cleaner, Leftovers, ProcessIdentity
from phoenixd.ports.shims import ShimLinks
from phoenixd.ports.terminal import Terminal
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.leftovers import cleaned_up
from phoenixd.runtime.onlookers import Onlookers
from phoenixd.runtime.sights import Sights
from phoenixd.runtime.supervisor import Supervisor

T = TypeVar("T")


class Markers(Protocol):
    """What the service asks of the papers of markers."""

    async def face(self, agent: Agent) -> MarkerFace: ...

    async def mint(self, phrase: str | None) -> Marker: ...

    async def from_transcript(self, agent: Agent) -> RebuiltMarker | None: ...


class Knowledge(Protocol):
    """What the service reads of agents' files."""

    def loops(self, agent: str) -> LoopCounts: ...

    @property
    def stale_days(self) -> int: ...

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]: ...

    async def brief(self, agent: str) -> BriefPage | None: ...

    async def check_brief(self, agent: str) -> tuple[Fault, ...]: ...

    async def generate_brief(self, agent: Agent) -> BriefPage: ...

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved: ...

    def heartbeat(self, agent: str) -> Mapping[str, object] | None: ...

    @property
    def resonance(self) -> Markers: ...

    async def look_at_breaker(self, agent: Agent) -> Event | None:
        """What somebody did to a loop's breaker file, None for nothing."""
        ...

    def clean(self, agent: str | None, text: str) -> str:
        """A text without its secrets, also those of the agent's variables."""
        ...

    def clean_of_all(self, agent: str | None, text: str) -> str:
        """A text without the secrets of any agent."""
        ...


class AgentLog(Protocol):
    """LogReader of the API, of agents in the place of names."""

    async def newest(self, agents: Sequence[Agent], most: int, since: float | None, now: float) -> list[LogLine]: ...

    async def added(self, agents: Sequence[Agent], since: float, most: int) -> tuple[list[LogLine], bool]: ...

    def resume(self, places: Mapping[str, str]) -> None: ...

    def places(self) -> dict[str, str]: ...


class Transcripts(Protocol):
    """What the service asks of the transcripts: a new reader of what they say."""

    def log(self, clean: Callable[[str, str], str]) -> AgentLog: ...

    async def turns(self, agent: Agent, most: int, clean: Callable[[str], str]) -> list[TurnRow]: ...


class Starts(Protocol):
    """What the service asks of starts: how runs are named to outsiders, and what a start would meet."""

    def token(self, run_id: str) -> str: ...

    async def start_problems(self, agent: Agent) -> tuple[str, ...]:
        """What stands in the way of an unattended start, for warnings at `add` and `run`."""
        ...


class SharedMemory(Protocol):
    """What the service asks of the memory that projects share; see phoenixd.memory.sharing. Blocking."""

    def listed(self) -> tuple[SharedFile, ...]: ...

    def hashes(self, workspace: str, tree: Tree, agent: str | None) -> Mapping[str, str]: ...

    def share(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]: ...

    def withdraw(self, project: str) -> tuple[str, ...]: ...


class Handover(Protocol):
    """What the service asks of the packages on disk."""

    async def is_changed(self, seat: Seat) -> bool: ...

    async def fault(self, seat: Seat) -> str | None: ...


@dataclass(slots=True)
class DaemonService:
    """Implements api.service.Service. It holds nothing that the journal or the files do not."""

    supervisor: Supervisor
    clock: Clock
    journal: Journal
    cleaner: Cleaner
    terminal: Terminal
    shims: ShimLinks
    hearing: Hearing
    knowledge: Knowledge
    starts: Starts
    directories: Directories
    environ: Mapping[str, str] = field(repr=False)
    describe: Callable[[], Facts]
    examine: Callable[[Fleet], Any]
    stop: Callable[[bool], None]
    left_alone: Callable[[str], Awaitable[World | None]]
    """What is known of an agent that nobody declared so far; None where nothing of it lives."""
    adopted: Callable[[str], object]
    """Takes up the run of one that was declared while it lives."""
    transcripts: Transcripts
    living_shims: Callable[[], Mapping[str, ProcessIdentity]]
    handover: Handover
    shared: SharedMemory
    list_projects: Callable[[str], tuple[str, ...]]
    read_project: Callable[[str, str], Tree]
    """A workspace's projects by name, and one of them as its files are."""
    sights: Sights
    onlookers: Onlookers
    agents_cgroup: str | None = None
    _attendants: list[Attendant] = field(default_factory=list)
    _newest: int = 0
    _rang: anyio.Event = field(default_factory=anyio.Event)
    _declaring: anyio.Lock = field(default_factory=anyio.Lock)
    """Held from the look at the declarations to the fleet's answer, so that each sees what the one before it did."""

    def fleet(self) -> Fleet:
        return self.supervisor.fleet

    def now(self) -> Moment:
        return self.clock.now()

    def facts(self) -> Facts:
        return self.describe()

    def loops(self, agent: str) -> LoopCounts:
        return self.knowledge.loops(seat_name(agent))

    def sight(self, agent: Agent) -> Sight:
        return self.sights.of(agent)

    def attend(self, attendant: Attendant) -> None:
        self._attendants.append(attendant)
        self.sights.changed = self._seen

    def turned(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """A turn is over: tell those who attend, and whoever waits for the fleet or for journal rows."""
        for attendant in self._attendants:
            attendant.turned(entries, changed)
        self.ring(max((stored.seq for stored in entries), default=0))

    def _seen(self, agent: str) -> None:
        for attendant in self._attendants:
            attendant.seen(agent)

    async def look_at_terminals(self) -> None:
        await self.onlookers.look()

    @property
    def stale_days(self) -> int:
        return self.knowledge.stale_days

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]:
        return await self.knowledge.open_loops(seat_name(agent))

    async def resolve(self, agent: str, loop_id: str, reason: str) -> Resolved:
        try:
            return await self.knowledge.resolve(self._meant(agent), loop_id, reason)
        except OSError as error:
            raise PhoenixdError(
                f"the loop was not closed: its log cannot be written: {error.strerror or error}", "phoenixctl doctor"
            ) from error

    def agents(self) -> tuple[Agent, ...]:
        return tuple(self.fleet().agents.values())

    async def brief(self, agent: str) -> BriefPage | None:
        return await self.knowledge.brief(seat_name(agent))

    async def check_brief(self, agent: str) -> tuple[Fault, ...]:
        return await self.knowledge.check_brief(seat_name(agent))

    async def projects(self, workspace: str) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(self.list_projects, workspace)

    async def project(self, workspace: str, project: str) -> Tree:
        return await anyio.to_thread.run_sync(self.read_project, workspace, project)

    async def shared_memory(self, workspace: str, tree: Tree, agent: str | None) -> MemoryFace:
        def found() -> MemoryFace:
            return MemoryFace(self.shared.listed(), self.shared.hashes(workspace, tree, agent))

        return await anyio.to_thread.run_sync(found)

    async def share_memory(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]:
        return await anyio.to_thread.run_sync(self.shared.share, workspace, tree, path, agent)

    async def withdraw_memory(self, project: str) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(self.shared.withdraw, project)

    async def generate_brief(self, agent: str) -> BriefPage:
        try:
            return await self.knowledge.generate_brief(self._meant(agent))
        except OSError as error:
            raise PhoenixdError(
                f"the brief could not be written: {error.strerror or error}", "phoenixctl doctor"
            ) from error

    async def marker(self, agent: str) -> MarkerFace:
        return await self.knowledge.resonance.face(self._meant(agent))

    async def mint(self, phrase: str | None) -> Marker:
        return await self._written(self.knowledge.resonance.mint(phrase))

    async def rebuild_marker(self, agent: str) -> RebuiltMarker | None:
        return await self._written(self.knowledge.resonance.from_transcript(self._meant(agent)))

    async def _written(self, writing: Awaitable[T]) -> T:
        try:
            return await writing
        except OSError as error:
            why = f"the papers of the marker cannot be written: {error.strerror or error}"
            raise PhoenixdError(why, "phoenixctl doctor") from error

    async def past_handoffs(self, seat: str, most: int) -> list[Handoff]:
        return await self.journal.handoffs(seat, most)

    async def package_fault(self, seat: str) -> str | None:
        found = self.fleet().seats.get(seat)
        return await self.handover.fault(found) if found is not None else None

    async def is_package_changed(self, seat: str) -> bool:
        found = self.fleet().seats.get(seat)
        return found is not None and await self.handover.is_changed(found)

    async def order(self, event: Event) -> Refusal | None:
        if isinstance(event, StartRequested | RestartRequested):
            await self.look_at_breaker(event.agent)
        return await self.supervisor.ask(event)

    async def look_at_breaker(self, name: str) -> None:
        agent = meant(self.fleet(), name)
        found = await self.knowledge.look_at_breaker(agent) if agent is not None else None
        if found is not None:
            await self.supervisor.ask(found)

    async def wait_for(self, predicate: Callable[[Fleet], bool], timeout: float) -> bool:
        with anyio.move_on_after(timeout):
            while not predicate(self.fleet()):
                await self._rang.wait()
            return True
        return False

    async def wait_committed(self, after: int, timeout: float) -> bool:
        with anyio.move_on_after(timeout):
            while self._newest <= after:
                await self._rang.wait()
            return True
        return False

    def ring(self, newest: int) -> None:
        """A turn was saved: wake whoever waits for the fleet or for journal rows."""
        self._newest = max(self._newest, newest)
        for attendant in self._attendants:
            attendant.saved(self._newest)
        self._rang.set()
        self._rang = anyio.Event()

    async def add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[str, ...]:
        async with self._declaring:
            before = await self._read()
            if (refusal := refusal_of_name(name)) is not None:
                return refusal
            if meant(self.fleet(), name) is not None or name in self.fleet().agents or name in before.agents:
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
            problems = await self.starts.start_problems(self._meant(name))
            # A directory that is missing is told by whoever typed its name.
            known = after.problems if await anyio.to_thread.run_sync(os.path.isdir, spec.cwd) else ()
            warnings = [one.message for one in known if one.agent == name and one.severity == "warning"]
            return (*warnings, *problems)

    async def remove(self, name: str, by: str = "operator", act: str = "") -> Refusal | None:
        async with self._declaring:
            if meant(self.fleet(), name) is None:
                return Refusal("not_found", f"there is no agent {name}", "phoenixctl status")
            configuration = await self._read()
            try:
                # The declaration goes first: after a crash in between the agent is undeclared, not started anew.
                await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, configuration, act)
                if act:
                    young = self.now().wall - KEPT
                    await anyio.to_thread.run_sync(config.forget_removed, self.directories.state, young)
            except ConfigurationError as error:
                return Refusal("conflict", error.message, error.remedy)
            return await self.order(AgentWithdrawn(name, by, act))

    async def bring_back(self, name: str, by: str, act: str) -> Refusal | None:
        async with self._declaring:
            there = meant(self.fleet(), name)
            if there is None:
                if (refused := await self._declare_again(name, act)) is not None:
                    return refused
            elif await anyio.to_thread.run_sync(config.is_kept, self.directories.state, name, act):
                if there.removing:
                    return Refusal("conflict", f"{name} is still being removed", f"phoenixctl undo {name}, once more")
                again = f"phoenixctl remove {name}, then: phoenixctl undo {name} --act {act}"
                return Refusal("conflict", f"there is an agent {name} again, which is another one", again)
        return await self.order(UndoRequested(name, act, by))

    async def _declare_again(self, name: str, act: str) -> Refusal | None:
        """Declare an agent as it was before this act; where that is refused or fails, its file is kept as before."""
        found = False
        try:
            found = await anyio.to_thread.run_sync(config.restore_agent, self.directories.state, name, act)
            after = await self._read()
            spec = after.agents.get(name)
            if spec is not None:
                (refused,) = await self._declare([AgentDeclared(spec)])
                return refused
            wrong = "; ".join(str(one) for one in after.errors if one.agent == name or (found and one.agent is None))
        except ConfigurationError as error:
            return Refusal("conflict", f"{name} cannot be declared again: {error.message}", error.remedy)
        finally:
            if found and meant(self.fleet(), name) is None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, None, act)
        if wrong:
            return Refusal("conflict", f"{name} cannot be declared again: {wrong}", "phoenixctl config check")
        why = f"{name} cannot be declared again: its declaration is kept nowhere any more"
        return Refusal("conflict", why, f"phoenixctl add {name} -- COMMAND")

    async def plan(self) -> tuple[Change, ...]:
        return _changes(self._compare(await self._load()))

    async def apply(self) -> tuple[Change, ...]:
        async with self._declaring:
            configuration = await self._load()
            difference = self._compare(configuration)
            require_seats(difference.added)
            orders: list[Event] = [LimitsDeclared(configuration.limits, configuration.jobs, configuration.clinic)]
            orders += [AgentDeclared(change.spec) for change in difference.changed]
            orders += [AgentWithdrawn(name) for name in difference.removed]
            await self._declare([AgentDeclared(spec, start=spec.autostart) for spec in difference.added], orders)
            return _changes(difference)

    async def doctor(self) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = await self.examine(self.fleet())
        return findings

    def size_next(self, name: str, columns: int, lines: int) -> None:
        self.terminal.size_next(self._meant(name).name, columns, lines)

    async def pane(self, name: str, lines: int) -> str:
        text = await self.terminal.capture(self._meant(name).name, lines)
        return self.knowledge.clean(name, "\n".join(text.rstrip().splitlines()[-lines:]))

    async def screen(self, name: str, lines: int) -> str:
        agent = self._meant(name)
        text = await self.terminal.capture_raw(agent.name, lines)
        return await anyio.to_thread.run_sync(coloured, text, lines, partial(self.knowledge.clean, name))

    async def turns(self, name: str, most: int) -> list[TurnRow]:
        agent = self._meant(name)
        self.knowledge.clean(name, "")  # What is secret of the agent is learnt here, and not in the reader's thread.
        return await self.transcripts.turns(agent, most, partial(self.knowledge.clean, name))

    def log(self) -> LogReader:
        return _Log(self._meant_if_any, self.knowledge.clean, self.transcripts.log(self.knowledge.clean))

    async def heartbeat(self, name: str) -> Mapping[str, object] | None:
        found = await anyio.to_thread.run_sync(self.knowledge.heartbeat, self._meant(name).name)
        if found is None:
            return None
        told: Mapping[str, object] = redact_json(found, lambda text: self.knowledge.clean(name, text))
        return told

    def without_secrets(self, body: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = redact_json(body, lambda text: self.knowledge.clean_of_all(None, text))
        return told

    async def clean(self, name: str, dry_run: bool, by: str) -> Leftovers:
        agent = self._meant(name)
        found = await self.cleaner.clean(agent, dry_run=dry_run)
        told = None if dry_run else cleaned_up(agent, f"ordered by {by}", found)
        if told is not None:
            await self.order(told)
        return found

    async def recheck(self) -> tuple[Rechecked, ...]:
        found = []
        for agent in tuple(self.fleet().agents.values()):
            found.append(await self._recheck(agent))
        return tuple(found)

    def shut_down(self, dismiss: bool = False) -> None:
        self.stop(dismiss)

    def default_argv(self, harness: str) -> tuple[str, ...]:
        return HARNESSES[harness].default_argv

    def agent_of_token(self, token: str) -> str | None:
        given = token.encode()
        owner = None
        for agent in self.fleet().agents.values():
            if agent.run is not None and hmac.compare_digest(self.starts.token(agent.run.run_id).encode(), given):
                owner = agent.name
        return owner

    def seated(self, agent: str) -> Seated:
        """For whom a run of this agent speaks, which project it leads, and why not any more."""
        fleet = self.fleet()
        known = fleet.agents.get(agent)
        if known is None:
            return Seated(agent)
        leads = project_of(known.spec) if known.spec.kind is Kind.ORCHESTRATOR else None
        if not known.spec.seat:
            return Seated(agent, project=leads, workspace=known.spec.cwd)
        fenced = why_fenced(fleet, known)
        return Seated(known.spec.seat, known.spec.generation, fenced, leads, known.spec.cwd)

    @property
    def agents_dir(self) -> str:
        return os.fspath(self.directories.state / "agents")

    def shim_pids(self) -> Mapping[int, str]:
        return {identity.pid: name for name, identity in self.living_shims().items()}

    async def _declare(self, added: Sequence[AgentDeclared], others: Sequence[Event] = ()) -> list[Refusal | None]:
        """Give these orders in one turn. Who is new and lives already is adopted: a start would end that run."""
        seen = [replace(one, world=await self.left_alone(one.spec.name)) for one in added]
        answers = await self.supervisor.ask_all([*others, *seen])
        for one in seen:
            if one.world is not None:
                self.adopted(one.spec.name)
        return answers

    async def _recheck(self, agent: Agent) -> Rechecked:
        state = agent.state_name
        try:
            hello = await self.shims.connect(agent.name)
        except PhoenixdError as failure:
            return Rechecked(agent.name, f"{state}; {failure.message}")
        if hello is None:
            found = "no shim listens"
            if agent.run is None:
                return Rechecked(agent.name, f"{state}; {found}", "nothing to do")
            self.hearing.report_missing(agent)
            return Rechecked(agent.name, f"{state}; {found}", "what is left of its run is fenced")
        if agent.run is None:
            return Rechecked(agent.name, f"{state}; its shim waits", "nothing to do")
        # A look by cron must not be what keeps a hung agent alive.
        self.hearing.reconcile(agent, hello, unwatched=False)
        alive = hello.run is not None and hello.run.run_id == agent.run.run_id
        return Rechecked(
            agent.name, f"{state}; {'alive' if alive else 'its run has ended'}", "compared with the journal"
        )

    def _meant_if_any(self, name: str) -> Agent | None:
        return meant(self.fleet(), name)

    def _meant(self, name: str) -> Agent:
        """The agent that a name stands for: of a seat the generation that holds it."""
        found = meant(self.fleet(), name)
        if found is None:
            raise PhoenixdError(f"there is no agent {name}", "phoenixctl status")
        return found

    def _place(self) -> Path | None:
        """The configuration, also one that was made since the daemon began."""
        return self.directories.configuration or find_configuration(self.environ)

    async def _read(self) -> config.Configuration:
        place, state = self._place(), self.directories.state
        return await anyio.to_thread.run_sync(config.read_configuration, place, state, self.environ)

    async def _load(self) -> config.Configuration:
        place, state = self._place(), self.directories.state
        return await anyio.to_thread.run_sync(config.load_configuration, place, state, self.environ)

    def _compare(self, configuration: config.Configuration) -> config.Plan:
        return config.plan(declared(self.fleet()), configuration.agents)

    async def _restore(self, name: str, before: config.Configuration) -> None:
        """Take back a declaration that turned out wrong; one that was replaced is put back as it was."""
        table = before.settings.agent.get(name)
        if table is None:
            await anyio.to_thread.run_sync(config.remove_agent, self.directories.state, name, before)
            return
        plain = table.model_dump(mode="python", exclude_unset=True)
        await anyio.to_thread.run_sync(config.write_agent, self.directories.state, name, plain, before)


@dataclass(frozen=True, slots=True)
class _Log:
    """Transcripts by the names under which people know their agents."""

    meant: Callable[[str], Agent | None]
    clean: Callable[[str, str], str]
    reader: AgentLog
    learnt: set[str] = field(default_factory=set)

    async def newest(self, names: Sequence[str], most: int, since: float | None, now: float) -> list[LogLine]:
        known = self._known(names)
        lines = await self.reader.newest([agent for _, agent in known.values()], most, since, now)
        return [replace(line, agent=known[line.agent][0]) for line in lines]

    async def added(self, names: Sequence[str], since: float, most: int) -> tuple[list[LogLine], bool]:
        known = self._known(names)
        lines, is_more = await self.reader.added([agent for _, agent in known.values()], since, most)
        return [replace(line, agent=known[line.agent][0]) for line in lines], is_more

    def resume(self, places: Mapping[str, str]) -> None:
        self.reader.resume(places)

    def places(self) -> dict[str, str]:
        return self.reader.places()

    def _known(self, names: Sequence[str]) -> dict[str, tuple[str, Agent]]:
        """By the agents' own names: how people call them, and they themselves."""
        found = {agent.name: (name, agent) for name in names if (agent := self.meant(name)) is not None}
        for name in found.keys() - self.learnt:
            self.clean(name, "")  # What is secret of an agent is learnt here, and not in the reader's thread.
            self.learnt.add(name)
        return found


def _changes(plan: config.Plan) -> tuple[Change, ...]:
    added = [
        Change(spec.name, "add", f"{spec.harness}, {'starts' if spec.autostart else 'does not start'}")
        for spec in plan.added
    ]
    changed = [
        Change(
            change.spec.name,
            "change",
            "; ".join(change.differences),
            restart=any(key.partition(".")[0] in LAUNCH_KEYS for key in change.keys),
        )
        for change in plan.changed
    ]
    removed = [Change(name, "remove", "its run is stopped, its files stay", restart=False) for name in plan.removed]
    return (*added, *changed, *removed, *(Change(name, "keep") for name in plan.unchanged))
