"""Signs of life that come by files: heartbeats of any hand, and transcripts that grow.

Directories are watched, never files: a heartbeat is replaced by rename, and a watched file is then never heard of
again. What the watch misses (its limit is reached, a network file system) the rescan at every check_interval finds.
Nothing is watched while nobody is followed, and the watch itself looks twice a second, so that idling costs nothing.
"""

from __future__ import annotations

import glob
import itertools
import math
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import structlog
from anyio import to_thread
from watchfiles import awatch

from phoenixd.core.agent import Agent
from phoenixd.core.events import EvidenceSeen
from phoenixd.documents.heartbeat import SIZE_LIMIT, Heartbeat, read_heartbeat
from phoenixd.harness import HARNESSES

STEP_MS, DEBOUNCE_MS = 500, 2000
"""How often the watch looks for more, and for how long at most it gathers: late by seconds is early for a heartbeat."""

SOON = 30.0
"""Seconds after which a watch that heard nothing says so."""

BLIND_INTERVAL = 5.0
"""Seconds between two looks where directories cannot be watched (F-HB-10)."""

MOST_TRANSCRIPTS = 64

Signature = tuple[int, ...]

log = structlog.get_logger("phoenixd.evidence")


@dataclass(slots=True)
class _Followed:
    """One living run, and what its files looked like last. None: not looked at yet."""

    agent: str
    incarnation: int
    run_id: str
    began_wall: float
    interval: float
    heartbeats: tuple[Path, ...]
    transcript: str | None
    since: float
    """Wall time from which on this daemon follows the run."""
    seen: dict[Path, Signature] = field(default_factory=dict)
    transcript_seen: Signature | None = None
    looked: bool = False
    odd_told: str = ""
    """What was wrong with the newest heartbeat, as it was told; a good one clears it."""


