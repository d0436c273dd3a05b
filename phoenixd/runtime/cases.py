"""What an event changed of Cases, as the journal's tables keep it; without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent.run import Incident
from phoenixd.core.treatment.case import Case, Kept, Noticed, Treated
from phoenixd.core.treatment.evidence import known
from phoenixd.core.treatment.triage import explanation
from phoenixd.core.treatment.words import ACTION_OF
from phoenixd.documents.codec import encode
from phoenixd.documents.redact import CleanOf
from phoenixd.ports.journal import KeptIncident, KeptTreatment

SEEN_BEFORE = frozenset({"hung", "overtime"})
"""Of these the file was begun while the run still lived, as part of the decision that ended it."""


def incidents(kept: Iterable[Kept], clean: CleanOf) -> Iterator[KeptIncident]:
    """A row for each failure that was noticed."""
    for one in (noticed for change in kept for noticed in change.noticed):
        evidence = replace(one.evidence, said=clean(one.agent, one.evidence.said))
        yield KeptIncident(
            one.agent, one.incarnation, one.occasion, one.at, "", one.case, one.diagnosis.cause, one.diagnosis.rule,
            json.dumps(encode(evidence), separators=(",", ":")), number=one.number,
        )  # fmt: skip


def treatments(kept: Iterable[Kept]) -> Iterator[KeptTreatment]:
    """A row for each treatment that began, or that more is known of."""
    for change in kept:
        for one in change.treated:
            yield _treatment(change.case, one)


def copies(kept: Iterable[Kept]) -> Iterator[RecordIncident]:
    """The readable copies that are to be written: of each failure that has none, or has one with another diagnosis."""
    for one in (noticed for change in kept for noticed in change.noticed):
        if one.occasion not in SEEN_BEFORE and (one.is_corrected or not one.is_more):
            yield RecordIncident(one.agent, one.incarnation, _incident(one), known(one.evidence))


def _incident(one: Noticed) -> Incident:
    reason = f"Case {one.case}: {explanation(one.diagnosis)}"
    return Incident(one.incarnation, one.occasion, reason, one.at, case=one.case, number=one.number)


def _treatment(case: Case, one: Treated) -> KeptTreatment:
    return KeptTreatment(
        case.id, one.number, case.scope, case.cause, case.detail, case.rule, case.confidence, case.harness, one.agent,
        one.incarnation, ACTION_OF[one.treatment], one.treatment, one.by, one.failed_at, one.at, one.run,
        one.productive, one.turns, one.outcome, one.why, one.decided,
    )  # fmt: skip
