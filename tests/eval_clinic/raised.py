"""Failures of pydantic-ai, which are raised live and diagnosed by the library's own rules, by type."""

from __future__ import annotations

from phoenixd.core.treatment.triage import Diagnosis
from tests.eval_clinic.reading import Record


def diagnosis_of(record: Record) -> Diagnosis | None:
    """What the library says of the failure that a record names; None where the library is not there."""
    return None
