"""Who else works where an agent works, and which of two a new worktree belongs to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from phoenixd.drivers.git.reflog import appended
from phoenixd.drivers.git.refs import is_made_here, stood_on
from phoenixd.drivers.git.worktrees import Linked, Location, linked_worktrees, top_of


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another agent's places. narrow: it is judged by these directories alone. is_up: it may be at work now."""

    name: str
    places: tuple[bytes, ...]
    narrow: bool = False
    is_up: bool = True


@dataclass(frozen=True)
class Neighbourhood:
    """All others, as one agent's look sees them; where their places lie is found out once."""

    neighbours: tuple[Neighbour, ...]

    @cached_property
    def tops(self) -> frozenset[bytes]:
        """The worktrees in which somebody else has a place."""
        return frozenset(top_of(place) for other in self.neighbours for place in other.places)

    def is_alone(self, common: bytes, own: Sequence[Location]) -> bool:
        """Whether nobody else has a place in a worktree of this repository, unless it is one of the agent's own."""
        tops = {one.top for one in linked_worktrees(common)} | {os.path.dirname(common)}
        return not (self.tops & tops) - {one.top for one in own}

    def is_own(self, linked: Linked, common: bytes, own: Sequence[Location]) -> bool | None:
        """Whether the agent has made a new worktree: nobody else could, or the commit that it began with tells."""
        if linked.top in self.tops:
            return False
        if self.is_alone(common, own):
            return True
        log = appended(linked.log, None, 0.0)
        moves = (*log.before, *log.moves)
        theirs = [one.log for one in linked_worktrees(common) if one.top in self.tops]
        theirs += [common + b"/logs/HEAD"] * (os.path.dirname(common) in self.tops)
        ours = [one.git_directory + b"/logs/HEAD" for one in own]
        return is_made_here(moves[0].new if moves else "", stood_on(ours), stood_on(theirs))

    def sharing(self, roots: Sequence[bytes], narrow: bool) -> tuple[str, ...]:
        """Who is up and works where his changes look just like the agent's own. narrow: as in Neighbour."""
        return tuple(sorted(one.name for one in self.neighbours if one.is_up and _is_shared(one, roots, narrow)))


def _is_shared(other: Neighbour, roots: Sequence[bytes], narrow: bool) -> bool:
    for place in other.places:
        for root in roots:
            if narrow and other.narrow and not _overlap(place, root):
                continue
            if top_of(place) == top_of(root) or (place.startswith(root + b"/") and not _is_in_worktree(root)):
                return True
    return False


def _is_in_worktree(directory: bytes) -> bool:
    return os.path.lexists(top_of(directory) + b"/.git")


def _overlap(one: bytes, other: bytes) -> bool:
    return one == other or one.startswith(other + b"/") or other.startswith(one + b"/")
