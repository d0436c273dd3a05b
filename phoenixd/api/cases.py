"""Cases as the journal keeps them: as the clinic's document, as figures, and judged anew by today's rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from phoenixd.core.treatment.case import Case
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import FailureRead
from phoenixd.core.treatment.opening import SHARED
from phoenixd.core.treatment.outcome import Figure, Trial, figures
from phoenixd.core.treatment.triage import Diagnosis, diagnose, explanation, prescribe
from phoenixd.core.treatment.words import ACTION_OF, OUTCOMES, ROLLED_BACK, Outcome
from phoenixd.documents import clinic
from phoenixd.documents.codec import Undecodable, decode
from phoenixd.documents.times import timestamp
from phoenixd.ports.journal import KeptCase, KeptIncident, KeptTreatment, StoredEntry

PANE_LINES = 20


def trials(rows: Iterable[KeptTreatment]) -> tuple[tuple[Figure, ...], tuple[Figure, ...]]:
    """The figures for each cause, treatment and harness; those of limits and outages stand by themselves."""
    own: list[Trial] = []
    shared: list[Trial] = []
    for row in rows:
        took = row.productive - row.failed if row.productive is not None else None
        if took is not None and took < 0:
            # The clock was set back in between.
            took = None
        group = (row.cause or "unknown", row.detail, row.action, row.treatment, row.harness)
        trial = Trial(group, _outcome(row.outcome), took, row.productive is not None)
        (shared if row.detail in SHARED else own).append(trial)
    return figures(own), figures(shared)


def document(kept: KeptCase, standing: Case | None = None, read: FailureRead | None = None) -> clinic.Case:
    """The Case with its four steps and its outcome (C2, C44).

    standing: as the fleet has it, where it still does. read: what came of asking a model about it.
    """
    judged = _first_judged(kept.incidents)
    newest = kept.treatments[-1] if kept.treatments else None
    return clinic.Case(
        id=kept.id,
        agents=tuple(dict.fromkeys(one.agent for one in kept.incidents))[:1000],
        harness=newest.harness if newest is not None else (judged[0].harness if judged else ""),
        opened_at=timestamp(kept.incidents[0].opened) if kept.incidents else None,
        closed_at=_when(standing.closed if standing is not None else newest.decided if newest is not None else None),
        triage=tuple(_triage(one) for one in kept.incidents[-clinic.MOST_STEPS :]),
        diagnosis=_diagnosis(judged[1]) if judged else None,
        detail=judged[1].detail if judged else (newest.detail if newest is not None else None),
        rule=kept.incidents[0].rule if kept.incidents else "",
        reading=_reading(read) if read is not None else None,
        prescription=_prescription(newest) if newest is not None else None,
        rehabilitation=tuple(_rehabilitation(one) for one in kept.treatments[-clinic.MOST_STEPS :]),
        outcome=_of_case(newest, standing),
    )


def _of_case(newest: KeptTreatment | None, standing: Case | None) -> Outcome:
    """The outcome of the newest treatment; a Case without any is over once the fleet has closed it."""
    if newest is not None:
        return _outcome(newest.outcome)
    return standing.outcome if standing is not None else "moot"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What today's rules say of an incident, beside what was said then. problem: why they can say nothing."""

    agent: str
    incarnation: int
    occasion: str
    then_cause: str | None
    then_rule: str
    now_cause: str | None = None
    now_rule: str = ""
    treatment: str = ""
    problem: str = ""

    @property
    def differs(self) -> bool:
        """Whether they would call it something else."""
        return not self.problem and (self.then_cause, self.then_rule) != (self.now_cause, self.now_rule)


def replayed(kept: KeptCase) -> tuple[Replayed, ...]:
    """Run today's rules on the evidence that was stored; nothing is done."""
    return tuple(_replay(one) for one in kept.incidents)


def _replay(one: KeptIncident) -> Replayed:
    told = Replayed(one.agent, one.incarnation, one.kind, one.cause, one.rule)
    try:
        evidence = _evidence(one)
    except Undecodable as error:
        return Replayed(**{**_fields(told), "problem": f"cannot be replayed: {error}"})
    found = diagnose(evidence)
    return Replayed(
        **{**_fields(told), "now_cause": found.cause, "now_rule": found.rule, "treatment": prescribe(found)}
    )


