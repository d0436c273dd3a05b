"""What is done about one failure after another of the same task: diagnosis, prescription, and why it ends."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelRequest, ToolReturnPart

from phoenixd.clinic.agent import ClinicAgent
from phoenixd.clinic.failures import ClinicFailed
from phoenixd.clinic.findings import Finding
from phoenixd.clinic.observing import Injury
from phoenixd.clinic.prescribing import ABORT, RETRY, Facts, Remedy, prescribe
from phoenixd.clinic.trauma import NAME_LIMIT
from phoenixd.core.treatment.words import UNSURE
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import Diagnosis, Examination, TraumaContext

MODEL = "model"
LOG = logging.getLogger("phoenixd.clinic")
SAID_LIMIT = 1000
PROMPT_LIMIT = 200
UNCLEAR = frozenset({"none", "behavior"})
"""Rules of findings that know nothing: what was asked for may be what is not clear."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """diagnosis: None where none of the six causes is known. by: who says so, a rule or the model. why: where the
    task is given up, the reason."""

    finding: Finding
    diagnosis: Diagnosis | None
    remedy: Remedy
    by: str
    why: str = ""

    @property
    def is_end(self) -> bool:
        return self.remedy.action == "abort"

    @property
    def explanation(self) -> str:
        return self.diagnosis.explanation if self.diagnosis is not None else self.finding.explanation

    @property
    def cause(self) -> str:
        """The root cause, or what is known instead."""
        return self.diagnosis.root_cause if self.diagnosis is not None else self.finding.detail


class Doctor:
    """Decides failure after failure of one task. prompt: the original, as text."""

    def __init__(self, prompt: str, clinic: ClinicAgent | None, clean: Cleaner) -> None:
        self._prompt, self._clinic, self._clean = prompt, clinic, clean
        self._found: list[tuple[str | None, str]] = []
        self._given: set[tuple[str, Remedy]] = set()

    async def decide(self, injury: Injury, finding: Finding, trauma: TraumaContext, obstacle: str) -> Verdict:
        """What is done about a failure. obstacle: why nothing may be done, whatever the cause."""
        verdict = await self._decided(injury, finding, trauma, obstacle)
        question = _question(verdict, trauma) if verdict.is_end else ""
        return replace(verdict, why=f"{verdict.why} {question}") if question else verdict

    async def _decided(self, injury: Injury, finding: Finding, trauma: TraumaContext, obstacle: str) -> Verdict:
        seen = self._found.count((finding.cause, finding.detail))
        self._found.append((finding.cause, finding.detail))
        remedy = prescribe(finding, seen, self._facts(injury, trauma))
        verdict = Verdict(finding, _diagnosis(finding), remedy, finding.rule)
        if obstacle:
            return replace(verdict, remedy=ABORT, why=obstacle)
        if self._clinic is not None and _is_for_the_model(finding, seen):
            verdict = await self._asked(self._clinic, verdict, trauma, tuple(injury.offered))
        return self._checked(verdict)

    async def _asked(
        self, clinic: ClinicAgent, by_rules: Verdict, trauma: TraumaContext, tools: tuple[str, ...]
    ) -> Verdict:
        try:
            answer = await clinic.examine(trauma, tools, self._clean)
            if by_rules.cause == "logic_error" and not answer.diagnosis.is_sure:
                return replace(by_rules, by=f"{by_rules.by} (the model only guesses)")
            return replace(by_rules, by=MODEL, diagnosis=answer.diagnosis, remedy=self._taken(answer, trauma))
        except ClinicFailed as failure:
            LOG.warning("clinic.down: %s; the rules decide alone", failure)
            return replace(by_rules, by=f"{by_rules.by} (no answer of the model: {failure})")

    def _taken(self, answer: Examination, trauma: TraumaContext) -> Remedy:
        """The model's answer, as far as it may be followed. Nothing in it gives a tool or a right."""
        diagnosis, prescription = answer.diagnosis, answer.prescription.against(self._prompt)
        if not diagnosis.is_sure:
            # A logic error that is only guessed would fail again, and cost as much again.
            return ABORT if diagnosis.root_cause == "logic_error" else RETRY
        if prescription.action != "modify_prompt":
            return Remedy(prescription.action)
        said, note = (prescription.modified_prompt or "").strip(), ""
        if said == self._prompt.strip():
            said = ""
        elif said and trauma.original_prompt != self._prompt:
            # It was shown the prompt without its secrets, or not all of it: its own words cannot stand alone.
            said, note = "", f"In other words: {said}"
        system = (prescription.modified_system_prompt or "").strip()
        return Remedy("modify_prompt", note, said, system)

    def _checked(self, verdict: Verdict) -> Verdict:
        """The same, unless it was tried before."""
        if verdict.is_end:
            return replace(verdict, why=verdict.why or verdict.explanation)
        finding = verdict.finding
        if verdict.remedy.action == "summarize_history" or (
            finding.cause == "transient_error" and finding.confidence >= UNSURE
        ):
            # The next summary drops more, and the next pause is longer: neither is the same again.
            return verdict
        diagnosis = verdict.diagnosis
        cause = diagnosis.root_cause if diagnosis is not None and diagnosis.is_sure else finding.detail
        if (cause, verdict.remedy) in self._given:
            return replace(verdict, remedy=ABORT, why=f"the same was tried before for {cause}, and did not help")
        self._given.add((cause, verdict.remedy))
        return verdict

    def _facts(self, injury: Injury, trauma: TraumaContext) -> Facts:
        calls = injury.calls()
        return Facts(
            tools=injury.offered,
            outputs=injury.outputs,
            invented=[self._clean.head(name, NAME_LIMIT) for name in calls.invented],
            refused=_refused(injury),
            said=trauma.error_message[-SAID_LIMIT:],
        )


def _question(verdict: Verdict, trauma: TraumaContext) -> str:
    """What the operator is asked, where the prompt may not be clear and no model has said it in clearer words (C27)."""
    known = verdict.diagnosis
    if known is not None and known.is_sure and known.root_cause == "ambiguous_instruction":
        asked = "What is meant by the prompt"
    elif verdict.by != MODEL and verdict.finding.rule in UNCLEAR:
        asked = "Does the prompt say all that its task needs"
    else:
        return ""
    return f"Question for the operator: {asked}, which begins with {json.dumps(trauma.original_prompt[:PROMPT_LIMIT])}?"


def _is_for_the_model(finding: Finding, seen: int) -> bool:
    """What no rule knows, what only looks like a bug, and what came back although a rule knew it."""
    if finding.confidence < UNSURE or finding.detail == "bug":
        return True
    return seen > 0 and finding.cause in ("hallucinated_tool", "invalid_tool_arguments")


def _diagnosis(finding: Finding) -> Diagnosis | None:
    if finding.cause is None:
        return None
    return Diagnosis(
        root_cause=finding.cause,
        explanation=finding.explanation,
        confidence=finding.confidence,
        detail=finding.detail,
    )


def _refused(injury: Injury) -> str:
    """The tool whose call failed: of the newest answer's calls the last one that brought no result."""
    done = {
        part.tool_call_id
        for message in injury.messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.outcome == "success"
    }
    open_calls = [call.tool_name for call in injury.newest_calls() if call.tool_call_id not in done]
    known = [name for name in open_calls if injury.has(name)]
    return known[-1] if known else ""
