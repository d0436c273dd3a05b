"""What came of asking about a failure that no rule knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.treatment.examined import Opinion


@dataclass(frozen=True, slots=True)
class CaseExamined:
    """A reader has answered a question about a Case, or has not. problem: why there is no opinion, in words.

    number: of the question. tokens: what the asking cost, 0 where that is not told.
    """

    agent: str
    incarnation: int
    case: str
    number: int
    opinion: Opinion | None = field(default=None, repr=False)
    problem: str = ""
    tokens: int = 0


ClinicEvent = CaseExamined
"""About a Case, which may outlive the run that it began with."""
