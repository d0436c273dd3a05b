"""Commits and trees as git tells them: which tree a commit has, and which paths differ between two trees.

rev-list and diff-tree of two trees look at objects alone: no file is read, and no filter, textconv or driver is run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed

EMPTY_TREES = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
               64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}  # fmt: skip

ID = re.compile(r"[0-9a-f]{40,64}")
_HEADER = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_CHANGE = re.compile(rb":[0-7]{6} ([0-7]{6}) [0-9a-f]{40,64} ([0-9a-f]{40,64}) [A-Z]\d*\0([^\0]*)\0")

Change = tuple[bytes, bytes, bytes]
"""Path, mode and blob."""


class Commit(NamedTuple):
    """What is known of one commit."""

    tree: str
    parents: tuple[str, ...]


@dataclass(slots=True)
class Objects:
    """A repository's commits, each looked up once. length: of a hash in hexadecimal; raises PlumbingFailed."""

    plumbing: Plumbing
    length: int
    commits: dict[str, Commit] = field(default_factory=dict)

    def tree(self, commit: str) -> str:
        """The tree of a commit that was looked up; the empty one for any other."""
        found = self.commits.get(commit)
        return found.tree if found is not None else EMPTY_TREES.get(self.length, EMPTY_TREES[40])

    def list(self, *arguments: str) -> Sequence[str]:
        """The ids of commits, as rev-list tells them; those that are gone are left out."""
        return self.plumbing.lines("rev-list", "--ignore-missing", *arguments)

    def look_up(self, ids: Iterable[str]) -> None:
        """Learn the trees and parents of commits; those that are gone stay unknown."""
        # No other word is taken for an id: git would read it as an option, and one of them has it write a file.
        wanted = sorted({one for one in ids if ID.fullmatch(one) and one.strip("0")} - self.commits.keys())
        if not wanted:
            return
        asked = ("--no-walk=unsorted", "--no-commit-header", "--format=%H %T %P")
        for line in self.list(*asked, *wanted):
            commit, tree, *parents = line.split()
            self.commits[commit] = Commit(tree, tuple(parents))

    def known(self, ids: Iterable[str]) -> Sequence[Commit]:
        """Look commits up, and return those that are there."""
        ids = tuple(ids)
        self.look_up(ids)
        return [self.commits[one] for one in ids if one in self.commits]

    def step(self, old: str, commit: Commit) -> Sequence[Change]:
        """What a move of a ref from one commit to another has changed; from its parent where the old one is gone."""
        if old.strip("0") and old not in self.commits:
            old = next(iter(commit.parents), "")
            self.look_up([old])
        return next(self.between([(self.tree(old), commit.tree)]))

    def made(self, commits: Iterable[Commit]) -> Iterator[Sequence[Change]]:
        """What each of these commits changes of its first parent."""
        commits = tuple(commits)
        firsts = [next(iter(commit.parents), "") for commit in commits]
        self.look_up(firsts)
        return self.between([(self.tree(first), commit.tree) for first, commit in zip(firsts, commits, strict=True)])

    def between(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Sequence[Change]]:
        """The paths that differ between trees, pair by pair; one that has too many says so by its name."""
        if not pairs:
            return
        given = "".join(f"{old} {new}\n" for old, new in pairs).encode()
        try:
            told = self.plumbing.output(
                "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv",
                given=given,
            )  # fmt: skip
        except PlumbingFailed as failure:
            if not failure.too_much:
                raise
            yield from ([(b"", b"", new.encode())] for _, new in pairs)
            return
        position = 0
        for _ in pairs:
            header = _HEADER.match(told, position)
            if header is None:
                raise PlumbingFailed("this git compares trees in an unknown form")
            position, changes = header.end(), []
            while change := _CHANGE.match(told, position):
                mode, blob, path = change.groups()
                changes.append((path, mode, blob))
                position = change.end()
            yield changes


def digest_of(changes: Iterable[Change]) -> str:
    """The same for the same paths with the same content."""
    hashing = hashlib.sha256()
    for path, mode, blob in sorted(changes):
        hashing.update(b"%d %b %b %b\0" % (len(path), path, mode, blob))
    return hashing.hexdigest()[:20]
