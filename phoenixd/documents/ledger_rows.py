"""The rows of a session's ledger: what stands of each task, command, job, file, plan, question, timer and utterance.

Times are wall seconds, None where unknown. Texts are as the agent wrote them until the ledger is made clean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from phoenixd.documents.deeds import JobEnd, Question, TaskStatus
from phoenixd.documents.transcript import Ending

T = TypeVar("T")


@dataclass(slots=True)
class Task:
    """A task of the CLI's own list. id None: the CLI gives none. at: when it became as it is."""

    id: str | None
    text: str
    status: TaskStatus
    began: float | None
    at: float | None


STOPPED_CODES = frozenset({124, 130, 143})
"""Codes of a run that a time limit or another hand ended: they say nothing of what it was to show."""


@dataclass(slots=True)
class Outcome:
    """How a run ended that came to an end of its own."""

    code: int | None
    failed: bool
    began: float | None
    ended: float | None


@dataclass(slots=True)
class Run:
    """The newest run of a command. failed None: unknown; interrupted: its end says nothing of what it was to show.

    first_code, first_failed: of the session's first run of it that came to an end of its own; None: as yet none.
    before: where this run shows nothing, how the newest one ended that did; None: there is none.
    """

    call: str
    text: str
    began: float | None
    ended: float | None
    code: int | None
    failed: bool | None
    interrupted: bool
    first_code: int | None = None
    first_failed: bool | None = None
    before: Outcome | None = None

    @property
    def outcome(self) -> Outcome | None:
        """How the newest run of the command ended that shows something."""
        if self.interrupted or self.failed is None or self.code in STOPPED_CODES:
            return self.before
        return Outcome(self.code, self.failed, self.began, self.ended)


@dataclass(slots=True)
class Job:
    """What went on in the background. how None with is_over: the CLI's word for its end is not known."""

    call: str
    job: str | None
    what: str
    is_command: bool
    began: float | None
    is_over: bool = False
    how: JobEnd | None = None
    code: int | None = None
    ended: float | None = None


@dataclass(slots=True)
class WrittenFile:
    """A file that the CLI's own tools wrote or edited; at: the last time."""

    path: str
    at: float | None


@dataclass(slots=True)
class Plan:
    """A plan, and what became of it. approved None: it waits for an answer, or nothing tells."""

    call: str
    text: str | None
    path: str | None
    proposed: float | None
    approved: bool | None = None
    answered: float | None = None


@dataclass(slots=True)
class AskedQuestion:
    """Questions of one call. answers None: open; empty: it was put off or refused, or the answer is unknown."""

    call: str
    questions: tuple[Question, ...]
    asked: float | None
    answers: tuple[str, ...] | None = None
    answered: float | None = None


@dataclass(slots=True)
class Timer:
    """A wake-up or schedule that stands; one that is not durable ends with the process."""

    call: str
    timer: str | None
    when: str
    prompt: str
    is_schedule: bool
    due: float | None
    is_durable: bool
    began: float | None


@dataclass(slots=True)
class Waiting:
    """What waits for the CLI to read it. key: of the text as it was written."""

    key: str
    text: str
    by_cli: bool
    at: float | None

    @property
    def names(self) -> tuple[str, ...]:
        """What the text may be known by that is not kept whole."""
        return (self.key,)


@dataclass(slots=True)
class Words:
    """Something said. number: the order of all that was said. is_final: the agent's turn ended with it.

    turn: of a person's words, how the turn that they belong to ended; None while it is open, or where nothing tells.
    begins: of a person's words that are not kept whole, the digests of all of them and of what they may begin with.
    """

    number: int
    speaker: Literal["person", "agent"]
    text: str
    at: float | None
    queued: bool = False
    is_final: bool | None = None
    turn: Ending | None = None
    key: str | None = None
    begins: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the text may be known by that is not kept whole."""
        return self.begins


def keep_row(rows: dict[str, T], key: str, row: T, most: int) -> None:
    """Put a row last, and let the oldest one go where there are too many."""
    rows.pop(key, None)
    rows[key] = row
    while len(rows) > most:
        del rows[next(iter(rows))]


def known_as(name: str, rows: Mapping[str, object]) -> str:
    """The key of a row that a CLI calls so: the name, or its digest where a kept ledger has it without its secret."""
    return hidden if name not in rows and (hidden := digest(name)) in rows else name


def is_called(row: str | None, name: str | None) -> bool:
    """Whether a row's name is that one, or its digest."""
    return row is not None and name is not None and row in (name, digest(name))


def digest(text: str) -> str:
    """What a text is known by, also after the secrets were taken out of it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
