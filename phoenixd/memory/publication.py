"""The documents of all agents, kept up to date one agent at a time, off the supervisor's path."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import structlog

from phoenixd.api.values import BriefFace, BriefPage, BriefWriting, LoopCounts
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent import Agent
from phoenixd.core.briefing import of_the_day
from phoenixd.directories import Directories
from phoenixd.documents.brief.health import Fault, check_brief, check_state
from phoenixd.documents.ops import Occurrence
from phoenixd.documents.resolved import Resolved, resolution
from phoenixd.documents.state import OpenLoop, flag_stale, is_unconfirmed, without_secrets
from phoenixd.documents.state_reading import SIZE_LIMIT as STATE_LIMIT
from phoenixd.documents.times import utc_date
from phoenixd.errors import PhoenixdError
from phoenixd.memory import incident_files
from phoenixd.memory.bulkhead import bulkhead
from phoenixd.memory.desk import Desk, TornState
from phoenixd.memory.desks import Desks
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import signature
from phoenixd.memory.occurrences import occurrences_of
from phoenixd.memory.repositories import GitLook, Repositories
from phoenixd.memory.shelf import BRIEF_LIMIT
from phoenixd.memory.threads import Threads
from phoenixd.ports import Clock
from phoenixd.ports.journal import Entry

T = TypeVar("T")

THREADS = 8
TORN_PATIENCE, TORN_PAUSE = 1.0, 0.1
FOLD_INTERVAL = 60.0
FOLDED_AT_ONCE = 16
"""Agents whose documents wait while a thread looks at them: a start waits for that."""
GIT_EVENTS = frozenset({"agent_exited", "agent_started", "run_adopted"})
ENDS = frozenset({"agent_exited", "agent_vanished", "run_missing", "run_adopted", "rebooted"})
"""Events after which a new session may be told of the one before: what that one wrote is heard first."""
HEARING_LIMIT, HEARING_SPACING = 1.0, 60.0
"""Seconds: how long a brief waits for that, and how often it is done at the ends of turns."""

log = structlog.get_logger("phoenixd.documents")


class Publication:
    """Writes at the desks, and holds a desk's lock meanwhile."""

    def __init__(
        self, directories: Directories, settings: ConfigurationTable, clock: Clock, files: Files, git: GitLook
    ) -> None:
        self._settings = settings
        self._clock = clock
        self.desks = Desks(directories, settings, clock, files)
        self.repositories = Repositories(settings, clock, git)
        self.threads = Threads("documents", THREADS)
        self.stale_days = settings.loops.stale_days
        self.damaged: Callable[[str, str], None] = lambda name, what: None
        self.published: Callable[[Agent], None] = lambda agent: None
        self.hear: Callable[[Agent], Awaitable[object]] = _hear_nothing
        """Has an agent's transcript heard on; the desk is given what stands of its session."""
        self._heard_at: dict[str, float] = {}
        self.watch: Callable[[Path], object] = lambda directory: None
        """Has changes in a directory told of, from when it is there on."""
        self.edited: Callable[[str], None] = lambda name: None
        """Told of each change of a state.json by another hand, once it is taken over."""

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        """Bring an agent's documents up to date with what happened to it; raises OSError and PhoenixdError."""
        occurrences = [one for entry in entries for one in occurrences_of(entry)]
        if not self.desks.holds(agent):
            await self._publish_run(agent)
            return
        desk = self.desks.desk_of(agent)
        await self._hear_on(agent, occurrences)
        if any(_may_have_changed_files(seen) for seen in occurrences):
            if desk.told.owes(agent):
                # Its program boots, and waits for the brief: what git says follows.
                self.repositories.ask_later(agent)
            else:
                await self.repositories.refresh(desk, agent)
        async with desk.lock:
            # Before the first write, so that no edit falls between that and the watch.
            await self._make_directory(desk)
            self.watch(desk.shelf.directory)
            await self.write_safely(desk, lambda: self._write(desk, agent, occurrences))
        self.published(agent)

    def inherit(self, agent: Agent, entries: Iterable[Entry]) -> None:
        """Have that written which an earlier daemon decided last, where it was killed before it wrote it."""
        if self.desks.holds(agent):
            self.desks.desk_of(agent).left = tuple(one for entry in entries for one in occurrences_of(entry))

    async def _make_directory(self, desk: Desk) -> None:
        """Have the directory of a desk be there; those who write into it see to its rights."""
        # The kernel is asked for its name in this thread anyway, to watch it.
        if not os.path.isdir(desk.shelf.directory):
            await self.threads.run(lambda: desk.aside.ensure_private_dir(desk.shelf.directory))

    def require_papers(self, agent: Agent) -> None:
        """Raise PhoenixdError where an agent has no papers to write: a generation that does not hold its seat."""
        if not self.desks.holds(agent):
            raise PhoenixdError(f"{agent.name} does not hold its seat: the papers are the holder's")

    async def _publish_run(self, agent: Agent) -> None:
        """Write what a successor's run waits for, and which session it is in. What it is told are the seat's papers."""
        if agent.run is None or agent.removing:
            return
        own, desk = self.desks.desk_of(agent), self.desks.desk(agent.spec.seat)

        def write() -> None:
            if own.told.owes(agent) and desk.agent is not None:
                now = self._clock.now().wall
                own.tell_of(desk, agent, desk.consult(now), now)
            own.shelf.write_session(agent)

        await self.threads.run(own.shelf.open)
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
        desk = self.desks.desk_of(agent)
        await self._make_directory(desk)
        with bulkhead(agent.name, "what its session wrote"), anyio.move_on_after(HEARING_LIMIT):
            await self.hear(agent)

    async def look_for_edit(self, name: str) -> None:
        """Take over what another hand did to an agent's state.json, if anything: our own writes are none."""
        desk = self.desks.at(name)
        if desk is None or desk.agent is None:
            return
        with bulkhead(name, "an edit of its state.json"):
            async with desk.lock:
                touched = await self.threads.run(desk.shelf.was_touched)
            # What reads the file for another reason takes the edit over, and tells nobody.
            if touched or desk.shelf.is_edited:
                log.info("state_edited", agent=name)
                await self.publish(desk.agent, ())
                desk.shelf.is_edited = False
                self.edited(name)

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        """Write what was seen of a run that is being ended; returns its lines, and the file. Raises OSError."""
        desk = self.desks.desk_of(agent)

        def write() -> tuple[int, str]:
            self.desks.learn(agent)
            return incident_files.keep(desk.shelf, desk.clean, agent, action.incident, action.readings, screen)

        return await self.threads.run(write)

    async def write_safely(self, desk: Desk, write: Callable[[], T]) -> T:
        """Run `write` in a thread; where it meets a torn state.json, wait for it to be whole, then rebuild it."""
        waited = 0.0
        while True:
            try:
                return await self.threads.run(write)
            except TornState as torn:
                if waited >= TORN_PATIENCE:
                    await self.threads.run(partial(desk.shelf.repair, str(torn)))
            finally:
                for note in desk.take_notes():
                    log.warning("document_mended", agent=desk.shelf.name, note=desk.clean(note))
                for alarm in desk.take_alarms():
                    self.damaged(desk.shelf.name, alarm)
            # No event tells that a stranger has finished writing.
            await anyio.sleep(TORN_PAUSE)
            waited += TORN_PAUSE

    async def resolve(self, agent: Agent, loop_id: str, reason: str) -> Resolved:
        """Close an open loop of an agent (P26): `already` when it was closed before, and then nothing is written.

        Raises UnsafeFile and OSError where the log cannot be written, and then nothing was closed.
        """
        desk = self.desks.desk_of(agent)

        def write() -> Resolved:
            now = self._clock.now().wall
            self.desks.learn(agent)
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
        desk = self.desks.desk(name)

        def read() -> tuple[OpenLoop, ...]:
            now = self._clock.now().wall
            desk.brief_record()  # It says as of when they are, and may not have been read yet.
            # What an agent has just written there was not cleaned yet.
            state = without_secrets(desk.consult(now), desk.clean)
            return flag_stale(state, utc_date(now), self.stale_days).open_loops

        async with desk.lock:
            return await self.write_safely(desk, read)

    def read_at(self, name: str) -> float:
        """When the agent's session was read for its loops the last time (wall); 0 where that is not known."""
        return self.desks.desk(name).read_at

    async def brief(self, name: str) -> BriefPage | None:
        """The brief as it stands; None where there is none that can be read."""
        return await self.threads.run(partial(self._brief, self.desks.desk(name)))

    async def check_brief(self, name: str) -> tuple[Fault, ...]:
        """What is wrong with state.json and brief.md, as they stand (P41, P42, P82)."""
        desk, limit = self.desks.desk(name), self._settings.alerts.brief_max_age

        def check() -> tuple[Fault, ...]:
            now, page = self._clock.now().wall, self._brief(desk)
            faults = check_state(desk.shelf.content("state.json", STATE_LIMIT), name, now)
            text, written = (page.text.encode(), page.written) if page is not None else (None, None)
            return (*faults, *check_brief(text, name, written, now, limit))

        return await self.threads.run(check)

    async def generate_brief(self, agent: Agent) -> BriefPage:
        """Write the brief anew, also where nothing changed, so that its age tells when it was last found true."""
        desk = self.desks.desk_of(agent)
        async with desk.lock:
            await self.repositories.refresh(desk, agent)
            await self.write_safely(desk, lambda: self._write(desk, agent, (), anew=True))
        page = await self.brief(agent.name)
        if page is None:
            raise PhoenixdError(f"the brief of {agent.name} was written and cannot be read", "phoenixctl doctor")
        return page

    def _write(self, desk: Desk, agent: Agent, occurrences: Sequence[Occurrence], *, anew: bool = False) -> None:
        if not self.desks.holds(agent):
            # Fenced while it waited for the desk: the papers are its successor's.
            return
        now = self._clock.now().wall
        self.desks.learn(agent)
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
        now, desk = self._clock.now().wall, self.desks.desk(name)
        loops: tuple[OpenLoop, ...] = ()
        with bulkhead(name, "a look at its loops"):
            loops = desk.glance_at_loops(utc_date(now))
        written, writer = desk.brief_face
        brief = BriefFace(written, max(0.0, now - written), writer) if written else None
        unconfirmed = sum(is_unconfirmed(loop) for loop in loops)
        return LoopCounts(len(loops), sum(loop.stale for loop in loops), brief, unconfirmed)

    def stale_loops(self, names: Iterable[str]) -> dict[str, int]:
        """How many loops of each of these are stale, where any are: for a look at the whole fleet."""
        today, found = utc_date(self._clock.now().wall), {}
        for name in names:
            desk = self.desks.desk(name)
            loops = desk.known_loops(today)
            if loops is None:
                with bulkhead(name, "a look at its loops"):
                    loops = desk.glance_at_loops(today)
            if loops and (stale := sum(loop.stale for loop in loops)):
                found[name] = stale
        return found

    def stale_ids(self, agent: Agent) -> tuple[str, ...]:
        """The loops of an agent that are flagged as stale in the state that was written last."""
        state = self.desks.desk_of(agent).shelf.state
        return tuple(loop.id for loop in state.open_loops if loop.stale) if state is not None else ()

    async def run(self) -> None:
        """Bring up to date, for ever, what changes without an event of its own."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_signs)
            tasks.start_soon(self.repositories.follow, self.desks.desk_of, self.publish)

    async def _follow_signs(self) -> None:
        """Fold heartbeats into last_active, and flag loops as they become stale (P29, X6)."""
        while True:
            await self._clock.sleep_until(self._clock.now().at + FOLD_INTERVAL)
            for name in self.desks.clear():
                self._heard_at.pop(name, None)
            desks = self.desks.each()
            for first in range(0, len(desks), FOLDED_AT_ONCE):
                for desk in await self._fold(desks[first : first + FOLDED_AT_ONCE]):
                    with bulkhead(desk.shelf.name, "what became news without any event"):
                        if desk.agent is not None:
                            await self.publish(desk.agent, ())

    async def _fold(self, desks: Sequence[Desk]) -> list[Desk]:
        """Fold in one thread; those whose documents are due. A writing that goes on at a desk folds it as well."""
        held: list[Desk] = []
        try:
            for desk in desks:
                with contextlib.suppress(anyio.WouldBlock):
                    desk.lock.acquire_nowait()
                    held.append(desk)
            return await self.threads.run(partial(_due, held, self._clock.now().wall))
        finally:
            for desk in held:
                desk.lock.release()


def _due(desks: Sequence[Desk], now: float) -> list[Desk]:
    due: list[Desk] = []
    for desk in desks:
        # What cannot be looked at is written anew: that puts back what somebody took away.
        is_due = True
        with bulkhead(desk.shelf.name, "a look for news"):
            is_due = desk.fold(now)
        if is_due:
            due.append(desk)
    return due


def _may_have_changed_files(seen: Occurrence) -> bool:
    return seen.event in GIT_EVENTS or _is_turns_end(seen)


def _is_turns_end(seen: Occurrence) -> bool:
    return seen.event == "hook_seen" and seen.detail.get("kind") == "stop"


async def _hear_nothing(agent: Agent) -> None:
    """For rooms without transcripts."""
