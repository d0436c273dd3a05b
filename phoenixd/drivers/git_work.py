"""The fingerprint of an agent's work: a short text that differs when the work does (X8b).

It covers, for every repository, the commit and branch, the index, and the content of changed and untracked files;
where there is no repository, the files themselves. Ignored files, our own files, times and permissions do not count.
Nothing of a repository's is run: git is asked by disarmed plumbing (`git_plumbing.py`), files are read here.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread

from phoenixd.core.agent import Agent
from phoenixd.drivers.git import FILE_TYPE, WHERE, differs_by_stat
from phoenixd.drivers.git_index import GITLINK, Entry, index_of
from phoenixd.drivers.git_plumbing import Plumbing, PlumbingFailed
from phoenixd.drivers.git_work_files import (
    Budget,
    Excluded,
    WorkUnreadable,
    exists,
    tracked_print,
    untracked_print,
    walk,
)
from phoenixd.ports import WorkReading

THREADS = 4
PATIENCE = 2.0
"""Seconds beyond its limit after which a measurement that hangs in the kernel is left to itself."""
NOTHING_EXCLUDED = Excluded()
OTHERS = ("ls-files", "--others", "--exclude-standard", "-z")


class WorkPrints:
    """Implements ports.Work.

    own: directories of the daemon's, which are nobody's work. tokens: how many an agent's session holds; None unknown.
    """

    def __init__(
        self,
        own: Iterable[os.PathLike[str] | str] = (),
        tokens: Callable[[Agent], Awaitable[int | None]] | None = None,
    ) -> None:
        self._tokens = tokens
        self._own = frozenset(os.fsencode(os.path.realpath(path)) for path in own)
        self._threads = anyio.CapacityLimiter(THREADS)
        self._under_way: set[str] = set()

    async def measure(self, agent: Agent) -> WorkReading:
        """Read the work as it is now; what cannot be told in time is unknown, and says why."""
        name, rules = agent.name, agent.spec.breaker
        if name in self._under_way:
            return WorkReading(None, "an earlier look at it has not come back yet")
        self._under_way.add(name)

        def look() -> WorkReading:
            try:
                return self.read(agent)
            finally:
                self._under_way.discard(name)

        with anyio.move_on_after(rules.time_limit + PATIENCE):
            found = await anyio.to_thread.run_sync(look, abandon_on_cancel=True, limiter=self._threads)
            if rules.token_ceiling and self._tokens is not None:
                return replace(found, tokens=await self._tokens(agent) or 0)
            return found
        return WorkReading(None, f"the work could not be read within {rules.time_limit:g} s")

    async def exists(self, directory: str, pattern: str) -> bool:
        """Whether a file matches a pattern, which is taken from the directory."""
        return await anyio.to_thread.run_sync(exists, directory, pattern, limiter=self._threads)

    def read(self, agent: Agent) -> WorkReading:
        """The same, blocking for about the limit at most."""
        began, spec = time.monotonic(), agent.spec
        own = {*self._own, *(os.fsencode(path) for path in (spec.heartbeat_file, spec.transcript) if path)}
        excluded = Excluded(frozenset(own), tuple(map(os.fsencode, spec.breaker.exclude)))
        done = bool(spec.loop.done_file) and exists(spec.cwd, spec.loop.done_file or "")
        try:
            text, notes = work_print(spec.breaker.roots or (spec.cwd,), excluded, spec.breaker.time_limit)
        except (WorkUnreadable, PlumbingFailed) as unknown:
            return WorkReading(None, str(unknown), done=done, took=time.monotonic() - began)
        return WorkReading(text, "; ".join(notes), done=done, took=time.monotonic() - began)


def work_print(
    roots: Sequence[str], excluded: Excluded = NOTHING_EXCLUDED, time_limit: float = 20.0
) -> tuple[str, tuple[str, ...]]:
    """The fingerprint of directories together, and what was odd; raises WorkUnreadable and PlumbingFailed.

    It begins with what kind of thing each root is, for a repository cannot be compared with what is none.
    """
    work = _Work(Budget(time.monotonic() + time_limit), excluded)
    kinds = [work.root(os.fsencode(os.path.realpath(root))) for root in roots]
    return f"{'+'.join(kinds)}:{work.hashing.hexdigest()[:40]}", tuple(work.budget.notes)


@dataclass(slots=True)
class _Work:
    budget: Budget
    excluded: Excluded
    hashing: hashlib._Hash = field(default_factory=hashlib.sha256)
    _seen: set[bytes] = field(default_factory=set)

    def root(self, directory: bytes) -> str:
        if not os.path.isdir(directory):
            raise WorkUnreadable(f"{os.fsdecode(directory)} is no directory")
        if self._repository(directory):
            return "git"
        self._files(directory)
        return "files"

    def _files(self, top: bytes) -> None:
        self._put(b"files", top)
        for path, is_repository in walk(top, self.budget, replace(self.excluded, top=top)):
            if is_repository:
                self._nested(path)
            else:
                self._put(path[len(top) :], untracked_print(path, self.budget))

    def _nested(self, path: bytes) -> None:
        """A repository within: a submodule, or one of several below a directory that is none."""
        if self.budget.repositories <= 0:
            self.budget.notes["too many repositories: not all of them were looked at"] = None
            return
        if not self._repository(path):
            self._put(b"no repository", path)

    def _repository(self, directory: bytes) -> bool:
        plumbing = Plumbing(os.fsdecode(directory), self.budget.deadline)
        try:
            found = plumbing.lines("rev-parse", *WHERE)
        except PlumbingFailed as failure:
            if failure.no_repository:
                return False
            raise
        top, git_directory = (os.fsencode(line) for line in found[:2])
        if top in self._seen:
            return True
        self._seen.add(top)
        self.budget.repositories -= 1
        excluded = replace(self.excluded, top=top)
        head = plumbing.lines("rev-parse", "-q", "--verify", "HEAD^{commit}", accepted=(0, 1))
        branch = plumbing.lines("symbolic-ref", "-q", "HEAD", accepted=(0, 1))
        self._put(b"repository", *map(os.fsencode, (*head, *branch)))
        with ThreadPoolExecutor(1) as beside:
            # git looks for new files on another core meanwhile.
            others = beside.submit(plumbing.fields, *OTHERS, cwd=os.fsdecode(top))
            entries, written = index_of(plumbing, top, git_directory, found[-1])
            nested = self._tracked(entries, written, excluded) + self._untracked(others.result(), excluded)
        for path in sorted(nested):
            if os.path.lexists(os.path.join(path, b".git")):
                self._nested(path)
        return True

    def _tracked(self, entries: Iterable[Entry], written: int, excluded: Excluded) -> list[bytes]:
        """Take in the index, and the files that differ from it; returns the submodules."""
        top, covers = excluded.top + b"/", excluded.covers
        submodules, index = [], hashlib.sha256()
        for number, entry in enumerate(entries):
            path = top + entry.path
            if covers(path):
                continue
            # Of the mode its kind counts, and permissions do not.
            index.update(b"%o %d " % (entry.mode & FILE_TYPE, entry.stage) + entry.blob + entry.path + b"\0")
            if number % 1000 == 0:
                self.budget.require_time()
            if entry.mode == GITLINK:
                submodules.append(path)
            elif not entry.is_left_alone and differs_by_stat(entry, path, written) is not False:
                found = tracked_print(path, entry.blob.hex(), self.budget)
                self.budget.require_time()
                if found is not None:
                    self._put(b"changed", entry.path, found)
        self._put(b"index", index.digest())
        return submodules

    def _untracked(self, names: Iterable[bytes], excluded: Excluded) -> list[bytes]:
        """Take in the files that are neither tracked nor ignored; returns repositories among them."""
        top, repositories = excluded.top, []
        for name in sorted(names):
            path = top + b"/" + name.rstrip(b"/")
            if excluded.covers(path):
                continue
            if name.endswith(b"/"):
                repositories.append(path)
                continue
            self._put(b"new", name, untracked_print(path, self.budget))
            self.budget.require_time()
        return repositories

    def _put(self, *parts: bytes) -> None:
        for part in parts:
            self.hashing.update(b"%d " % len(part))
            self.hashing.update(part)
