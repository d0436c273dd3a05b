"""What git says of an agent's directory, for its brief."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: its abbreviated id, its day, and the first line of its message."""

    id: str
    day: str
    subject: str


@dataclass(frozen=True, slots=True)
class Made:
    """A commit that was made in this very working tree, and when (wall seconds, as the reflog tells)."""

    id: str
    at: float
    subject: str


@dataclass(frozen=True, slots=True)
class GitSummary:
    """A repository at one moment. Counts are None where they could not be taken; problem says why, with the remedy.

    made: newest first, those that still belong to the branch.
    """

    branch: str | None = None
    commits: tuple[Commit, ...] = ()
    changed: int | None = None
    untracked: int | None = None
    problem: str | None = None
    made: tuple[Made, ...] = ()
