"""The service itself: each question of an operator, answered by the room that knows."""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio

from phoenixd.api.finding import Finding
from phoenixd.api.rights import Seated
from phoenixd.api.service import Attendant, LogReader
from phoenixd.api.values import (
    BriefPage,
    Dismiss,
    Facts,
    LoopCounts,
    LoopsRead,
    MarkerFace,
    MemoryFace,
    Planned,
    RebuiltMarker,
    Rechecked,
)
from phoenixd.bounded_reads import BoundedReads
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    AnswerRequested,
    MuteRequested,
    RestartRequested,
    StartRequested,
    StopRequested,
    UnmuteRequested,
)
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment
from phoenixd.core.seat.finding import meant, why_fenced, written_by
from phoenixd.core.seat.names import seat_name
from phoenixd.core.seat.state import project_of
from phoenixd.core.sight import Sight
from phoenixd.core.spec import Kind
from phoenixd.directories import Directories
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.project.memory import SharedFile
from phoenixd.documents.project.package import NO_DOUBTS, Doubts
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.redact import redact_json
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.screen import coloured
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.errors import PhoenixdError
from phoenixd.harness import HARNESSES
from phoenixd.planting import Marker
from phoenixd.ports import Clock
from phoenixd.ports.journal import Journal, KeptLife, StoredEntry
from phoenixd.ports.processes import Cleaner, Leftovers
from phoenixd.ports.shims import ShimLinks
from phoenixd.ports.terminal import Terminal
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.leftovers import cleaned_up
from phoenixd.runtime.metering import Metering
from phoenixd.runtime.onlookers import Onlookers
from phoenixd.runtime.sights import Sights
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.service.declarations import Declarations
from phoenixd.service.named_log import NamedLog
from phoenixd.service.recheck import recheck
from phoenixd.service.sources import Handover, Knowledge, SharedMemory, Starts, Transcripts

