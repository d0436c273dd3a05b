"""The documents of all agents, kept up to date one agent at a time, off the supervisor's path."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import structlog
from anyio import to_thread

from phoenixd.api.service import BriefFace, BriefPage, BriefWriting, LoopCounts
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.briefing import of_the_day
from phoenixd.core.seat.names import seat_name
from phoenixd.directories import Directories
from phoenixd.documents.brief.health import Fault, check_brief, check_state
from phoenixd.documents.ops import Occurrence
from phoenixd.documents.resolved import Resolved, resolution
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.state import OpenLoop, StateDocument, flag_stale, is_unconfirmed, without_secrets
from phoenixd.documents.state_reading import SIZE_LIMIT as STATE_LIMIT
from phoenixd.documents.times import utc_date
from phoenixd.documents.workspace import GitSummary
from phoenixd.errors import PhoenixdError
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.desk import Desk, TornState
from phoenixd.memory.files import Files
from phoenixd.memory.known_secrets import KnownSecrets
from phoenixd.memory.log_files import signature
from phoenixd.memory.shelf import BRIEF_LIMIT
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry

T = TypeVar("T")
GitLook = Callable[[str, float], Awaitable[GitSummary | None]]

THREADS = 8
TORN_PATIENCE, TORN_PAUSE = 1.0, 0.1
FOLD_INTERVAL = 60.0
FOLDED_AT_ONCE = 16
"""Agents whose documents wait while a thread looks at them: a start waits for that."""
FIRST_GIT_LIMIT = 1.0
GIT_LIMIT, GIT_SPACING, GIT_PENANCE = 2.0, 30.0, 600.0
"""Seconds: how long git may take, how often it is asked, and how long a repository that failed is left alone."""
GIT_LATER = 2.0
"""Seconds by which git is asked after a brief that did not wait for it: in a burst the starts come first."""

GIT_EVENTS = frozenset({"agent_exited", "agent_started", "run_adopted"})
ENDS = frozenset({"agent_exited", "agent_vanished", "run_missing", "run_adopted", "rebooted"})
"""Events after which a new session may be told of the one before: what that one wrote is heard first."""
HEARING_LIMIT, HEARING_SPACING = 1.0, 60.0
"""Seconds: how long a brief waits for that, and how often it is done at the ends of turns."""

log = structlog.get_logger("phoenixd.documents")


class Publication:
    """Desks, one for each agent; whoever writes holds the desk's lock."""

    def __init__(
        self, directories: Directories, settings: ConfigurationTable, clock: Clock, files: Files, git: GitLook
    ) -> None:
        self._directories = directories
        self._settings = settings
        self._clock = clock
        self._files = files
        self._git = git
        self._desks: dict[str, Desk] = {}
        self._known: dict[str, KnownSecrets] = {}
        """By agent, or by seat."""
        self._learnt: set[str] = set()
        """Agents whose secrets were asked for since this daemon began."""
        self._of_all: tuple[tuple[tuple[str, ...], ...], tuple[str, ...]] = (), ()
        self._leaving: dict[str, float] = {}
        """Agents that were removed, and since when (supervised)."""
        self._unasked: dict[str, Agent] = {}
        """Agents whose brief was written without a look at their repository."""
        self._wanted = anyio.Event()
        self._threads = anyio.CapacityLimiter(THREADS)
        self.stale_days = settings.loops.stale_days
        self.secrets_of: Callable[[Agent], tuple[str, ...]] = lambda agent: ()
        self.damaged: Callable[[str, str], None] = lambda name, what: None
        self.published: Callable[[Agent], None] = lambda agent: None
        self.session_of: Callable[[Agent], SessionFacts | None] = lambda agent: None
        self.hear: Callable[[Agent], Awaitable[object]] = _hear_nothing
        """Has an agent's transcript heard on; the desk is given what stands of its session."""
        self.is_there: Callable[[str], bool] = lambda name: True
        """Whether there is an agent, or a seat, of this name."""
        self.left: Callable[[str], None] = lambda name: None
        """Told of each agent that is there no more, once nobody writes of it."""
        self.holds: Callable[[Agent], bool] = lambda agent: True
        """Whether an agent writes the papers that it is about: a generation that does not hold its seat writes none."""
        self.front_of: Callable[[Agent], str] = lambda agent: ""
        self.crew_of: Callable[[Agent, float], tuple[str, ...]] = lambda agent, now: ()
        self.codes_of: Callable[[Agent], frozenset[str]] = lambda agent: frozenset()
        """What is told of an agent's marker and of its crew, and which codes no page may hold; see memory.resonance."""
        self._heard_at: dict[str, float] = {}
        self.watch: Callable[[Path], object] = lambda directory: None
        """Has changes in a directory told of, from when it is there on."""
        self.edited: Callable[[str], None] = lambda name: None
        """Told of each change of a state.json by another hand, once it is taken over."""

    def desk(self, name: str) -> Desk:
        """The desk of an agent without a seat, or of a seat, by its name."""
        return self._desk(name, name)

    def _desk(self, key: str, name: str) -> Desk:
        if key not in self._desks:
            directory = self._directories.agent_state(name)
            known = self.known(name)
            desk = self._desks[key] = Desk.of(name, directory, self._files, self._settings, known)
            desk.session_of = lambda agent: self.session_of(agent)
            desk.front_of = lambda agent: self.front_of(agent)
            desk.crew_of = lambda agent, now: self.crew_of(agent, now)
            desk.codes_of = lambda agent: self.codes_of(agent)
        return self._desks[key]

    def known(self, name: str) -> KnownSecrets:
        """What is secret of an agent, and of all others of its seat."""
        return self._known.setdefault(seat_name(name), KnownSecrets())

    def known_of_all(self) -> tuple[str, ...]:
        """What is secret of anybody, the longest first."""
        each = tuple(known.values for known in tuple(self._known.values()))
        if each != self._of_all[0]:
            found = {value for values in each for value in values}
            self._of_all = each, tuple(sorted(found, key=lambda value: (-len(value), value)))
        return self._of_all[1]

    def learn(self, agent: Agent, values: Iterable[str] | None = None) -> None:
        """Have known what is secret of an agent: of the environment that a run gets, or as far as that can be told now.

        Reads credential files where they were not read yet.
        """
        known = self.known(agent.name)
        if values is not None or agent.name not in self._learnt or not known.values:
            known.take(values if values is not None else self.secrets_of(agent))
            self._learnt.add(agent.name)

    def forget_removed(self, names: Iterable[str]) -> None:
        """These agents are there no more: their desks are cleared once nobody can be at them."""
        at = self._clock.now().at
        for name in names:
            self._leaving[name] = at

    def _clear_desks(self) -> None:
        before = self._clock.now().at - FOLD_INTERVAL
        for name in [name for name, at in self._leaving.items() if at <= before]:
            if self.is_there(name):
                del self._leaving[name]
                continue
            seat = seat_name(name)
            is_over = not self.is_there(seat)
            keys = dict.fromkeys((name, *((seat, f"{seat}-g1") if is_over else ())))
            left = [key for key in keys if key in self._desks and not self.is_there(key)]
            if any(self._desks[key].lock.statistics().locked for key in left):
                # Somebody is at it: desk and secrets go together, next time.
                continue
            del self._leaving[name]
            self.left(name)
            self._learnt.discard(name)
            self._heard_at.pop(name, None)
            if is_over:
                self._known.pop(seat, None)
            for key in left:
                del self._desks[key]

    def desk_of(self, agent: Agent) -> Desk:
        """The desk at which an agent's files are written: of a seat's holder that of the seat, with its own run files.

        A generation that does not hold its seat has one of its own, for the files of its runs.
        """
        seat, generation = agent.spec.seat, agent.spec.generation
        if generation <= 1 and self.holds(agent):
            return self.desk(agent.name)
        if not self.holds(agent):
            return self.desk(agent.name) if generation > 1 else self._desk(f"{seat}-g1", agent.name)
        desk = self.desk(seat)
        desk.shelf.own = self._directories.agent_state(agent.name)
        return desk

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        """Bring an agent's documents up to date with what happened to it; raises OSError and PhoenixdError."""
        occurrences = [
            Occurrence(entry.wall, entry.event, entry.incarnation, entry.detail, entry.state, entry.reason)
            for entry in entries
        ]
        if not self.holds(agent):
            await self._publish_run(agent)
            return
        desk = self.desk_of(agent)
        await self._hear_on(agent, occurrences)
        if any(_may_have_changed_files(seen) for seen in occurrences):
            if desk.told.owes(agent):
                # Its program boots, and waits for the brief: what git says follows.
                self._unasked[agent.name] = agent
                self._wanted.set()
            else:
                await self._refresh_git(desk, agent)
        async with desk.lock:
            # Before the first write, so that no edit falls between that and the watch.
            await to_thread.run_sync(desk.aside.ensure_private_dir, desk.shelf.directory, limiter=self._threads)
            self.watch(desk.shelf.directory)
            await self.write_safely(desk, lambda: self._write(desk, agent, occurrences))
        self.published(agent)

    def require_papers(self, agent: Agent) -> None:
        """Raise PhoenixdError where an agent has no papers to write: a generation that does not hold its seat."""
        if not self.holds(agent):
            raise PhoenixdError(f"{agent.name} does not hold its seat: the papers are the holder's")

    async def _publish_run(self, agent: Agent) -> None:
        """Write what a successor's run waits for, and which session it is in. What it is told are the seat's papers."""
        if agent.run is None or agent.removing:
            return
        own, desk = self.desk_of(agent), self.desk(agent.spec.seat)

        def write() -> None:
            if own.told.owes(agent) and desk.agent is not None:
                now = self._clock.now().wall
                own.tell_of(desk, agent, desk.consult(now), now)
            own.shelf.write_session(agent)

        await to_thread.run_sync(own.shelf.open, limiter=self._threads)
        async with desk.lock:
            await self.write_safely(desk, write)

    async def _hear_on(self, agent: Agent, occurrences: Sequence[Occurrence]) -> None:
        """Have its session heard on where the brief may soon be told to another one, or the last time is long ago."""
        at = self._clock.now().at
        turned = any(_is_turns_end(seen) for seen in occurrences)
        is_due = not 0.0 <= at - self._heard_at.get(agent.name, -math.inf) < HEARING_SPACING
        if not any(seen.event in ENDS for seen in occurrences) and not (turned and is_due):
            return
        self._heard_at[agent.name] = at
        desk = self.desk_of(agent)
        await to_thread.run_sync(desk.aside.ensure_private_dir, desk.shelf.directory, limiter=self._threads)
        with bulkhead(agent.name, "what its session wrote"), anyio.move_on_after(HEARING_LIMIT):
            await self.hear(agent)

    async def look_for_edit(self, name: str) -> None:
        """Take over what another hand did to an agent's state.json, if anything: our own writes are none."""
        desk = self._desks.get(name)
        if desk is None or desk.agent is None:
            return
        with bulkhead(name, "an edit of its state.json"):
            async with desk.lock:
                touched = await to_thread.run_sync(desk.shelf.was_touched, limiter=self._threads)
            # What reads the file for another reason takes the edit over, and tells nobody.
            if touched or desk.shelf.is_edited:
                log.info("state_edited", agent=name)
                await self.publish(desk.agent, ())
                desk.shelf.is_edited = False
                self.edited(name)

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        """Write what was seen of a run that is being ended; returns its lines, and the file. Raises OSError."""
        desk = self.desk_of(agent)

        def write() -> tuple[int, str]:
            self.learn(agent)
            return desk.keep_incident(agent, action.incident, action.readings, screen)

        return await to_thread.run_sync(write, limiter=self._threads)

    async def write_safely(self, desk: Desk, write: Callable[[], T]) -> T:
        """Run `write` in a thread; where it meets a torn state.json, wait for it to be whole, then rebuild it."""
        waited = 0.0
        while True:
            try:
                return await to_thread.run_sync(write, limiter=self._threads)
            except TornState as torn:
                if waited >= TORN_PATIENCE:
                    await to_thread.run_sync(desk.shelf.repair, str(torn), limiter=self._threads)
            finally:
                for note in desk.take_notes():
                    log.warning("document_mended", agent=desk.shelf.name, note=desk.clean(note))
                for alarm in desk.take_alarms():
                    self.damaged(desk.shelf.name, alarm)
            # No event tells that a stranger has finished writing.
            await anyio.sleep(TORN_PAUSE)
            waited += TORN_PAUSE

    async def newest_git(self, desk: Desk, agent: Agent) -> None:
        """Ask git for a brief's loops, unless it was asked a moment ago; a start waits a second for it, and no more."""
        if self._wants_git(desk):
            self._take_git(desk, await self._git(agent.spec.cwd, FIRST_GIT_LIMIT))

    async def first_git(self, desk: Desk, agent: Agent) -> None:
        """Take the git summary for a brief that has none yet; a start waits a second for it, and no more."""
        if desk.git is None and self._settings.brief.git and desk.git_due == 0.0:
            self._take_git(desk, await self._git(agent.spec.cwd, FIRST_GIT_LIMIT))

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved:
        """Close an open loop of an agent (P26): `already` when it was closed before, and then nothing is written.

        Raises UnsafeFile and OSError where the log cannot be written, and then nothing was closed.
        """
        desk = self.desk_of(agent)

        def write() -> Resolved:
            now = self._clock.now().wall
            self.learn(agent)
            desk.consult(now)
            return desk.shelf.resolve(resolution(loop_id, desk.clean(reason), now, agent.name), utc_date(now))

        async with desk.lock:
            done = await self.write_safely(desk, write)
        if done in ("resolved", "already"):
            # It is on record in the log for good, and state.json follows as soon as it can be written.
            with bulkhead(agent.name, "what a resolution changes"):
                await self.publish(agent, ())
        return done

    async def open_loops(self, name: str) -> tuple[OpenLoop, ...]:
        """The open loops of an agent as they are now, an operator's edit of a moment ago included."""
        desk = self.desk(name)

        def read() -> tuple[OpenLoop, ...]:
            now = self._clock.now().wall
            # What an agent has just written there was not cleaned yet.
            state = without_secrets(desk.consult(now), desk.clean)
            return flag_stale(state, utc_date(now), self.stale_days).open_loops

        async with desk.lock:
            return await self.write_safely(desk, read)

    async def brief(self, name: str) -> BriefPage | None:
        """The brief as it stands; None where there is none that can be read."""
        return await to_thread.run_sync(self._brief, self.desk(name), limiter=self._threads)

    async def check_brief(self, name: str) -> tuple[Fault, ...]:
        """What is wrong with state.json and brief.md, as they stand (P41, P42, P82)."""
        desk, limit = self.desk(name), self._settings.alerts.brief_max_age

        def check() -> tuple[Fault, ...]:
            now, page = self._clock.now().wall, self._brief(desk)
            faults = check_state(desk.shelf.content("state.json", STATE_LIMIT), name, now)
            text, written = (page.text.encode(), page.written) if page is not None else (None, None)
            return (*faults, *check_brief(text, name, written, now, limit))

        return await to_thread.run_sync(check, limiter=self._threads)

    async def generate_brief(self, agent: Agent) -> BriefPage:
        """Write the brief anew, also where nothing changed, so that its age tells when it was last found true."""
        desk = self.desk_of(agent)
        async with desk.lock:
            await self._refresh_git(desk, agent)
            await self.write_safely(desk, lambda: self._write(desk, agent, (), anew=True))
        page = await self.brief(agent.name)
        if page is None:
            raise PhoenixdError(f"the brief of {agent.name} was written and cannot be read", "phoenixctl doctor")
        return page

    def _write(self, desk: Desk, agent: Agent, occurrences: Sequence[Occurrence], *, anew: bool = False) -> None:
        if not self.holds(agent):
            # Fenced while it waited for the desk: the papers are its successor's.
            return
        now = self._clock.now().wall
        self.learn(agent)
        state = desk.settle(agent, now, occurrences)
        desk.shelf.write_session(agent)
        desk.write_brief(agent, state, now, anew=anew)

    def _brief(self, desk: Desk) -> BriefPage | None:
        content, path = desk.shelf.content("brief.md", BRIEF_LIMIT), desk.shelf.directory / "brief.md"
        written = signature(path)
        if content is None or not written:
            return None
        record = desk.brief_record()
        told, today = record.narrative, of_the_day(record.ledger, self._clock.now().wall).tokens
        writing = BriefWriting(told.writer, told.note, told.tokens, today) if told is not None else None
        return BriefPage(str(path), content.decode("utf-8", "replace"), written[0] / 1e9, writing)

    def loops(self, name: str) -> LoopCounts:
        """How many loops are open and how many of them stale, and of the brief, from what was read or written last."""
        today = utc_date(self._clock.now().wall)
        state: StateDocument | None = None
        with bulkhead(name, "a look at its loops"):
            state = self.desk(name).shelf.glance(today)
        written, writer = self.desk(name).brief_face
        age = max(0.0, self._clock.now().wall - written)
        brief = BriefFace(written, age, writer) if written else None
        if state is None:
            return LoopCounts(brief=brief)
        loops = flag_stale(state, today, self.stale_days).open_loops
        unconfirmed = sum(is_unconfirmed(loop) for loop in loops)
        return LoopCounts(len(loops), sum(loop.stale for loop in loops), brief, unconfirmed)

    async def run(self) -> None:
        """Bring up to date, for ever, what changes without an event of its own."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_signs)
            tasks.start_soon(self._follow_repositories)

    async def _follow_repositories(self) -> None:
        """Ask git for the briefs that did not wait for it, each directory once however many agents work there."""
        while True:
            await self._wanted.wait()
            await self._clock.sleep_until(self._clock.now().at + GIT_LATER)
            self._wanted = anyio.Event()
            unasked, self._unasked = self._unasked, {}
            by_directory: dict[str, list[Agent]] = {}
            for agent in unasked.values():
                if self._wants_git(self.desk_of(agent)):
                    by_directory.setdefault(agent.spec.cwd, []).append(agent)
            for directory, agents in by_directory.items():
                with bulkhead(agents[0].name, "a look at its repository"):
                    summary = await self._git(directory, GIT_LIMIT)
                    for agent in agents:
                        await self._follow_repository(agent, summary)

    async def _follow_repository(self, agent: Agent, summary: GitSummary | None) -> None:
        desk = self.desk_of(agent)
        before = desk.git
        self._take_git(desk, summary)
        if desk.git != before and desk.agent is not None:
            with bulkhead(agent.name, "what its repository changes"):
                await self.publish(desk.agent, ())

    async def _follow_signs(self) -> None:
        """Fold heartbeats into last_active, and flag loops as they become stale (P29, X6)."""
        while True:
            await self._clock.sleep_until(self._clock.now().at + FOLD_INTERVAL)
            self._clear_desks()
            desks = tuple(self._desks.values())
            for first in range(0, len(desks), FOLDED_AT_ONCE):
                for desk in await self._fold(desks[first : first + FOLDED_AT_ONCE]):
                    with bulkhead(desk.shelf.name, "what became news without any event"):
                        if desk.agent is not None:
                            await self.publish(desk.agent, ())

    async def _fold(self, desks: Sequence[Desk]) -> list[Desk]:
        """Fold in one thread; those whose documents are due. Who writes at a desk just now folds as well."""
        held: list[Desk] = []
        try:
            for desk in desks:
                with contextlib.suppress(anyio.WouldBlock):
                    desk.lock.acquire_nowait()
                    held.append(desk)
            return await to_thread.run_sync(_due, held, self._clock.now().wall, limiter=self._threads)
        finally:
            for desk in held:
                desk.lock.release()

    async def _refresh_git(self, desk: Desk, agent: Agent) -> None:
        if self._wants_git(desk):
            self._take_git(desk, await self._git(agent.spec.cwd, GIT_LIMIT))

    def _wants_git(self, desk: Desk) -> bool:
        return self._settings.brief.git and self._clock.now().wall >= desk.git_due

    def _take_git(self, desk: Desk, summary: GitSummary | None) -> None:
        failed = summary is not None and summary.problem is not None
        if not failed or desk.git is None:
            desk.git = summary
        desk.git_due = self._clock.now().wall + (GIT_PENANCE if failed else GIT_SPACING)


def _due(desks: Sequence[Desk], now: float) -> list[Desk]:
    due = []
    for desk in desks:
        with bulkhead(desk.shelf.name, "a look for news"):
            if desk.fold(now):
                due.append(desk)
    return due


def _may_have_changed_files(seen: Occurrence) -> bool:
    return seen.event in GIT_EVENTS or _is_turns_end(seen)


def _is_turns_end(seen: Occurrence) -> bool:
    return seen.event == "hook_seen" and seen.detail.get("kind") == "stop"


async def _hear_nothing(agent: Agent) -> None:
    """For rooms without transcripts."""
