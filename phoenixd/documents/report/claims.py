"""The claims of a report, one class for each form. `words` is the claim as the agent wrote it, within bounds.

Everything here was written by an agent: texts are neither redacted nor to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Did = Literal["created", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class FileClaim:
    """A file that the agent says to have changed. sha256: 64 hex digits, or None where no whole hash was given."""

    words: str
    path: str
    sha256: str | None = None
    did: Did = "modified"


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """A command that was run. exit: the claimed exit code, None where none was given."""

    words: str
    command: str
    exit: int | None = None


@dataclass(frozen=True, slots=True)
class CountClaim:
    """What a test run counted. command: empty where none was named; passed, failed: None where not given."""

    words: str
    command: str = ""
    passed: int | None = None
    failed: int | None = None


@dataclass(frozen=True, slots=True)
class LoopClaim:
    """An open loop that was closed."""

    words: str
    id: str


@dataclass(frozen=True, slots=True)
class CommitClaim:
    """A commit that was made, by its subject."""

    words: str
    subject: str


@dataclass(frozen=True, slots=True)
class WordsClaim:
    """A free sentence."""

    words: str


Claim = FileClaim | CommandClaim | CountClaim | LoopClaim | CommitClaim | WordsClaim


@dataclass(frozen=True, slots=True)
class Report:
    """What a report claims, in its order. left_out: claims beyond the bound, and entries of an unknown form."""

    claims: tuple[Claim, ...]
    left_out: int = 0
