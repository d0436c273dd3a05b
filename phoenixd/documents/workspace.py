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
    top: str | None = None
    """The directory that holds all of its files."""
    dirty: tuple[str, ...] | None = None
    """Files that are not committed, below `top`; of a directory that is untracked as a whole its name and a slash."""
    ahead: int | None = None
    """Commits of the branch that no remote has; None: there is no remote, or it could not be told."""
    operation: str = ""
    """What git is in the middle of: merge, rebase, cherry-pick, revert; empty for nothing."""
    operation_at: float | None = None
    """When git began it (wall seconds, as its files tell)."""
    made: tuple[Made, ...] = ()
