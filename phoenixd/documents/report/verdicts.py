"""What became of a claim: verified, contradicted or unverifiable, with the reason and the agent's words beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.report.claims import Claim

Outcome = Literal["verified", "contradicted", "unverifiable"]
OUTCOMES: tuple[Outcome, ...] = ("contradicted", "verified", "unverifiable")
KINDS = {
    "FileClaim": "file", "CommandClaim": "command", "CountClaim": "tests", "LoopClaim": "loop",
    "CommitClaim": "commit", "WordsClaim": "words",
}  # fmt: skip
SHOWN = 300
"""Characters of a claim in a line for people."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim's. why: a fact and where it was found, or what is missing."""

    claim: Claim
    outcome: Outcome
    why: str

    @property
    def kind(self) -> str:
        """The form of the claim, in one word."""
        return KINDS[type(self.claim).__name__]


def counted(verdicts: Iterable[Verdict]) -> dict[Outcome, int]:
    """How many claims came out so."""
    found: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
    for one in verdicts:
        found[one.outcome] += 1
    return found


def line(verdict: Verdict, clean: Callable[[str], str]) -> str:
    """A verdict as one line, whatever stands in the claim."""
    said = one_line(clean(verdict.claim.words), SHOWN)
    return f"{verdict.outcome}: {said} ({one_line(clean(verdict.why), SHOWN)})"
