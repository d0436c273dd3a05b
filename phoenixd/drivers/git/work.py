"""How an agent's work looks, and what was made of it since an earlier look (X8b).

The fingerprint covers what is not committed: for every worktree the index as far as it differs from HEAD's tree, and
the content of changed and untracked files; where there is no repository, all files. A pull, a checkout or a reset
therefore leaves it as it was. What was committed, stashed or pushed is told by reflogs (`git_deeds.py`). Ignored
files, our own files, times and permissions do not count. Nothing of a repository's is run: git is asked by disarmed
plumbing (`git_plumbing.py`), files are read here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.to_thread

from phoenixd.bounded_reads import BoundedReads
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined, Stopped
from phoenixd.core.work import Survey
from phoenixd.drivers.git.neighbours import Neighbour, Neighbourhood
from phoenixd.drivers.git.plumbing import PlumbingFailed
from phoenixd.drivers.git.survey import Looked, Surveyor
from phoenixd.drivers.git.work_files import Budget, Excluded, WorkUnreadable, exists
from phoenixd.drivers.git.worktrees import top_of
from phoenixd.ports.work import WorkReading
from phoenixd.terrain import TERRAIN

THREADS = 4
PATIENCE = 2.0
"""Seconds beyond its limit after which a measurement that hangs in the kernel is left to itself."""
FILE_PATIENCE = 10.0
"""Seconds that a look for one file is waited for."""
NOTHING_EXCLUDED = Excluded()
LOOKS = 3
"""Looks at most, where the repository comes or goes during each."""


class WorkPrints:
    """Implements ports.Work.

    own: the daemon's own directories, which are no agent's work. tokens: how many a session holds; None unknown.
    agents: everybody, to tell who works in the same place.
    """

    def __init__(
        self,
        own: Iterable[os.PathLike[str] | str] = (),
        tokens: Callable[[Agent], Awaitable[int | None]] | None = None,
        agents: Callable[[], Iterable[Agent]] = tuple,
    ) -> None:
        self._tokens = tokens
        self._agents = agents
        self._own = frozenset(os.fsencode(os.path.realpath(path)) for path in own)
        self._threads = anyio.CapacityLimiter(THREADS)
        self._reads = BoundedReads()
        self._under_way: set[str] = set()

    async def measure(self, agent: Agent, since: Survey | None = None) -> WorkReading:
        """Read the work as it is now; what cannot be told in time is unknown, and says why."""
        name, rules = agent.name, agent.spec.breaker
        if name in self._under_way:
            return WorkReading(None, "an earlier look at it has not come back yet")
        self._under_way.add(name)
        everybody = tuple(self._agents())

        def look() -> WorkReading:
            try:
                return self.read(agent, since, tuple(neighbours_of(agent, everybody)))
            finally:
                self._under_way.discard(name)

        with anyio.move_on_after(rules.time_limit + PATIENCE):
            found = await anyio.to_thread.run_sync(look, abandon_on_cancel=True, limiter=self._threads)
            if rules.token_ceiling and self._tokens is not None:
                return replace(found, tokens=await self._tokens(agent) or 0)
            return found
        return WorkReading(None, f"the work could not be read within {rules.time_limit:g} s")

    async def exists(self, directory: str, pattern: str) -> bool:
        """Whether a file matches a pattern, which is taken from the directory; raises NoAnswer."""
        return await self._reads.of(directory, partial(exists, directory, pattern), FILE_PATIENCE)

    async def can_enter(self, directory: str) -> bool | None:
        """Whether a directory is there and may be entered; None where its file system does not answer in time."""
        return await anyio.to_thread.run_sync(TERRAIN.can_enter, directory, limiter=self._threads)

    def read(self, agent: Agent, since: Survey | None = None, neighbours: Sequence[Neighbour] = ()) -> WorkReading:
        """The same, blocking for about the limit at most."""
        began, spec = time.monotonic(), agent.spec
        rules = spec.breaker
        own = {*self._own, *(os.fsencode(path) for path in (spec.heartbeat_file, spec.transcript) if path)}
        excluded = Excluded(
            frozenset(own), tuple(map(os.fsencode, rules.exclude)), notes=tuple(map(os.fsencode, rules.notes))
        )
        done = bool(spec.loop.done_file) and exists(spec.cwd, spec.loop.done_file or "")
        try:
            found = survey(
                rules.roots or (spec.cwd,), excluded, rules.time_limit, since, agent.workplaces, neighbours,
                narrow=bool(rules.roots),
            )  # fmt: skip
        except (WorkUnreadable, PlumbingFailed) as unknown:
            return WorkReading(None, str(unknown), done=done, took=time.monotonic() - began)
        except OSError as fault:
            note = f"the work could not be read: {fault.strerror}"
            return WorkReading(None, note, done=done, took=time.monotonic() - began)
        return WorkReading(
            found.fingerprint, "; ".join(found.odd), done, took=time.monotonic() - began, survey=found.survey,
            deeds=found.deeds, lost=found.lost, shared=found.shared,
        )  # fmt: skip


def survey(
    roots: Sequence[str],
    excluded: Excluded = NOTHING_EXCLUDED,
    time_limit: float = 20.0,
    since: Survey | None = None,
    entered: Sequence[str] = (),
    neighbours: Sequence[Neighbour] = (),
    narrow: bool = False,
) -> Looked:
    """Look at directories together, and at worktrees that were entered; raises WorkUnreadable and PlumbingFailed.

    since: an earlier look, whereupon deeds are told. narrow: of a repository around a root, only what lies in the root.
    A look during which a repository came or went is half of each, and is taken again within the same time.
    """
    deadline = time.monotonic() + time_limit
    for _ in range(LOOKS):
        before = _repositories(roots)
        surveyor = Surveyor(Budget(deadline), excluded, since, Neighbourhood(tuple(neighbours)))
        try:
            places = [os.fsencode(os.path.realpath(root)) for root in roots]
            found = surveyor.look(places, map(os.fsencode, entered), narrow)
        except (WorkUnreadable, PlumbingFailed):
            if time.monotonic() > deadline or _repositories(roots) == before:
                raise
        else:
            if _repositories(roots) == before:
                return found
    raise WorkUnreadable("a repository came or went whenever the work was looked at")


def _repositories(roots: Sequence[str]) -> list[tuple[bytes, int, int]]:
    """Where the repositories around the roots are, and which; by their places alone, for what is in them changes."""
    marks = []
    for root in roots:
        top = top_of(os.fsencode(root))
        try:
            found = os.lstat(top + b"/.git")
        except OSError:
            marks.append((top, 0, 0))
        else:
            marks.append((top, found.st_dev, found.st_ino))
    return marks


def neighbours_of(agent: Agent, agents: Iterable[Agent]) -> Iterable[Neighbour]:
    """Who else has a place to work in; those of one sequence are judged together, and are no neighbours."""
    team = agent.spec.turn_of or agent.name
    for other in agents:
        if (other.spec.turn_of or other.name) != team:
            roots = other.spec.breaker.roots or (other.spec.cwd,)
            places = tuple(os.fsencode(os.path.realpath(root)) for root in roots)
            is_up = not isinstance(other.state, Stopped | Quarantined)
            yield Neighbour(other.name, places, bool(other.spec.breaker.roots), is_up)
