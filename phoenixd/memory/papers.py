"""Implements ports.Papers: the documents of all agents, what watches over them, and what is asked of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import anyio
from anyio import to_thread

from phoenixd.api.values import BriefPage, LoopCounts, LoopsRead
from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.daemon import BriefTable
from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.briefing import Calendar
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import StateEdited
from phoenixd.core.rules import WriterKind
from phoenixd.core.seat.names import seat_name
from phoenixd.directories import Directories
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.heartbeat import heartbeat_record
from phoenixd.documents.redact import redact
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import OpenLoop
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.memory.breakers import BreakerFiles
from phoenixd.memory.brief.composition import first_words
from phoenixd.memory.brief.heard_out import heard_out
from phoenixd.memory.brief.ledgers import LedgerLook, no_ledger
from phoenixd.memory.brief.run import ConversationLook
from phoenixd.memory.brief.schedule import Briefing
from phoenixd.memory.changes import follow_edits
from phoenixd.memory.desk import TornState
from phoenixd.memory.files import Files
from phoenixd.memory.ops_log import last_spoken
from phoenixd.memory.publication import Publication
from phoenixd.memory.repositories import GitLook
from phoenixd.memory.resonance.keeping import MarkerKeeping
from phoenixd.memory.resonance.store import MarkerPapers
from phoenixd.memory.stale_loops import StaleLoops
from phoenixd.memory.watch import DocumentWatch
from phoenixd.ports import Clock
from phoenixd.ports.evidence import Changes
from phoenixd.ports.journal import Entry
from phoenixd.ports.papers import BriefWriter

ALERTS = frozenset({"alert_raised", "alert_over"})
"""The rows of an agent's alerts, which stand behind that of the decision."""


async def _no_conversation(agent: Agent, budget: int) -> Conversation | None:
    return None


async def _no_base(env_from: str) -> object:
    return None