def _fields(told: Replayed) -> dict[str, Any]:
    return {name: getattr(told, name) for name in ("agent", "incarnation", "occasion", "then_cause", "then_rule")}


def _evidence(one: KeptIncident) -> Evidence:
    """The facts that a row keeps; raises Undecodable."""
    if not one.evidence:
        raise Undecodable("it was stored by a version that kept no evidence")
    try:
        data = json.loads(one.evidence)
    except (ValueError, RecursionError):
        raise Undecodable("its evidence is not JSON") from None
    return decode(Evidence, data)


def _first_judged(rows: Sequence[KeptIncident]) -> tuple[Evidence, Diagnosis] | None:
    for one in rows:
        try:
            evidence = _evidence(one)
        except Undecodable:
            continue
        return evidence, diagnose(evidence)
    return None


def _diagnosis(found: Diagnosis) -> clinic.Diagnosis | None:
    if found.cause is None:
        return None
    return clinic.Diagnosis(
        root_cause=found.cause, explanation=explanation(found), confidence=found.confidence, detail=found.detail
    )


def _reading(read: FailureRead) -> clinic.Reading:
    said = read.opinion
    diagnosis = None
    if said is not None:
        diagnosis = clinic.Diagnosis(root_cause=said.cause, explanation=said.explanation, confidence=said.confidence)
    return clinic.Reading(
        by=read.by[: clinic.WORD_LIMIT], times=read.times, answered_at=_when(read.answered), diagnosis=diagnosis,
        action=said.action if said is not None else None, note=said.note if said is not None else "",
        problem=read.problem, tokens=max(0, read.tokens),
    )  # fmt: skip


def newest_reading(entries: Iterable[StoredEntry], case: str) -> FailureRead | None:
    """What the journal's rows tell of asking about a Case, the newest of it."""
    found = [
        fact for stored in entries for fact in stored.entry.facts
        if isinstance(fact, FailureRead) and fact.case == case
    ]  # fmt: skip
    return found[-1] if found else None


def _triage(one: KeptIncident) -> clinic.Triage:
    facts = _facts(one)
    if one.kind != ROLLED_BACK and (pane := _pane(one)):
        facts["pane"] = pane
    return clinic.Triage(
        occasion=one.kind, at=timestamp(one.opened), agent=one.agent, incarnation=one.incarnation, evidence=facts
    )


def _pane(one: KeptIncident) -> list[str]:
    """The end of the agent's terminal as it was when the run ended (C41): shown, and read by no rule."""
    try:
        stored = json.loads(one.body)
    except (ValueError, RecursionError):
        return []
    lines = stored.get("pane") if isinstance(stored, dict) else None
    kept = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    return kept[-PANE_LINES:]


def _facts(one: KeptIncident) -> dict[str, Any]:
    """What is known of it, whichever version stored it."""
    try:
        stored = json.loads(one.evidence)
    except (ValueError, RecursionError):
        return {}
    found = stored if isinstance(stored, dict) else {}
    return {name: value for name, value in found.items() if value is not None and value is not False and value != ""}


def _rehabilitation(one: KeptTreatment) -> clinic.Rehabilitation:
    return clinic.Rehabilitation(
        prescription=_prescription(one),
        by=one.by,
        at=_when(one.acted),
        incarnation=one.run,
        productive_at=_when(one.productive),
        turns=one.turns,
        outcome=_outcome(one.outcome),
        why=one.why,
    )


def _prescription(one: KeptTreatment) -> clinic.Prescription:
    # What a newer version knows is shown as what this one knows of it.
    known = next((word for word in ACTION_OF if word == one.treatment), None)
    return clinic.Prescription(action=ACTION_OF[known] if known is not None else "retry", treatment=known)


def _outcome(word: str) -> Outcome:
    """An outcome that this version does not know is not counted."""
    return next((known for known in OUTCOMES if known == word), "moot")


def _when(wall: float | None) -> str | None:
    return timestamp(wall) if wall is not None else None
