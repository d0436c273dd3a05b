"""Open loops by structure: each kind has its own proof of being open, and its own proof of being closed.

No words of any language decide anything here: ids, states, exit codes, file names and times do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops import asked, background, checks, inbox, plan, request, said, tasks, worktree
from phoenixd.memory.brief.loops.seen import Found, Seen


@dataclass(frozen=True, slots=True)
class Kind:
    """found: what is open. closed: why a known loop is so no more; None: nothing proves it.

    doubted: since when (wall) nobody can say whether it is still open; None: there is no doubt.
    """

    found: Callable[[Seen], Iterator[Found]]
    closed: Callable[[OpenLoop, Seen], str | None]
    doubted: Callable[[OpenLoop, Seen], float | None] = lambda loop, seen: None


KINDS: dict[str, Kind] = {
    asked.KIND: Kind(asked.found, asked.closed),
    request.KIND: Kind(request.found, request.closed, request.doubted),
    inbox.KIND: Kind(inbox.found, inbox.closed),
    tasks.KIND: Kind(tasks.found, tasks.closed),
    plan.KIND: Kind(plan.found, plan.closed),
    checks.KIND: Kind(checks.found, checks.closed),
    background.KIND: Kind(background.found, background.closed),
    worktree.MERGE: Kind(worktree.merge, worktree.merge_closed),
    worktree.UNCOMMITTED: Kind(worktree.uncommitted, worktree.uncommitted_closed),
    worktree.UNPUSHED: Kind(worktree.unpushed, worktree.unpushed_closed),
    said.KIND: Kind(said.found, said.closed, said.spoken_of),
}
"""From what a successor has to know first to what it has to know last."""


def kind_named(name: str) -> Kind:
    """A kind by its name; one that this version does not know is known from words alone."""
    return KINDS.get(name, KINDS[said.KIND])