class Papers:
    """What an agent and its operator read of it: state.json, brief.md, the logs, the breaker's file.

    agents: those that are watched over. tell: takes what somebody did to a document, and what the watch found, to be
    decided upon. secrets_of: the values that no document of an agent may hold, as far as they are known. base: has the
    environment that an agent starts from be known. session_of: the newest facts of an agent's session.
    """

    def __init__(
        self,
        *,
        directories: Directories,
        settings: ConfigurationTable,
        clock: Clock,
        files: Files,
        git: GitLook,
        secrets_of: Callable[[Agent], tuple[str, ...]] = lambda agent: (),
        base: Callable[[str], Awaitable[object]] = _no_base,
        session_of: Callable[[Agent], SessionFacts | None] = lambda agent: None,
        agents: Callable[[], Iterable[Agent]] = tuple,
        tell: Callable[[Event], None] = lambda event: None,
        conversation: ConversationLook = _no_conversation,
        writers: Mapping[WriterKind, BriefWriter] | None = None,
        changes: Changes | None = None,
        ledger: LedgerLook = no_ledger,
        holds: Callable[[Agent], bool] = lambda agent: True,
    ) -> None:
        self._directories = directories
        self._clock = clock
        self._agents = agents
        self._tell = tell
        self._secrets_of = secrets_of
        self._base = base
        self._marks = settings.redaction.marks
        self._asked: set[str] = set()
        """Names under which texts were cleaned, once the secrets of all whom they mean are known."""
        self.publication = Publication(directories, settings, clock, files, git)
        self.breakers = BreakerFiles(directories, files)
        self.briefing = Briefing(
            self.publication, clock, lambda: _calendar(settings.brief), conversation, writers, tell, ledger
        )
        self.publication.desks.is_there, self.publication.desks.left = self._is_there, self._leave
        self.publication.hear = self.briefing.hear_on
        self.publication.desks.holds = self._holds = holds
        self._watch = DocumentWatch(directories, files, clock, settings.alerts.brief_max_age, self._writing, tell)
        self._stale = StaleLoops(self._stale_ids, self.publication.stale_days, tell)
        markers, damaged = MarkerPapers.below(directories.state, files), self._watch.damaged
        self.resonance = MarkerKeeping(markers, self.publication, clock, agents, damaged, conversation)
        self._changes = changes
        if changes is not None:
            self.publication.watch = changes.watch
        self.publication.desks.secrets_of, self.publication.desks.session_of = secrets_of, session_of
        self.publication.edited = lambda name: tell(StateEdited(name))
        self.publication.damaged, self.publication.published = self._watch.damaged, self._published

    async def run(self) -> None:
        """Keep documents up to date, and watch over them, for ever."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._learn_secrets)
            tasks.start_soon(self.publication.run)
            tasks.start_soon(self._watch.run)
            if self._changes is not None:
                tasks.start_soon(follow_edits, self._changes, self.publication.look_for_edit)

    async def heard(self, agent: Agent) -> SessionLedger | None:
        """What the agent's session has done, as far as its transcript stands now."""
        return await self.briefing.hear_on(agent, keep=self._holds(agent))

    async def heard_out(self, agent: Agent) -> SessionLedger | None:
        """What the agent's session has done, to the end of its transcript: its last answer is in it."""
        holds, desk = self._holds(agent), self.publication.desks.desk_of(agent)

        async def hear() -> SessionLedger | None:
            return await self.briefing.hear_on(agent, keep=holds)

        def spoken() -> tuple[float, str] | None:
            # The desk is the seat's: the words may be another generation's.
            words, session = desk.shelf.ops.spoken, agent.session
            return words if words is not None and session is not None and words[0] >= session.created_wall else None

        return await heard_out(hear, spoken, self._clock, lives=agent.run is not None)

    def heard_before(self, agent: Agent) -> tuple[str, float] | None:
        """What hooks told an agent's last words to be, and when (wall), as its ops.jsonl keeps it; blocking."""
        directory = self._directories.agent_state(agent.spec.role if self._holds(agent) else agent.name)
        found, session = last_spoken(directory), agent.session
        if found is None or session is None or found[0] < session.created_wall:
            return None
        return found[1], found[0]

    def clean(self, name: str | None, text: str) -> str:
        """A text without its secrets, also those of the variables of the agent, or of all generations of a seat, of
        this name, as far as they are known."""
        if name is None:
            return redact(text, marks=self._marks)
        if name not in self._asked:
            self._learn_of(name)
        return redact(text, self.publication.desks.known(name).values, self._marks)

    def known_secrets(self, name: str) -> tuple[str, ...]:
        """What `clean` takes out beside what looks like a secret; the same object until one more is known."""
        return self.publication.desks.known(name).values

    def clean_of_all(self, name: str | None, text: str) -> str:
        """A text without the secrets of any agent: for what others are to read, which quotes whom it will."""
        agents = tuple(self._agents())
        for agent in agents:
            self.publication.desks.learn(agent)
        return redact(text, self.publication.desks.known_of_all(), self._marks)

    def forget_removed(self, names: Iterable[str]) -> None:
        """These agents were removed: what is kept of them in memory alone goes."""
        gone = tuple(names)
        self._asked.difference_update(gone, map(seat_name, gone))
        self.publication.desks.forget_removed(gone)

    def _leave(self, name: str) -> None:
        """An agent was removed, and nobody is at its desk any more."""
        self.briefing.leave(name)
        self.breakers.leave(name)
        self._stale.leave(name)
        self.resonance.leave(name)

    def _learn_of(self, name: str) -> None:
        seat = seat_name(name)
        found = [one for one in self._agents() if one.name == name or (one.spec.seat or one.name) == seat]
        for agent in found:
            self.publication.desks.learn(agent)
        if found:
            self._asked.add(name)

    async def _learn_secrets(self) -> None:
        """Ask the login shell for those agents that live since before this daemon and have its variables."""
        for agent in tuple(self._agents()):
            if agent.spec.env_from == "login":
                await self._base("login")
                self.publication.desks.learn(agent, self._secrets_of(agent))

    async def opening_words(self, agent: Agent) -> str:
        run, desk = agent.run, self.publication.desks.desk_of(agent)
        if run is None:
            raise LaunchFailed("its run is over")
        async with desk.lock:
            try:
                state = await to_thread.run_sync(desk.foresee, agent, self._clock.now().wall)
            except (TornState, OSError, UnsafeFile) as error:
                raise LaunchFailed(f"state.json cannot be read: {error}") from error
        words = first_words(agent, run.mode, run.prompt, state)
        if words is None:
            raise LaunchFailed("there is nothing to tell it")
        return words

    def _is_there(self, name: str) -> bool:
        return any(name in (agent.name, agent.spec.seat) for agent in self._agents())

    def _published(self, agent: Agent) -> None:
        self._watch.published(agent)
        self._stale.published(agent)
        self.briefing.replan(agent)

    def _stale_ids(self, agent: Agent) -> tuple[str, ...]:
        return tuple(self.clean(agent.name, one) for one in self.publication.stale_ids(agent))

    def _writing(self) -> Iterable[Agent]:
        """The agents that have papers: of a seat the holder alone."""
        return filter(self._holds, self._agents())

    def inherit(self, rows: Sequence[Entry]) -> None:
        """Take over the newest rows of an earlier daemon's: what it had decided and not yet written is written."""
        by_agent: dict[str, list[Entry]] = {}
        for row in rows:
            # What was decided, and hence changed an agent, with its alerts: of all else no document tells.
            if row.agent is not None and (row.state is not None or row.event in ALERTS):
                by_agent.setdefault(row.agent, []).append(row)
        for agent in self._agents():
            if agent.name in by_agent:
                self.publication.inherit(agent, by_agent[agent.name])

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await self.resonance.await_codes(agent)
        await self._publish(agent, entries)
        await self.resonance.publish(agent, entries)

    async def _publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        if not self._holds(agent):
            self.briefing.leave(agent.name)
            await self.publication.publish(agent, entries)
            return
        if agent.run is not None and self.publication.desks.desk_of(agent).told.owes(agent):
            await self.briefing.settle(agent)
        await self.publication.publish(agent, entries)
        self.briefing.hear(agent, entries)
        found = await self.breakers.publish(agent)
        if found is not None:
            self._tell(found)

    async def look_at_breaker(self, agent: Agent) -> Event | None:
        """What somebody did to a loop's breaker file, None for nothing."""
        return await self.breakers.look(agent)

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        return await self.publication.record_incident(agent, action, screen)

    def loops(self, agent: str) -> LoopCounts:
        found, due = self.publication.loops(agent), self.briefing.next_of(agent)
        if found.brief is None or due is None:
            return found
        return replace(found, brief=replace(found.brief, next=due.at))

    def loops_read(self, agent: str, holder: str) -> LoopsRead:
        """As of when these are, and when a turn is read that ended since. holder: the agent, or who holds its seat."""
        return LoopsRead(self.publication.read_at(agent), self.briefing.turn_due(holder))

    def stale_loops(self, agents: Iterable[str]) -> Mapping[str, int]:
        return self.publication.stale_loops(agents)

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved:
        """Close an open loop, in the log and in state.json."""
        return await self.publication.resolve(agent, loop_id, reason)

    @property
    def stale_days(self) -> int:
        """The age beyond which an open loop is stale."""
        return self.publication.stale_days

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]:
        self.clean(agent, "")  # What is secret of the agent is learnt here.
        return await self.publication.open_loops(agent)

    async def brief(self, agent: str) -> BriefPage | None:
        """The page as it stands, which the agent may have written to, without secrets."""
        page = await self.publication.brief(agent)
        return replace(page, text=self.clean(agent, page.text)) if page is not None else None

    async def check_brief(self, agent: str) -> tuple[Fault, ...]:
        found = await self.publication.check_brief(agent)
        return tuple(
            replace(one, field=self.clean(agent, one.field), problem=self.clean(agent, one.problem)) for one in found
        )

    async def generate_brief(self, agent: Agent) -> BriefPage:
        """Write the brief anew now, also where nothing changed."""
        await self.briefing.generate(agent)
        return await self.publication.generate_brief(agent)

    def heartbeat(self, agent: str) -> Mapping[str, object] | None:
        """heartbeat.json as it stands; blocking."""
        content = self.publication.desks.desk(agent).shelf.heartbeat()
        return heartbeat_record(content) if content is not None else None


def _calendar(brief: BriefTable) -> Calendar:
    return Calendar(brief.hour * 3600, brief.stagger, time.localtime().tm_gmtoff)
