"""Triage: from evidence to a diagnosis, or to "unknown", by the table of rules alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.treatment.evidence import Evidence, Reading, cited
from phoenixd.core.treatment.rules import RULES
from phoenixd.core.treatment.words import RootCause, Treatment


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was wrong, which rule says so, and on what that rests. cause None: none of the six, or nobody knows."""

    cause: RootCause | None
    detail: str
    rule: str
    confidence: float
    readings: tuple[Reading, ...] = ()
    treatments: tuple[Treatment, ...] = ()

    @property
    def key(self) -> str:
        """By which failures are the same: the cause with its detail."""
        return f"{self.cause or 'unknown'}: {self.detail}"


def diagnose(evidence: Evidence) -> Diagnosis:
    """The first row that fits; the last one fits always."""
    rule = next(row for row in RULES if row.when(evidence))
    return Diagnosis(
        rule.cause, rule.detail, rule.name, rule.confidence, cited(evidence, rule.rests_on), rule.treatments
    )


def explanation(diagnosis: Diagnosis) -> str:
    """The diagnosis in a sentence for people (C14)."""
    known = ", ".join(f"{name} {value}" for name, value in diagnosis.readings if value not in ("", None, "no"))
    return f"{diagnosis.rule} ({known})" if known else diagnosis.rule


def prescribe(diagnosis: Diagnosis, tried: tuple[Treatment, ...] = ()) -> Treatment:
    """The mildest treatment that this Case has not had: never the same one twice for the same cause (F-CL-7)."""
    left = tuple(one for one in diagnosis.treatments if one not in tried)
    return left[0] if left else "abort"
