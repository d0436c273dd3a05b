"""What came of a handoff's work on files, and a successor's word."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HandoffAcked:
    """A successor acknowledges, and quotes its package: the hash, the one-time word, and facts by their names.

    changed: the package file on disk is no longer the one that was written. missing: what the newest package tells
    otherwise than the project's files are; missing_artifacts: the same of artifacts alone.
    """

    agent: str
    package: str
    word: str = field(repr=False)
    facts: tuple[tuple[str, str], ...] = ()
    by: str = "operator"
    changed: bool = False
    missing: str = ""
    missing_artifacts: str = ""


@dataclass(frozen=True, slots=True)
class PapersUpdated:
    """The project's plans, contexts and manifests tell what the ledger and the reports do. agent: the seat.

    note: what went otherwise than the configuration says. tokens: what a model took that words them.
    """

    agent: str
    handoff: str
    note: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class PapersFailed:
    """They could not be brought up to date. final: to try again would fail alike. tokens: as PapersUpdated has them.

    remedy: the command without which the next handoff would fail alike.
    """

    agent: str
    handoff: str
    why: str
    final: bool = False
    tokens: int = 0
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class PackageWritten:
    """The package stands in both sessions' directories.

    package: its hash. word: the one-time word in it. facts: what an ack has to quote beside, by name. opening: what the
    successor is told first. previous, session: the ids of both sessions in it. agent: the seat.
    """

    agent: str
    handoff: str
    package: str
    word: str = field(repr=False)
    facts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    opening: str = field(default="", repr=False)
    previous: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class PackageFailed:
    """The package could not be written. final: to try again would fail alike."""

    agent: str
    handoff: str
    why: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class PackageChecked:
    """The package that a successor's last words, or its file, quote was held against the disk; fields as HandoffAcked
    has them."""

    agent: str
    handoff: str
    package: str
    changed: bool = False
    missing: str = ""
    missing_artifacts: str = ""


@dataclass(frozen=True, slots=True)
class AckFileSeen:
    """A successor's session has a file handoff-ack.json. agent: the seat.

    mark: tells this content of it, as it was written then, from any other. package, word, facts: as HandoffAcked has
    them. run: the id of the run that it names as its writer's; session, generation: those that it names, or empty.
    fault: why it is no acknowledgement that can be read.
    """

    agent: str
    handoff: str
    mark: str
    package: str = ""
    word: str = field(default="", repr=False)
    facts: tuple[tuple[str, str], ...] = ()
    run: str = ""
    session: str = ""
    generation: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class AddendumWritten:
    """What came too late for a package stands beside it. agent: the seat.

    path: empty where nothing came too late, or, with why, where it could not be written. files, said: how many files
    changed, and prompts came.
    """

    agent: str
    handoff: str
    path: str = ""
    files: int = 0
    said: int = 0
    why: str = ""


HandoffWork = (
    HandoffAcked | PapersUpdated | PapersFailed | PackageWritten | PackageFailed | PackageChecked | AckFileSeen
    | AddendumWritten
)  # fmt: skip
"""What came of work on a project's files, whose agent is the seat; and a successor's word, about itself."""
