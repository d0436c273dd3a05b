"""What was made in a worktree since an earlier look: commits, stashes and pushes, told by reflogs and trees alone.

A commit counts where the reflog of HEAD of this very worktree says that it was made here, and where its tree is new. A
stash counts where it was taken of a branch of this worktree, a push where the commit stood here. Checkouts, resets,
fetches and fast-forwards bring what was made elsewhere. Nothing is run but rev-list, diff-tree of two trees, and
for-each-ref: they look at objects and never at files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from phoenixd.core.work import Deed, DeedKind, Place
from phoenixd.drivers.git.objects import Change, Commit, Objects, digest_of
from phoenixd.drivers.git.plumbing import Plumbing
from phoenixd.drivers.git.reflog import Appended, Move, appended, branches_of, kind_of, mark_of
from phoenixd.drivers.git.refs import HEADS, REMOTES, RefMove, is_made_here, marks_at, moves_since, stood_on_elsewhere
from phoenixd.drivers.git.work_files import Excluded
from phoenixd.drivers.git.worktrees import head_of

MOST_MOVES = 32
"""Moves of one iteration that are looked at, the newest: an agent with more moves has made something."""
MOST_BEFORE = 200
"""Earlier moves whose trees are known."""
MOST_HEADS = 200
_STASHED = re.compile(rb"(?:WIP on|On) ([^\n]+?): ")


@dataclass(frozen=True, slots=True)
class Ground:
    """A worktree, or a bare repository (then `top` is its directory). branch: the one that HEAD is on, or empty."""

    plumbing: Plumbing
    top: bytes
    git_directory: bytes
    common: bytes
    excluded: Excluded
    branch: bytes = b""
    head: str = ""

    @property
    def log(self) -> bytes:
        return self.git_directory + b"/logs/HEAD"

    @property
    def stash_log(self) -> bytes:
        return self.common + b"/logs/refs/stash"

    def place(self, at: float) -> Place:
        """How it stands now, at that wall time."""
        log = mark_of(self.log)
        heads = () if log else tuple(sorted(one[:16] for one in heads_of(self)))
        return Place(os.fsdecode(self.top), self.head, log, mark_of(self.stash_log), heads, marks_at(self.common, at))

    def stood_on(self, log: Appended) -> set[str]:
        """The commits on which this worktree has stood, as far as its log is read."""
        moves = (*log.before, *log.moves)
        return {self.head, *(move.new for move in moves), *(move.old for move in moves)}


@dataclass(slots=True)
class Since:
    """What was made on a ground since `before`, at wall time `at`. before: None where it was not looked at then.

    refs: the ends of other refs' logs then. alone: nobody else is known to work in this repository, so that what no
    worktree's log tells was made here too.
    """

    ground: Ground
    before: Place | None
    at: float
    refs: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    lost: str = ""
    objects: Objects = field(init=False)

    def __post_init__(self) -> None:
        self.objects = Objects(self.ground.plumbing, len(self.ground.head))

    def deeds(self) -> list[Deed]:
        """Everything that was made, bounded; sets `lost` where there may have been more. Raises PlumbingFailed."""
        ground, before = self.ground, self.before
        log = appended(ground.log, before.log if before is not None else None, self.at)
        if not log.exists:
            return self._by_heads()
        found = list(self._committed(log))
        found += self._stashed(log)
        found += self._of_other_refs(log)
        if log.lost and not found:
            self.lost = self.lost or "the reflog of HEAD was rewritten meanwhile, so nobody can tell what was committed"
        return found

    # --- commits -----------------------------------------------------------------------------------------------------

    def _committed(self, log: Appended) -> Iterator[Deed]:
        moves = [*log.moves[-MOST_MOVES:], *self._unlogged(log)]
        made = [(move, kind_of(move, self.ground.branch)) for move in moves if move.old != move.new]
        made = [(move, kind) for move, kind in made if kind != "moved"]
        if not made:
            return
        earlier = {one for move in log.before[-MOST_BEFORE:] for one in (move.old, move.new)}
        if self.before is not None and self.before.head:
            earlier.add(self.before.head)
        objects = self.objects
        objects.look_up(earlier | {one for move, _ in made for one in (move.old, move.new)})
        known = {objects.commits[one].tree for one in earlier if one in objects.commits}
        originals = self._originals(log) if any(kind == "pick" for _, kind in made) else frozenset()
        for move, kind in made:
            commit = objects.commits.get(move.new)
            if commit is None or commit.tree in known:
                continue
            known.add(commit.tree)
            if kind == "unnamed" and self._is_elsewhere(move.new):
                continue
            changes = self._resolved(commit) if kind == "pulled" else objects.step(move.old, commit)
            if kind == "pick" and digest_of(changes) in originals:
                continue
            yield from self._deed("commit", changes, commit.tree)

    def _unlogged(self, log: Appended) -> Iterator[Move]:
        """HEAD stands where no line of its log says: a tool has moved it that keeps no log."""
        head = self.ground.head
        last = [*log.before[-1:], *log.moves[-1:]]
        was = last[-1].new if last else (self.before.head if self.before is not None else "")
        if head and was and was != head and not (self.before is not None and self.before.head == head):
            yield Move(was, head, 0, b"")

    def _originals(self, log: Appended) -> frozenset[str]:
        """Digests of the commits that a rebase makes anew: made again, they are nothing new."""
        starts = [move for move in (*log.before, *log.moves) if b"(start)" in move.message]
        if not starts:
            return frozenset()
        ids = self.objects.list(f"--max-count={MOST_MOVES}", starts[-1].old, "--not", starts[-1].new)
        return frozenset(map(digest_of, self.objects.made(self.objects.known(ids))))

    def _resolved(self, merge: Commit) -> list[Change]:
        """What a merge holds that none of its parents does: somebody has resolved a conflict."""
        self.objects.look_up(merge.parents)
        pairs = [(self.objects.tree(parent), merge.tree) for parent in merge.parents]
        found = [set(one) for one in self.objects.between(pairs)]
        return sorted(set.intersection(*found)) if found else []

    def _is_elsewhere(self, commit: str) -> bool:
        """Whether a commit came with a fetch: a remote's branch holds it, or FETCH_HEAD."""
        return not self.objects.list("--max-count=1", commit, "--not", "--remotes", *self._fetched())

    def _fetched(self) -> list[str]:
        found: list[str] = []
        for directory in {self.ground.git_directory, self.ground.common}:
            told = head_of(directory + b"/FETCH_HEAD").decode("ascii", "replace")
            found += re.findall(r"(?m)^[0-9a-f]{40,64}", told)
        self.objects.look_up(found)
        return [one for one in found[:MOST_HEADS] if one in self.objects.commits]

    # --- without a reflog --------------------------------------------------------------------------------------------

    def _by_heads(self) -> list[Deed]:
        """Where HEAD has no reflog, the commits that local heads have gained."""
        if self.before is None:
            return []
        if self.before.log:
            self.lost = "the reflog of HEAD is gone, so nobody can tell what was committed"
            return []
        known = set(self.before.heads)
        fresh = [one for one in heads_of(self.ground) if one[:16] not in known][:MOST_MOVES]
        self.objects.look_up([*fresh, self.before.head] if self.before.head else fresh)
        found: list[Deed] = []
        for one in fresh:
            commit = self.objects.commits.get(one)
            if commit is None or self._is_elsewhere_unlogged(one):
                continue
            changes = next(self.objects.made([commit]))
            found += self._deed("commit", changes, commit.tree)
        return found

    def _is_elsewhere_unlogged(self, commit: str) -> bool:
        fetched = self._fetched()
        return bool(fetched) and not self.objects.list("--max-count=1", commit, "--not", *fetched)

    # --- stash and remotes -------------------------------------------------------------------------------------------

    def _stashed(self, log: Appended) -> Iterator[Deed]:
        before = self.before.stash if self.before is not None else None
        moves = appended(self.ground.stash_log, before, self.at).moves[-MOST_MOVES:]
        if not moves:
            return
        branches = {self.ground.branch, *branches_of(log.moves)}
        here = self.ground.stood_on(log)
        self.objects.look_up(move.new for move in moves)
        for move in moves:
            commit, words = self.objects.commits.get(move.new), _STASHED.match(move.message)
            if commit is None or not commit.parents or commit.parents[0] not in here:
                continue
            if words and words[1] != b"(no branch)" and words[1] not in branches:
                continue
            self.objects.look_up(commit.parents)
            pairs = [(self.objects.tree(commit.parents[0]), commit.tree)]
            pairs += [(self.objects.tree(""), self.objects.tree(one)) for one in commit.parents[2:]]
            changes = [change for one in self.objects.between(pairs) for change in one]
            yield from self._deed("stash", changes, digest_of(changes))

    def _of_other_refs(self, log: Appended) -> Iterator[Deed]:
        """Pushes from here, and commits and pushes from a worktree that was made and removed meanwhile."""
        common, here = self.ground.common, self.ground.stood_on(log)
        moved = moves_since(common, REMOTES, self.at, self.refs)
        pushes = [one for one in moved if one.move.message.startswith(b"update by push")]
        for push in pushes:
            if push.move.new in here:
                yield from self._of_push(push)
        moved = moves_since(common, HEADS, self.at, self.refs)
        made = [one for one in moved if kind_of(one.move) in ("commit", "pick")]
        foreign = [one for one in (*made, *pushes) if one.move.new not in here]
        if not foreign or self.before is None:
            return
        elsewhere, bases = stood_on_elsewhere(common, self.ground.log), dict[str, str]()
        for one in foreign:
            if one.move.new in elsewhere:
                continue
            # Of several commits on each other the first one tells where all of them began.
            base = bases[one.move.new] = bases.get(one.move.old, one.move.old)
            is_own = self.alone or is_made_here(base, here, elsewhere)
            if is_own is None:
                self.lost = "somebody committed in a worktree that is gone, and nobody can tell who"
            elif is_own and one in pushes:
                yield from self._of_push(one)
            elif is_own:
                yield from self._of_orphan(one.move)

    def _of_orphan(self, move: Move) -> Iterator[Deed]:
        self.objects.look_up((move.old, move.new))
        commit = self.objects.commits.get(move.new)
        if commit is not None and commit.tree != self.objects.tree(move.old):
            yield from self._deed("commit", self.objects.step(move.old, commit), commit.tree)

    def _of_push(self, push: RefMove) -> Iterator[Deed]:
        """What a push has brought to its remote for the first time."""
        is_first = not push.move.old.strip("0")
        others = [f"--exclude={push.name}", "--remotes"] if is_first else [push.move.old]
        ids = self.objects.list(f"--max-count={MOST_MOVES}", push.move.new, "--not", *others)
        self.objects.look_up([*ids, push.move.new, push.move.old])
        new, old = self.objects.commits.get(push.move.new), self.objects.commits.get(push.move.old)
        if new is None or (old is not None and old.tree == new.tree):
            return
        changes = [change for one in self.objects.made(self.objects.known(ids)) for change in one]
        yield from self._deed("push", changes, new.tree)

    def _deed(self, kind: DeedKind, changes: Sequence[Change], whole: str) -> Iterator[Deed]:
        """A deed of its work and one of its notes, as far as there are any. whole: what names all of it together."""
        excluded, top = self.ground.excluded, self.ground.top + b"/"
        counted = [change for change in changes if not excluded.covers(top + change[0])]
        notes = [change for change in counted if excluded.is_note(top + change[0])]
        work = [change for change in counted if not excluded.is_note(top + change[0])]
        for part in (work, notes):
            if part:
                # Where some paths do not count, the tree differs also when all that counts is as it was.
                key = digest_of(part) if excluded.has_patterns else whole[:20]
                yield Deed(kind, f"{kind}:{key}", part is notes, os.fsdecode(self.ground.top))


def heads_of(ground: Ground) -> list[str]:
    """The commits of HEAD and of the local heads that no other worktree has checked out, the newest first."""
    # An agent that makes a worktree names it, and a name may hold a line break.
    told = ground.plumbing.fields(
        "for-each-ref", f"--count={MOST_HEADS}", "--sort=-committerdate", "--format=%(objectname) %(worktreepath)%00",
        "refs/heads",
    )  # fmt: skip
    found = [ground.head] if ground.head else []
    for one in told:
        commit, _, worktree = one.removeprefix(b"\n").partition(b" ")
        if commit.decode() not in found and worktree in (b"", ground.top):
            found.append(commit.decode())
    return found
