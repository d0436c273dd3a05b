"""What a row of the journal tells in ops.jsonl: itself, a handoff that is over with it, and what the clinic noted."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.core.facts import CaseNoted, Fact, HandoffEnded, Treating
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.treatment.examined import FailureRead
from phoenixd.core.treatment.words import ACTION_OF
from phoenixd.documents.ops import CLINIC, HANDOFF, Occurrence
from phoenixd.ports.journal import Entry

SAME_MOMENT = 0.001


def occurrences_of(entry: Entry) -> Iterator[Occurrence]:
    """The lines of an entry, in their order."""
    yield Occurrence(entry.wall, entry.event, entry.incarnation, entry.detail, entry.state, entry.reason)
    for fact in entry.facts:
        # It is said again where more became known of it.
        if isinstance(fact, HandoffEnded) and abs(entry.wall - fact.handoff.since_wall) < SAME_MOMENT:
            yield Occurrence(entry.wall, HANDOFF, entry.incarnation, _steps(fact.handoff), entry.state, "")
        elif (noted := _clinic(fact)) is not None:
            what, incarnation, told = noted
            yield Occurrence(entry.wall, CLINIC + what, incarnation, told, entry.state, "")


def _steps(handoff: Handoff) -> dict[str, object]:
    """What became of a handoff, and how many seconds each of its steps took, in their order (E25, E92)."""
    took: dict[str, float] = {}
    for one in handoff.times:
        name = f"{one.step.value}_seconds"
        took[name] = round(took.get(name, 0.0) + one.took, 3)
    told = {"handoff": handoff.id, "outcome": handoff.step.value, "generation": handoff.predecessor}
    return {**told, "why_back": handoff.why_back, **took}


def _clinic(fact: Fact) -> tuple[str, int, dict[str, object]] | None:
    """What the clinic says by a fact: the name of its line, the run that had failed, and the rest (C40)."""
    match fact:
        case CaseNoted(what="diagnosis"):
            told: dict[str, object] = {
                "case": fact.case, "failure": fact.occasion, "cause": fact.cause or "unknown", "detail": fact.detail,
                "confidence": fact.confidence, "why": fact.why,
            }  # fmt: skip
            return "diagnosis", fact.incarnation, told
        case CaseNoted(treatment=treatment) if treatment:
            told = {"case": fact.case, "number": fact.number, "treatment": treatment, "action": ACTION_OF[treatment]}
            if fact.what == "prescription":
                return fact.what, fact.incarnation, {**told, "by": fact.by}
            healed = {"run": fact.run or None, "healed_seconds": fact.seconds}
            return fact.what, fact.incarnation, {**told, "outcome": fact.outcome, "why": fact.why, **healed}
        case Treating(proposed=True):
            # What is proposed has no treatment yet; what is done has one, with the number that it has in its Case.
            told = {"case": fact.case, "treatment": fact.treatment, "action": ACTION_OF[fact.treatment]}
            return "proposal", fact.incarnation, told
        case FailureRead():
            return "examination", fact.incarnation, _examination(fact)
        case _:
            return None


def _examination(fact: FailureRead) -> dict[str, object]:
    """What a model or a program said of a failure that no rule knows, or why nothing it said counts."""
    said = fact.opinion
    if said is None:
        return {"case": fact.case, "by": fact.by, "problem": fact.problem}
    return {
        "case": fact.case, "by": fact.by, "cause": said.cause, "action": said.action, "confidence": said.confidence,
        "why": said.explanation,
    }  # fmt: skip
