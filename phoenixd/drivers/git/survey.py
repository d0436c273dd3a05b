"""One look at an agent's places: uncommitted content as two digests, and what was made there since another look."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from phoenixd.core.work import Deed, Place, Survey
from phoenixd.drivers.git.deeds import Ground, Since
from phoenixd.drivers.git.index import GITLINK, INDEX_LIMIT, Index, index_of
from phoenixd.drivers.git.neighbours import Neighbourhood
from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed, tree_entries
from phoenixd.drivers.git.summary import FILE_TYPE, differs_by_stat
from phoenixd.drivers.git.work_files import (
    Budget,
    Excluded,
    WorkUnreadable,
    tracked_print,
    untracked_print,
    walk,
)
from phoenixd.drivers.git.worktrees import Linked, Location, linked_worktrees, locate, top_of

OTHERS = ("ls-files", "--others", "--exclude-standard", "-z")
MOST_DEEDS = 64
_HASH = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look found. odd: what could not be read whole, for people. The rest as in ports.WorkReading."""

    fingerprint: str
    survey: Survey
    deeds: tuple[Deed, ...]
    odd: tuple[str, ...]
    lost: str
    shared: tuple[str, ...]


class Sums:
    """Digests of work and of notes. A place without anything that differs leaves both as they are."""

    def __init__(self) -> None:
        self._work, self._notes = hashlib.sha256(), hashlib.sha256()
        self.is_dirty = self.has_notes = False

    def put(self, is_note: bool, *parts: bytes) -> None:
        hashing = self._notes if is_note else self._work
        self.has_notes |= is_note
        self.is_dirty |= not is_note
        for part in parts:
            hashing.update(b"%d " % len(part))
            hashing.update(part)

    def add(self, place: bytes, sums: Sums) -> None:
        """Take in another place's."""
        if sums.is_dirty:
            self.put(False, place, sums._work.digest())
        if sums.has_notes:
            self.put(True, place, sums._notes.digest())

    @property
    def work(self) -> str:
        return self._work.hexdigest()[:40]

    @property
    def notes(self) -> str:
        return self._notes.hexdigest()[:40]