class EvidenceFiles:
    """Implements ports.Evidence. `run` has to be running for anything to be seen."""

    def __init__(
        self,
        state: Path,
        sink: Callable[[EvidenceSeen], None],
        transcript_of: Callable[[Agent], str | None] | None = None,
        *,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._state = state
        self._sink = sink
        self._transcript_of = transcript_of or (lambda agent: known_transcript(agent, os.environ))
        self._wall = wall
        self._followed: dict[str, _Followed] = {}
        self._changed = anyio.Event()
        self._warned = False

    def follow(self, agent: Agent) -> None:
        """Watch for the living run of an agent from now on; the same run may have got another session."""
        run = agent.run
        if run is None:
            self.forget(agent.name)
            return
        spec = agent.spec
        heartbeats = [self._state / "agents" / agent.name / "heartbeat.json"]
        if spec.heartbeat_file is not None:
            heartbeats.append(Path(spec.heartbeat_file))
        followed = _Followed(
            agent.name, run.incarnation, run.run_id, run.began_wall, spec.liveness.check_interval, tuple(heartbeats),
            self._transcript_of(agent), self._wall(),
        )  # fmt: skip
        before = self._followed.get(agent.name)
        if before is not None and before.run_id == run.run_id:
            followed.seen, followed.looked, followed.since = before.seen, before.looked, before.since
        self._followed[agent.name] = followed
        self._changed.set()

    def forget(self, agent: str) -> None:
        if self._followed.pop(agent, None) is not None:
            self._changed.set()

    async def run(self) -> None:
        """Watch for ever."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._release)
            while True:
                self._changed = anyio.Event()
                if not self._followed:
                    await self._changed.wait()
                    continue
                await self._look()
                # Whoever was followed may have ended during the look.
                if self._followed:
                    await self._watch(self._changed)

    async def _release(self) -> None:
        """Watchfiles' thread is shielded from cancellation and would hold up an end until its time-out."""
        try:
            await anyio.sleep_forever()
        finally:
            self._changed.set()

    async def _watch(self, stop: anyio.Event) -> None:
        """Look whenever a directory changes and at every interval, until `stop` or until other directories count."""
        interval = min(followed.interval for followed in self._followed.values())
        directories = self._directories()
        # What changed before the watch began to listen is found by a look soon after that.
        due = 0.0
        try:
            async for changes in awatch(
                *directories,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=stop,
                rust_timeout=math.ceil(min(interval, SOON) * 1000),
                yield_on_timeout=True,
                recursive=False,
            ):
                now = time.monotonic()
                if now >= due:
                    due = now + interval
                    await self._look()
                elif changes:
                    await self._look({Path(path) for _, path in changes})
                if self._directories() != directories:
                    return
        except (OSError, RuntimeError) as failure:
            if not self._warned:
                self._warned = True
                log.warning(
                    "directories_not_watched", reason=str(failure), instead=f"a look every {BLIND_INTERVAL:g} s"
                )
            with anyio.move_on_after(min(interval, BLIND_INTERVAL)):
                await stop.wait()

    def _directories(self) -> tuple[Path, ...]:
        wanted = {path.parent for followed in self._followed.values() for path in followed.heartbeats}
        return tuple(sorted(path for path in wanted if path.is_dir()))

    async def _look(self, touched: set[Path] | None = None) -> None:
        """Look at the files of all runs, or only at the heartbeats among `touched`; then tell what was seen."""
        runs = tuple(self._followed.values())
        if touched is None:
            log.debug("signs_of_life_looked_for", agents=len(runs))
        events = await to_thread.run_sync(self._examine, runs, touched)
        for event in events:
            current = self._followed.get(event.agent)
            if current is not None and current.incarnation == event.incarnation:
                self._sink(event)

    def _examine(self, runs: tuple[_Followed, ...], touched: set[Path] | None) -> list[EvidenceSeen]:
        events: list[EvidenceSeen] = []
        for followed in runs:
            try:
                events += self._examine_one(followed, touched)
            except Exception:
                # An agent's files may be anything: a fault in reading them costs this look at this agent.
                log.exception("evidence_fault", agent=followed.agent)
        return events

    def _examine_one(self, followed: _Followed, touched: set[Path] | None) -> list[EvidenceSeen]:
        events: list[EvidenceSeen] = []
        for path in followed.heartbeats:
            if (touched is None or path in touched) and (event := self._heartbeat(followed, path)):
                events.append(event)
        if touched is None and followed.transcript is not None and _has_grown(followed):
            events.append(EvidenceSeen(followed.agent, followed.incarnation, "transcript"))
        followed.looked = followed.looked or touched is None
        return events

    def _heartbeat(self, followed: _Followed, path: Path) -> EvidenceSeen | None:
        signature, before = _signature(path), followed.seen.get(path)
        if not signature or signature == before:
            return None
        followed.seen[path] = signature
        if before is not None and signature[:3] == before[:3]:
            return None  # Its rights, its owner or its links changed: nobody wrote.
        if not followed.looked and min(signature[0], signature[3]) / 1e9 < followed.began_wall:
            return None  # It was left by a run before this one.
        content = _read(path)
        if content is None:
            return None
        beat = read_heartbeat(content, self._wall())
        if beat is not None and beat.run_id is not None:
            # This run's own beats come by the shim's link, faster; another run's say nothing about this one.
            return None
        source = "heartbeat" if beat is not None else "heartbeat that cannot be read"
        odd = "it cannot be read" if beat is None else ""
        if odd and odd != followed.odd_told:
            log.warning("heartbeat_odd", agent=followed.agent, file=str(path), reason=odd)
        followed.odd_told = odd
        # Old is what was old when it was written. What aged since then may have done so while the host slept, the
        # clock was set or nobody looked; and what was written before we followed, while no daemon was there.
        was_seen = followed.looked or signature[3] / 1e9 >= followed.since
        age = _age_when_written(signature, beat) if was_seen else None
        return EvidenceSeen(followed.agent, followed.incarnation, source, age)


def known_transcript(agent: Agent, environment: Mapping[str, str]) -> str | None:
    """Path or glob of the transcript of an agent's session, in an environment; None where none is known."""
    harness, session = HARNESSES.get(agent.spec.harness), agent.session
    if harness is None or session is None:
        return None
    variables = {**environment, **dict(agent.spec.env)}
    return harness.transcript(agent.spec, session.session_id, variables, os.path.realpath(agent.spec.cwd))


def _has_grown(followed: _Followed) -> bool:
    """Whether any file of the transcript became longer or newer since the last look; the first look only remembers."""
    assert followed.transcript is not None
    pattern = followed.transcript
    paths = itertools.islice(glob.iglob(pattern), MOST_TRANSCRIPTS) if glob.has_magic(pattern) else [pattern]
    found = [signature for path in paths if (signature := _signature(Path(path)))]
    now = (max((one[0] for one in found), default=0), sum(one[2] for one in found))
    before, followed.transcript_seen = followed.transcript_seen, now
    return before is not None and (now[0] > before[0] or now[1] > before[1])


def _age_when_written(signature: Signature, beat: Heartbeat | None) -> float | None:
    """How old a heartbeat was when it was written: by the time that it names, else by the one that was given to the
    file (G51); below 0 for a time in the future, None where neither says anything. The time of the change itself is
    nobody's to choose."""
    changed = signature[3] / 1e9
    if beat is not None and beat.stamp is not None:
        return changed - beat.stamp
    age = changed - signature[0] / 1e9
    return age if age > 1 else None


def _signature(path: Path) -> Signature:
    """mtime (ns), inode, size, ctime (ns) of a regular file; empty where there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size, found.st_ctime_ns


def _read(path: Path) -> bytes | None:
    """A heartbeat of any user's hand, which may be anything by the time that it is opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(SIZE_LIMIT + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
