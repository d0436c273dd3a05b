"""The clinic's records as the seed lays them out (C2, C7 to C18): trauma, diagnosis, prescription, and the Case.

Fields and closed sets are the seed's; what is ours beside them is optional. All texts come from agents and APIs: they
are data, bounded here, and redacted where a record is made.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from phoenixd.core.treatment.words import ACTION_OF, UNSURE, Outcome, PrescribedAction, RootCause, Treatment
from phoenixd.documents.times import require_time

TEXT_LIMIT = 20_000
"""Characters of one text."""
WORD_LIMIT = 200
MOST_CALLS, MOST_STEPS = 50, 100


def _with_its_end(value: str) -> str:
    """The end of an error says more than its beginning (C9)."""
    return value if len(value) <= TEXT_LIMIT else value[-TEXT_LIMIT:]


def _with_its_beginning(value: str) -> str:
    return value if len(value) <= TEXT_LIMIT else value[:TEXT_LIMIT]


Text = Annotated[str, AfterValidator(_with_its_beginning)]
Tail = Annotated[str, AfterValidator(_with_its_end)]
Word = Annotated[str, Field(max_length=WORD_LIMIT)]
Time = Annotated[str, AfterValidator(require_time)]


class Record(BaseModel):
    """Closed: what is not named here is refused, so no answer of a model can bring powers along."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ToolCall(Record):
    """One call of a tool, which the seed leaves undefined (C11). outcome: what came back, or how it failed."""

    tool_name: Word
    args: dict[str, Any] | Text | None = None
    call_id: Word | None = None
    outcome: Tail | None = None


class TraumaContext(Record):
    """Snapshot of the agent's state at the moment of failure (C7 to C12)."""

    original_prompt: Text
    error_type: Word
    error_message: Tail
    stack_trace: Tail
    tool_calls: Annotated[tuple[ToolCall, ...], Field(max_length=MOST_CALLS)] | None = None
    history_summary: Text | None = None


class Diagnosis(Record):
    """The analysis of the failure (C13 to C15). detail: what the six causes do not name, such as login or billing."""

    root_cause: RootCause
    explanation: Annotated[str, AfterValidator(_with_its_beginning), Field(min_length=1)]
    confidence: Annotated[float, Field(ge=0.0, le=1.0, strict=True)]
    detail: Word | None = None

    @property
    def is_sure(self) -> bool:
        """Whether more may be done on it than to try once more."""
        return self.confidence >= UNSURE


class Prescription(Record):
    """What is to be done (C16 to C18). treatment: which way of ours, where a daemon treats."""

    action: PrescribedAction
    modified_prompt: Text | None = None
    modified_system_prompt: Text | None = None
    treatment: Treatment | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Prescription:
        told = (self.modified_prompt or "").strip() or (self.modified_system_prompt or "").strip()
        # A daemon's advice stands in the brief; a library's is one of the two texts.
        if self.action == "modify_prompt" and not told and self.treatment is None:
            raise ValueError("modify_prompt needs a modified_prompt or a modified_system_prompt")
        if self.treatment is not None and ACTION_OF[self.treatment] != self.action:
            raise ValueError(f"the treatment {self.treatment} is no {self.action}: it is {ACTION_OF[self.treatment]}")
        return self

    def against(self, original: str) -> Prescription:
        """The same, as a plain retry where it changes nothing (C17)."""
        changes = self.modified_prompt is not None and self.modified_prompt.strip() != original.strip()
        adds = bool((self.modified_system_prompt or "").strip())
        if self.action != "modify_prompt" or self.treatment is not None or changes or adds:
            return self
        return Prescription(action="retry")


class Repair(Prescription):
    """What a model may prescribe: which way of ours is taken is never its word, and it is shown none."""

    treatment: SkipJsonSchema[None] = None


class Examination(Record):
    """What the clinic's model answers, and nothing beside it."""

    diagnosis: Diagnosis
    prescription: Repair


class Triage(Record):
    """What was noticed. trauma: of a run of the library; evidence: what the daemon knew, by name."""

    occasion: Word
    at: Time | None = None
    agent: Word = ""
    incarnation: Annotated[int, Field(ge=0)] = 0
    trauma: TraumaContext | None = None
    evidence: dict[str, Any] = Field(default_factory=dict)


class Reading(Record):
    """What a model, or a program, was asked of a failure that no rule knows, and what of its answer is believed.

    problem: why nothing is believed; then the rules alone decide. note: what it would tell the next run.
    """

    by: Word
    times: Annotated[int, Field(ge=0)] = 0
    answered_at: Time | None = None
    diagnosis: Diagnosis | None = None
    action: PrescribedAction | None = None
    note: Text = ""
    problem: Text = ""
    tokens: Annotated[int, Field(ge=0)] = 0


class Rehabilitation(Record):
    """One treatment and what came of it. by: the rule that ordered it. incarnation: of the run that was treated so."""

    prescription: Prescription
    by: Word = ""
    at: Time | None = None
    incarnation: Annotated[int, Field(ge=0)] | None = None
    productive_at: Time | None = None
    turns: Annotated[int, Field(ge=0)] = 0
    outcome: Outcome = "open"
    why: Text = ""


class Case(Record):
    """One id over triage, diagnosis, prescriptions with what they did, and the outcome (C2).

    diagnosis None: unknown. rule: what made the diagnosis, a rule's name or "model".
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    kind: Literal["daemon", "library"] = "daemon"
    agents: Annotated[tuple[Word, ...], Field(max_length=1000)] = ()
    harness: Word = ""
    opened_at: Time | None = None
    closed_at: Time | None = None
    triage: Annotated[tuple[Triage, ...], Field(max_length=MOST_STEPS)]
    diagnosis: Diagnosis | None = None
    detail: Word | None = None
    """What is known of a failure that none of the six causes names."""
    reading: Reading | None = None
    rule: Word = ""
    prescription: Prescription | None = None
    rehabilitation: Annotated[tuple[Rehabilitation, ...], Field(max_length=MOST_STEPS)] = ()
    outcome: Outcome = "open"
