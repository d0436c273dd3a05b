"""Signs of life that come by files: heartbeats of any hand, and transcripts that grow.

Directories are watched, never files: a heartbeat is replaced by rename, and a watched file is then never heard of
again. An agent's own directory is watched by inotify, which wakes nobody while nothing happens and takes one more run
for nothing. Where an operator has heartbeats written elsewhere, watchfiles watches, which also tells of a file that
stays open. What either misses (a limit, a network file system) the rescan at every check_interval finds.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import structlog
from anyio import to_thread
from watchfiles.main import awatch

from phoenixd.core.agent import Agent
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.drivers.evidence.looks import Followed
from phoenixd.harness import HARNESSES
from phoenixd.ports.evidence import Changes

HEARTBEAT = "heartbeat.json"

GATHER = 1.0
"""Seconds between two looks at heartbeats that were written: late by a second is early for a heartbeat."""

STEP_MS, DEBOUNCE_MS = 500, 2000
"""How often watchfiles looks for more, and for how long at most it gathers."""

PATIENCE = 10.0
"""Seconds in which one agent's files answer, or are left alone: those of the others are looked at meanwhile."""

BLIND_INTERVAL = 5.0
"""Seconds between two looks where directories cannot be watched (F-HB-10)."""

log = structlog.get_logger("phoenixd.evidence")


@dataclass(slots=True)
class Look:
    """Runs that are looked at one after the other: which one it is now, and what was seen. is_left: by all others."""

    runs: Sequence[Followed]
    at: int = 0
    events: list[EvidenceSeen] = field(default_factory=list)
    is_left: bool = False


