"""What a model is asked of a failure that no rule knows, what it said, and what the asking has cost. Values alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from phoenixd.core.moment import Instant
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.words import UNSURE, Occasion, PrescribedAction, RootCause

DAY = 86400.0
GRACE = 15.0
"""Seconds beyond the reader's own time until its answer is not waited for any more."""
MOST_PENDING = 3
"""Questions of the whole fleet that are open at once."""
MOST_ASKED = 2
"""Questions about one Case."""
EXPLANATION_LIMIT = NOTE_LIMIT = 500
PROBLEM_LIMIT = 300
MOST_TOKENS = 10_000_000
"""What one answer is believed to have cost at most."""


@dataclass(frozen=True, slots=True)
class ReaderRules:
    """Who reads a failure that no rule knows: a model or a program; without either nobody does. timeout: seconds."""

    model: str = ""
    command: tuple[str, ...] = ()
    timeout: float = 60.0
    questions_per_day: int = 24
    tokens_per_day: int = 200_000

    @property
    def name(self) -> str:
        """The reader in words; empty where there is none."""
        if self.command:
            return f"the command {self.command[0]}"
        return f"the model {self.model}" if self.model else ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A diagnosis and a prescription as the seed has them (C13 to C18), not believed yet.

    note: what the next run might be told, where modify_prompt is prescribed. No authority stands here, and none is
    ever read from an answer.
    """

    cause: RootCause
    explanation: str
    confidence: float
    action: PrescribedAction
    note: str = ""


@dataclass(frozen=True, slots=True)
class FailureRead:
    """What came of asking about a Case. opinion: what is believed, None where nothing is, and then problem says why.

    by: the reader in words. times: questions about this Case so far. answered: wall, None where no answer came.
    """

    incarnation: int
    case: str
    by: str
    times: int = 0
    answered: float | None = None
    opinion: Opinion | None = None
    problem: str = ""
    tokens: int = 0
    name: Literal["failure_read"] = "failure_read"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is open. evidence: without words. until: when its answer comes too late."""

    number: int
    case: str
    agent: str
    incarnation: int
    occasion: Occasion
    until: Instant
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Examinations:
    """The open questions, and what the day's have cost. day: in UTC since the epoch. problem: of the newest answer."""

    next: int = 1
    pending: tuple[Question, ...] = ()
    day: int = 0
    questions: int = 0
    tokens: int = 0
    problem: str = ""

    def find(self, number: int) -> Question | None:
        """The open question of that number."""
        return next((one for one in self.pending if one.number == number), None)

    def without(self, number: int) -> Examinations:
        """Without that question among the open ones."""
        return replace(self, pending=tuple(one for one in self.pending if one.number != number))

    def of_the_day(self, wall: float) -> Examinations:
        """With counts of today. A day back is a clock set back over midnight: no new budget for that. Further back, the
        counted day was that of a wrong clock."""
        day = int(wall // DAY)
        return self if self.day - 1 <= day <= self.day else replace(self, day=day, questions=0, tokens=0)

    @property
    def due(self) -> Instant | None:
        """When the first open question is given up."""
        return min((one.until for one in self.pending), default=None)


def why_not_believed(opinion: Opinion) -> str:
    """Why nothing of an opinion counts, in words; empty where it does."""
    if opinion.cause not in get_args(RootCause):
        return "its answer names a cause that there is not"
    if opinion.action not in get_args(PrescribedAction):
        return "its answer prescribes an action that there is not"
    if type(opinion.confidence) not in (int, float) or not math.isfinite(opinion.confidence):
        return "the confidence of its answer is no number"
    if not 0 <= opinion.confidence <= 1:
        return "the confidence of its answer is not between 0 and 1"
    if not opinion.explanation.strip():
        return "its answer explains nothing"
    if opinion.action == "modify_prompt" and not opinion.note.strip():
        return "its answer prescribes another prompt, and names none"
    if opinion.confidence < UNSURE:
        return f"it guesses {opinion.cause} (confidence {opinion.confidence:g}, below {UNSURE:g})"
    return ""


def bounded(opinion: Opinion) -> Opinion:
    """The same with texts of bounded length."""
    return replace(opinion, explanation=opinion.explanation[:EXPLANATION_LIMIT], note=opinion.note[:NOTE_LIMIT])
