"""The nouns of an agent's work: how it looks at one moment, what was made of it since another, and its class.

Three classes: *work*; *notes*, which are paths that `breaker.notes` names; and nothing. What cannot be told is unknown,
and is none of the three. Uncommitted content is compared as a whole (the fingerprint). What was committed, stashed or
pushed is told one by one, as deeds, because it may be gone from sight when the iteration is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DeedKind = Literal["commit", "stash", "push"]


@dataclass(frozen=True, slots=True)
class Place:
    """One worktree at one moment. top: its directory. head: the commit that it stands on; empty for none.

    log, stash: where the reflogs of HEAD and of the stash ended, in the form of drivers.git.reflog; empty for no log.
    heads: the commits of its local heads, taken only where HEAD has no reflog. refs: path and end of the reflogs of
    other refs that were written just before.
    """

    top: str
    head: str = ""
    log: str = ""
    stash: str = ""
    heads: tuple[str, ...] = ()
    refs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at the work saw beside the fingerprint. notes: the fingerprint of the notes. at: wall seconds.

    entered: worktrees beside the declared directories that the agent has entered or made. linked: marks of the linked
    worktrees that there were, so that a later look knows which are new.
    """

    at: float = 0.0
    notes: str = ""
    places: tuple[Place, ...] = ()
    entered: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was committed, stashed or pushed. key: the same for the same content, so nothing counts twice.

    notes: all of its paths are notes. where: the worktree.
    """

    kind: DeedKind
    key: str
    notes: bool = False
    where: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What an iteration left, beside the fingerprint of the work. notes: the fingerprints of notes before and after it.

    lost: why its commits cannot be told, if so. shared: other agents at work in the same worktree, whose changes look
    just the same.
    """

    deeds: tuple[Deed, ...] = ()
    notes: tuple[str, str] = ("", "")
    lost: str = ""
    shared: tuple[str, ...] = ()


NOTHING_FOUND = Findings()


def kind_of(fingerprint: str) -> str:
    """By which method a fingerprint was taken; two of different kinds cannot be compared."""
    return fingerprint.partition(":")[0]