class EvidenceFiles:
    """Implements ports.Evidence. `run` has to be running for anything to be seen. changes: nobody else's."""

    def __init__(
        self,
        state: Path,
        sink: Callable[[EvidenceSeen], None],
        changes: Changes,
        transcript_of: Callable[[Agent], str | None] | None = None,
        *,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._state = state
        self._sink = sink
        self._changes = changes
        self._transcript_of = transcript_of or (lambda agent: known_transcript(agent, os.environ))
        self._wall = wall
        self._followed: dict[str, Followed] = {}
        self._new: set[str] = set()
        """Agents whose run has not been looked at."""
        self._came = anyio.Event()
        self._elsewhere: frozenset[Path] = frozenset()
        """The directories that watchfiles watches."""
        self._elsewhere_changed = anyio.Event()
        self._is_blind = False
        self._is_told = False
        self._one = anyio.Lock()
        # Those that hang are one for each agent at most, and take none from the others of the daemon.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._silent: set[str] = set()
        """Agents whose files are looked at, and do not answer."""

    def follow(self, agent: Agent) -> None:
        """Watch for the living run of an agent from now on; the same run may have got another session."""
        run = agent.run
        if run is None:
            self.forget(agent.name)
            return
        spec = agent.spec
        heartbeats = [self._home(agent.name) / HEARTBEAT]
        if spec.heartbeat_file is not None:
            heartbeats.append(Path(spec.heartbeat_file))
        followed = Followed(
            agent.name, run.incarnation, run.run_id, run.began_wall, spec.liveness.check_interval, tuple(heartbeats),
            partial(self._transcript_of, agent), self._wall(),
        )  # fmt: skip
        before = self._followed.get(agent.name)
        if before is not None and before.run_id == run.run_id:
            followed.seen, followed.looked, followed.since = before.seen, before.looked, before.since
        # Before the first look, so that no beat falls between the two.
        self._watch(self._home(agent.name))
        self._followed[agent.name] = followed
        self._new.add(agent.name)
        self._came.set()

    def forget(self, agent: str) -> None:
        self._followed.pop(agent, None)

    async def run(self) -> None:
        """Watch for ever."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._release)
                tasks.start_soon(self._hear_changes)
                tasks.start_soon(self._watch_elsewhere)
                await self._look_around()
        finally:
            self._changes.close()

    async def _release(self) -> None:
        """Watchfiles' thread is shielded from cancellation and would hold up an end until its time-out."""
        try:
            await anyio.sleep_forever()
        finally:
            self._elsewhere = frozenset()
            self._elsewhere_changed.set()

    async def _look_around(self) -> None:
        """Look at all runs at every interval, and at each new one at once."""
        due = -math.inf
        while True:
            self._came = anyio.Event()
            new, self._new = self._new, set()
            now = time.monotonic()
            if now >= due:
                self._is_blind = not all([self._watch(self._home(name)) for name in self._followed])
                await self._look(tuple(self._followed))
                due = math.inf
            elif new:
                await self._look(new)
            due = min(due, now + self._interval())
            await self._set_elsewhere()
            with anyio.move_on_after(max(0.0, due - time.monotonic())):
                await self._came.wait()

    def _interval(self) -> float:
        shortest = min((followed.interval for followed in self._followed.values()), default=math.inf)
        return min(shortest, BLIND_INTERVAL) if self._is_blind else shortest

    async def _hear_changes(self) -> None:
        """Look at the heartbeats in the agents' own directories when they are written."""
        while True:
            changed = await self._changes.next()
            homes = {self._home(name): name for name in tuple(self._followed)}
            # Where events were lost, a directory stands for all that is in it.
            touched = {path for path in changed if path.name == HEARTBEAT or path in homes}
            names = {homes.get(path) or homes.get(path.parent) for path in touched} - {None}
            if names:
                await self._look([name for name in names if name is not None], touched)
            await anyio.sleep(GATHER)

    async def _watch_elsewhere(self) -> None:
        """Look at the heartbeats that are written where an operator wants them."""
        while True:
            self._elsewhere_changed = stop = anyio.Event()
            if not self._elsewhere:
                await stop.wait()
                continue
            try:
                async for changes in awatch(
                    *self._elsewhere, watch_filter=None, debounce=DEBOUNCE_MS, step=STEP_MS, stop_event=stop,
                    recursive=False,
                ):  # fmt: skip
                    await self._look(tuple(self._followed), {Path(path) for _, path in changes})
            except (OSError, RuntimeError) as failure:
                self._tell_blind(str(failure))
                self._is_blind = True
                self._came.set()
                with anyio.move_on_after(BLIND_INTERVAL):
                    await stop.wait()

    async def _set_elsewhere(self) -> None:
        """Have watchfiles watch what is there now, where that is not what it watches."""
        wanted = {
            path.parent
            for followed in self._followed.values()
            for path in (() if followed.agent in self._silent else followed.heartbeats[1:])
        }
        found = self._elsewhere & wanted
        if wanted:
            # A disk that does not answer must not keep the others waiting.
            with anyio.move_on_after(PATIENCE):
                found = await to_thread.run_sync(_directories, wanted, abandon_on_cancel=True, limiter=self._threads)
        if found != self._elsewhere:
            self._elsewhere = found
            self._elsewhere_changed.set()

    def _watch(self, directory: Path) -> bool:
        watched = self._changes.watch(directory)
        if not watched:
            self._is_blind = True
        return watched

    def _tell_blind(self, why: str) -> None:
        if not self._is_told:
            self._is_told = True
            log.warning("directories_not_watched", reason=why, instead=f"a look every {BLIND_INTERVAL:g} s")

    async def _look(self, names: Iterable[str], touched: Collection[Path] | None = None) -> None:
        """Look at the files of these runs, or only at the heartbeats among `touched`; then tell what was seen."""
        async with self._one:
            runs = [self._followed[name] for name in names if name in self._followed]
            if touched is None and runs:
                log.debug("signs_of_life_looked_for", agents=len(runs))
            events: list[EvidenceSeen] = []
            while runs := [one for one in runs if one.agent not in self._silent]:
                look = Look(runs)
                events += await self._answers(look, touched)
                runs = runs[look.at + 1 :]
        for event in events:
            current = self._followed.get(event.agent)
            if current is not None and current.incarnation == event.incarnation:
                self._sink(event)

    async def _answers(self, look: Look, touched: Collection[Path] | None) -> list[EvidenceSeen]:
        """What the files of these runs tell, as far as the first whose files do not answer: a disk may be gone."""
        reading = asyncio.ensure_future(
            to_thread.run_sync(self._examine, look, touched, abandon_on_cancel=True, limiter=self._threads)
        )
        try:
            before = -1
            while not (await asyncio.wait((reading,), timeout=PATIENCE))[0]:
                if look.at == before:
                    break
                before = look.at
            else:
                return reading.result()
            silent = look.runs[look.at].agent
            self._silent.add(silent)
            look.is_left = True
            log.warning("files_do_not_answer", agent=silent, instead="its hooks alone tell of it until they do")
            return list(look.events)
        finally:
            reading.cancel()

    def _examine(self, look: Look, touched: Collection[Path] | None) -> list[EvidenceSeen]:
        for number, followed in enumerate(look.runs):
            look.at = number
            try:
                events = followed.examine(self._wall(), touched)
            except Exception:
                # An agent's files may be anything: a fault in reading them costs this look at this agent.
                log.exception("evidence_fault", agent=followed.agent)
                continue
            finally:
                self._silent.discard(followed.agent)
            if look.is_left:
                break  # Others have gone on behind it.
            look.events += events
        return look.events

    def _home(self, agent: str) -> Path:
        return self._state / "agents" / agent


def _directories(paths: Iterable[Path]) -> frozenset[Path]:
    return frozenset(path for path in paths if path.is_dir())


def known_transcript(agent: Agent, environment: Mapping[str, str]) -> str | None:
    """Path or glob of the transcript of an agent's session, in an environment; None where none is known."""
    harness, session = HARNESSES.get(agent.spec.harness), agent.session
    if harness is None or session is None:
        return None
    variables = {**environment, **dict(agent.spec.env)}
    return harness.transcript(agent.spec, session.session_id, variables, os.path.realpath(agent.spec.cwd))