T = TypeVar("T")
MOST_LIVES = 500
"""Runs of a name, the newest, among which is looked for the sessions of a stretch of the log."""
PATIENCE = 30.0
"""Seconds that a reading of a workspace is waited for; a large project takes some on a slow disk."""
FIRST = StopRequested | RestartRequested | AgentWithdrawn | AnswerRequested | MuteRequested | UnmuteRequested
"""Orders that are decided before the events that wait."""


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
    metering: Metering
    knowledge: Knowledge
    starts: Starts
    directories: Directories
    describe: Callable[[], Facts]
    examine: Callable[[Fleet, str], Any]
    stop: Callable[[Dismiss], None]
    declarations: Declarations
    transcripts: Transcripts
    above_agents: Callable[[], Mapping[int, str]]
    handover: Handover
    shared: SharedMemory
    list_projects: Callable[[str], tuple[str, ...]]
    read_project: Callable[[str, str], Tree]
    """A workspace's projects by name, and one of them as its files are."""
    sights: Sights
    onlookers: Onlookers
    agents_cgroup: str | None = None
    agents_dir: str = field(init=False)
    """As a string, because each connection asks for it."""
    _workspaces: BoundedReads = field(default_factory=BoundedReads)
    """A question about a workspace whose disk hangs takes no thread that others of the daemon need."""
    _attendants: list[Attendant] = field(default_factory=list)
    _newest: int = 0
    _rang: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.agents_dir = os.fspath(self.directories.state / "agents")

    def fleet(self) -> Fleet:
        return self.supervisor.fleet

    def now(self) -> Moment:
        return self.clock.now()

    def facts(self) -> Facts:
        return self.describe()

    def loops(self, agent: str) -> LoopCounts:
        return self.knowledge.loops(seat_name(agent))

    def loops_read(self, agent: str) -> LoopsRead:
        seat = self.fleet().seats.get(agent)
        return self.knowledge.loops_read(agent, seat.holder if seat is not None else agent)

    def stale_loops(self, agents: Iterable[str]) -> Mapping[str, int]:
        return self.knowledge.stale_loops(agents)

    def sight(self, agent: Agent) -> Sight:
        return self.sights.of(agent)

    def attend(self, attendant: Attendant) -> None:
        self._attendants.append(attendant)
        self.sights.changed = self._seen

    def turned(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """A turn is over: tell those who attend, and those who wait for the fleet or for journal rows."""
        for attendant in self._attendants:
            attendant.turned(entries, changed)
        self.ring(max((stored.seq for stored in entries), default=0))

    def _seen(self, agent: str) -> None:
        for attendant in self._attendants:
            attendant.seen(agent)

    async def meter(self, agent: str) -> None:
        await self.metering.look_now(agent)

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
        return await self._workspaces.of(workspace, partial(self.list_projects, workspace), PATIENCE)

    async def project(self, workspace: str, project: str) -> Tree:
        return await self._workspaces.of(workspace, partial(self.read_project, workspace, project), PATIENCE)

    async def shared_memory(self, workspace: str, tree: Tree, agent: str | None) -> MemoryFace:
        def found() -> MemoryFace:
            return MemoryFace(self.shared.listed(), self.shared.hashes(workspace, tree, agent))

        return await self._workspaces.of(workspace, found, PATIENCE)

    async def share_memory(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]:
        share = partial(self.shared.share, workspace, tree, path, agent)
        return await self._workspaces.of(workspace, share, PATIENCE)

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

    async def package_doubts(self, seat: str, quoted: str) -> Doubts:
        found = self.fleet().seats.get(seat)
        return await self.handover.doubts(found, quoted) if found is not None else NO_DOUBTS

    async def order(self, event: Event) -> Refusal | None:
        if isinstance(event, StartRequested | RestartRequested):
            await self.look_at_breaker(event.agent)
        return await (self.supervisor.order(event) if isinstance(event, FIRST) else self.supervisor.ask(event))

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
        """A turn was saved: wake those who wait for the fleet or for journal rows."""
        self._newest = max(self._newest, newest)
        for attendant in self._attendants:
            attendant.saved(self._newest)
        self._rang.set()
        self._rang = anyio.Event()

    async def add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[str, ...]:
        return await self.declarations.add(name, table)

    async def remove(self, name: str, by: str = "operator", act: str = "") -> Refusal | None:
        return await self.declarations.remove(name, by, act)

    async def bring_back(self, name: str, by: str, act: str) -> Refusal | None:
        return await self.declarations.bring_back(name, by, act)

    async def plan(self) -> Planned:
        return await self.declarations.plan()

    async def apply(self) -> Planned:
        return await self.declarations.apply()

    async def doctor(self, shell_path: str) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = await self.examine(self.fleet(), shell_path)
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
        reader = self.transcripts.log(self.knowledge.clean)
        return NamedLog(self._meant_if_any, self.knowledge.clean, reader, self._lives)

    async def _lives(self, name: str) -> list[KeptLife]:
        """The newest runs of an agent, or of all generations of a seat."""
        names = written_by(self.fleet(), name) or name
        return await self.journal.lives((names,) if isinstance(names, str) else names, MOST_LIVES)

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
            found.append(await recheck(agent, self.shims, self.hearing))
        return tuple(found)

    def shut_down(self, dismiss: Dismiss = "none") -> None:
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
        return Seated(known.spec.seat, fenced, leads, known.spec.cwd)

    def shim_pids(self) -> Mapping[int, str]:
        return self.above_agents()

    def _meant_if_any(self, name: str) -> Agent | None:
        return meant(self.fleet(), name)

    def _meant(self, name: str) -> Agent:
        """The agent that a name stands for: of a seat the generation that holds it."""
        found = meant(self.fleet(), name)
        if found is None:
            raise PhoenixdError(f"there is no agent {name}", "phoenixctl status")
        return found