@dataclass(slots=True)
class Surveyor:
    """Takes one look; the budget is that of the whole."""

    budget: Budget
    excluded: Excluded
    since: Survey | None
    others: Neighbourhood
    at: float = field(default_factory=time.time)
    total: Sums = field(default_factory=Sums)
    places: list[Place] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    lost: str = ""
    _seen: set[bytes] = field(default_factory=set)
    _located: list[Location] = field(default_factory=list)
    _tops_of_roots: list[bytes] = field(default_factory=list)

    def look(self, roots: Sequence[bytes], entered: Iterable[bytes], narrow: bool) -> Looked:
        """Look at the roots, and at those of the entered directories that are worktrees of their repositories."""
        located: list[tuple[bytes, Location | None]] = []
        for root in roots:
            if not os.path.isdir(root):
                raise WorkUnreadable(f"{os.fsdecode(root)} is no directory")
            located.append((root, locate(root, self.budget.deadline)))
        self._located = [found for _, found in located if found is not None]
        linked = {one.mark for found in self._located for one in linked_worktrees(found.common)}
        self._tops_of_roots = [found.top if found is not None else root for root, found in located]
        for root, found in located:
            if found is None:
                self._files(root)
                continue
            within = [one for one, place in located if place is not None and place.top == found.top]
            limits = tuple(within) if narrow and found.top not in within else ()
            self._repository(found, limits)
            if found.bare:
                self._hub(root, found)
        declared = set(self._seen)
        for top in self._entered(entered, roots, declared):
            self._enter(top)
        kinds = "+".join("files" if found is None else "git" for _, found in located)
        survey = Survey(
            self.at,
            self.total.notes,
            tuple(self.places),
            tuple(map(os.fsdecode, sorted(self._seen - declared))),
            tuple(sorted(linked)),
        )
        shared = self.others.sharing(roots, narrow)
        deeds = tuple(self.deeds[-MOST_DEEDS:])
        return Looked(f"{kinds}:{self.total.work}", survey, deeds, tuple(self.budget.notes), self.lost, shared)

    # --- places ------------------------------------------------------------------------------------------------------

    def _files(self, top: bytes) -> None:
        sums, excluded = Sums(), replace(self.excluded, top=top)
        sums.put(False, b"files")
        for path, is_repository in walk(top, self.budget, excluded):
            if is_repository:
                self._nested(path, sums, within_repository=False)
            else:
                sums.put(excluded.is_note(path), path[len(top) :], untracked_print(path, self.budget))
        self.total.add(self._label(top), sums)

    def _nested(self, path: bytes, sums: Sums, within_repository: bool = True) -> None:
        """A repository within: a submodule, a clone, or one of several below a directory that is none."""
        if self.budget.repositories <= 0:
            self.budget.notes["too many repositories: not all of them were looked at"] = None
            return
        if b"\n" in path:
            self.budget.notes["a repository with a line break in its path was not looked at"] = None
            sums.put(False, b"not told", self._label(path))
            return
        found = locate(path, self.budget.deadline)
        if found is None:
            sums.put(False, b"no repository", self._label(path))
        elif within_repository and (found.top in self.others.tops or self._tops(found.common)):
            # Another agent's own place, or a worktree, which counts only for an agent that has entered it.
            return
        else:
            self._repository(found, self.excluded.within)

    def _hub(self, root: bytes, found: Location) -> None:
        """A bare repository as a place to work in: so are the worktrees that lie in the same directory."""
        for linked in linked_worktrees(found.common):
            if linked.top.startswith(root + b"/") and linked.top not in self.others.tops:
                self._enter(linked.top)

    def _enter(self, top: bytes) -> None:
        """A worktree beside the declared ones: what was dirty in it before it was ever looked at does not count."""
        found = locate(top, self.budget.deadline) if os.path.isdir(top) else None
        if found is None or found.bare or not self._tops(found.common) or self.budget.repositories <= 0:
            return
        is_new = any(one.top == found.top and self._is_new(one) for one in linked_worktrees(found.common))
        known = self.since is None or self._earlier(found.top) is not None or is_new
        self._repository(found, (), counts=known)

    def _entered(self, entered: Iterable[bytes], roots: Sequence[bytes], declared: set[bytes]) -> list[bytes]:
        """The worktrees that the agent is known to have entered, and those that it must have made itself."""
        found = dict.fromkeys(top_of(path) for path in entered)
        if self.since is not None:
            for common in dict.fromkeys(one.common for one in self._located):
                for one in linked_worktrees(common):
                    if not self._is_new(one) or one.top in found or one.top in declared:
                        continue
                    is_own = self.others.is_own(one, common, self._located)
                    if is_own is None:
                        self.lost = "a worktree was made, and nothing tells whose it is"
                    elif is_own:
                        found[one.top] = None
        return [top for top in found if top not in declared and top not in self.others.tops]

    def _is_new(self, linked: Linked) -> bool:
        return self.since is not None and linked.mark not in self.since.linked

    # --- one worktree ------------------------------------------------------------------------------------------------

    def _repository(self, found: Location, within: tuple[bytes, ...], counts: bool = True) -> None:
        if found.top in self._seen:
            return
        self._seen.add(found.top)
        self.budget.repositories -= 1
        plumbing = Plumbing(os.fsdecode(found.top), self.budget.deadline)
        excluded = replace(self.excluded, top=found.top, within=within)
        commit, tree, branch = _head(plumbing)
        ground = Ground(plumbing, found.top, found.git_directory, found.common, excluded, branch, commit)
        # The marks come first: what is committed while this look lasts belongs to the next one.
        place, sums = ground.place(self.at), Sums()
        if self.since is not None:
            self._made_on(ground)
        if not found.bare:
            self._content(ground, found, tree, sums)
        self.places.append(place)
        if counts:
            self.total.add(self._label(found.top), sums)

    def _made_on(self, ground: Ground) -> None:
        assert self.since is not None
        before = self._earlier(ground.top)
        # Other refs belong to the whole repository: whichever worktree was looked at tells how they were.
        looked_at = before or next((one for top in self._tops(ground.common) if (one := self._earlier(top))), None)
        refs = dict(looked_at.refs) if looked_at is not None else {}
        made = Since(ground, before, self.since.at, refs, self.others.is_alone(ground.common, self._located))
        self.deeds += made.deeds()
        self.lost = self.lost or made.lost

    def _label(self, top: bytes) -> bytes:
        """What names a place in the fingerprint: the same after its directory was moved, and a link put there."""
        for number, root in enumerate(self._tops_of_roots):
            if top == root or top.startswith(root + b"/"):
                return b"%d %b" % (number, top[len(root) :])
        return top

    def _tops(self, common: bytes) -> list[bytes]:
        return [found.top for found in self._located if found.common == common]

    def _earlier(self, top: bytes) -> Place | None:
        places = self.since.places if self.since is not None else ()
        return next((place for place in places if place.top == os.fsdecode(top)), None)

    def _content(self, ground: Ground, found: Location, tree: str, sums: Sums) -> None:
        with ThreadPoolExecutor(1) as beside:
            # git looks for new files on another core meanwhile.
            others = beside.submit(ground.plumbing.fields, *OTHERS)
            index = index_of(ground.plumbing, found.top, found.git_directory, found.object_format)
            nested = self._tracked(ground, index, tree, sums) + self._untracked(ground, others.result(), sums)
        for path in sorted(nested):
            if os.path.lexists(os.path.join(path, b".git")):
                self._nested(path, sums)

    def _tracked(self, ground: Ground, index: Index, tree: str, sums: Sums) -> list[bytes]:
        """Take in what is staged, and the files that differ from the index; returns the submodules."""
        top, covers, is_note = ground.top + b"/", ground.excluded.covers, ground.excluded.is_note
        committed: dict[bytes, tuple[int, bytes]] | None = None
        if not tree:
            committed = {}
        elif index.tree.hex() != tree:
            told = ground.plumbing.output("ls-tree", "-r", "-z", "--full-tree", tree, limit=INDEX_LIMIT)
            committed = tree_entries(told)
        submodules = []
        for number, entry in enumerate(index.entries):
            path = top + entry.path
            was = committed.pop(entry.path, None) if committed is not None else None
            if covers(path):
                continue
            kind = entry.mode & FILE_TYPE
            as_committed = was is not None and (was[0] & FILE_TYPE, was[1]) == (kind, entry.blob)
            if committed is not None and (entry.stage or not as_committed):
                # Of the mode its kind counts, and permissions do not.
                sums.put(is_note(path), b"staged", b"%o %d" % (kind, entry.stage), entry.blob, entry.path)
            if number % 1000 == 0:
                self.budget.require_time()
            if entry.mode == GITLINK:
                submodules.append(path)
            elif not entry.is_left_alone and differs_by_stat(entry, path, index.written) is not False:
                content = tracked_print(path, entry.blob.hex(), self.budget)
                self.budget.require_time()
                if content is not None:
                    sums.put(is_note(path), b"changed", entry.path, content)
        for name in committed or ():
            if not covers(top + name):
                sums.put(is_note(top + name), b"removed", name)
        return submodules

    def _untracked(self, ground: Ground, names: Iterable[bytes], sums: Sums) -> list[bytes]:
        """Take in the files that are neither tracked nor ignored; returns repositories among them."""
        repositories = []
        for name in sorted(names):
            path = ground.top + b"/" + name.rstrip(b"/")
            if ground.excluded.covers(path):
                continue
            if name.endswith(b"/"):
                repositories.append(path)
                continue
            sums.put(ground.excluded.is_note(path), b"new", name, untracked_print(path, self.budget))
            self.budget.require_time()
        return repositories


def _head(plumbing: Plumbing) -> tuple[str, str, bytes]:
    """Commit, tree and branch of HEAD; empty where there is none yet. Raises PlumbingFailed."""
    asked = ("rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
    told = plumbing.lines(*asked, accepted=(0, 128))
    if len(told) == 3 and _HASH.fullmatch(told[0]) and _HASH.fullmatch(told[1]):
        is_branch = told[2].startswith("refs/heads/")
        return told[0], told[1], os.fsencode(told[2].removeprefix("refs/heads/")) if is_branch else b""
    if plumbing.lines("rev-parse", "-q", "--verify", "HEAD", accepted=(0, 1)):
        raise PlumbingFailed("the commit that HEAD names cannot be read")
    branch = next(iter(plumbing.lines("symbolic-ref", "-q", "HEAD", accepted=(0, 1))), "")
    return "", "", os.fsencode(branch.removeprefix("refs/heads/"))
