"""The clinic's records (C2, C7 to C18): the seed's fields and closed sets, and nothing beside them."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from pydantic import ValidationError

from phoenixd.core.treatment.words import ACTION_OF, PrescribedAction, RootCause, Treatment
from phoenixd.documents.clinic import (
    TEXT_LIMIT,
    Case,
    Diagnosis,
    Examination,
    Prescription,
    ToolCall,
    TraumaContext,
    Triage,
)

TRAUMA = {"original_prompt": "do it", "error_type": "ValueError", "error_message": "no", "stack_trace": "line 1"}


def test_c3_c7_c8_trauma_has_the_fields_of_the_seed() -> None:
    """C12: history_summary is empty unless it is set."""
    trauma = TraumaContext.model_validate(TRAUMA)

    assert list(TraumaContext.model_fields) == [
        "original_prompt", "error_type", "error_message", "stack_trace", "tool_calls", "history_summary",
    ]  # fmt: skip
    assert trauma.tool_calls is None
    assert trauma.history_summary is None


def test_c9_a_long_error_keeps_its_end() -> None:
    trauma = TraumaContext.model_validate({**TRAUMA, "error_message": "x" * 10_000_000 + "the reason"})

    assert len(trauma.error_message) == TEXT_LIMIT
    assert trauma.error_message.endswith("the reason")


def test_c11_a_tool_call_has_name_arguments_id_and_outcome() -> None:
    call = ToolCall.model_validate({"tool_name": "grep", "args": {"q": "a"}, "call_id": "1", "outcome": "none"})

    assert list(ToolCall.model_fields) == ["tool_name", "args", "call_id", "outcome"]
    assert call.args == {"q": "a"}


def test_c13_the_six_causes_are_a_closed_set() -> None:
    assert get_args(RootCause) == (
        "context_length_exceeded", "hallucinated_tool", "invalid_tool_arguments", "ambiguous_instruction",
        "logic_error", "transient_error",
    )  # fmt: skip
    with pytest.raises(ValidationError):
        Diagnosis.model_validate({"root_cause": "auth_error", "explanation": "a", "confidence": 0.5})


def test_c14_an_explanation_is_never_empty() -> None:
    with pytest.raises(ValidationError):
        Diagnosis.model_validate({"root_cause": "logic_error", "explanation": "", "confidence": 0.5})


@pytest.mark.parametrize("confidence", [7, -0.1, float("nan"), float("inf")])
def test_c15_confidence_lies_between_nothing_and_one(confidence: float) -> None:
    with pytest.raises(ValidationError):
        Diagnosis(root_cause="logic_error", explanation="a", confidence=confidence)


def test_c15_below_a_half_it_is_not_sure() -> None:
    assert not Diagnosis(root_cause="logic_error", explanation="a", confidence=0.49).is_sure
    assert Diagnosis(root_cause="logic_error", explanation="a", confidence=0.5).is_sure


def test_c16_the_four_actions_are_a_closed_set_and_each_treatment_is_one_of_them() -> None:
    assert get_args(PrescribedAction) == ("retry", "modify_prompt", "summarize_history", "abort")
    assert set(ACTION_OF) == set(get_args(Treatment))
    assert set(ACTION_OF.values()) == set(get_args(PrescribedAction))
    with pytest.raises(ValidationError):
        Prescription.model_validate({"action": "grant_bash"})
    with pytest.raises(ValidationError):
        Prescription(action="retry", treatment="ask")


def test_c16_a_changed_prompt_that_is_missing_is_refused() -> None:
    with pytest.raises(ValidationError):
        Prescription(action="modify_prompt")
    with pytest.raises(ValidationError):
        Prescription(action="modify_prompt", modified_prompt="  ")


def test_c17_a_prompt_that_is_not_changed_is_a_plain_retry() -> None:
    same = Prescription(action="modify_prompt", modified_prompt="do it\n")

    assert same.against("do it") == Prescription(action="retry")
    assert same.against("do that") == same


def test_c18_instructions_alone_are_a_change() -> None:
    told = Prescription(action="modify_prompt", modified_system_prompt="There are two tools: a, b.")

    assert told.against("do it") == told


def test_f_cl_11_a_prescription_can_bring_no_tools_and_no_powers_along() -> None:
    with pytest.raises(ValidationError):
        Prescription.model_validate({"action": "retry", "tools": ["Bash"]})
    with pytest.raises(ValidationError):
        Diagnosis.model_validate(
            {"root_cause": "logic_error", "explanation": "a", "confidence": 1.0, "authority": {"abort": "act"}}
        )


@pytest.mark.parametrize("treatment", get_args(Treatment))
def test_f_cl_11_a_model_prescribes_no_treatment_of_ours_and_is_shown_none(treatment: Treatment) -> None:
    said = {"root_cause": "logic_error", "explanation": "a", "confidence": 1.0}
    mine = {"action": ACTION_OF[treatment], "modified_prompt": "do it", "treatment": treatment}

    assert Prescription.model_validate(mine).treatment == treatment
    with pytest.raises(ValidationError):
        Examination.model_validate({"diagnosis": said, "prescription": mine})
    found = Examination.model_validate({"diagnosis": said, "prescription": {**mine, "treatment": None}})
    assert found.prescription.action == ACTION_OF[treatment]
    assert "treatment" not in json.dumps(Examination.model_json_schema()["$defs"]["Repair"]["properties"])


def test_c2_a_case_is_one_id_over_all_four_steps() -> None:
    case = Case(id="c1", triage=(Triage(occasion="crash", trauma=TraumaContext.model_validate(TRAUMA)),))

    assert Case.model_validate_json(case.model_dump_json()) == case
    assert (case.outcome, case.diagnosis, case.rehabilitation) == ("open", None, ())
    with pytest.raises(ValidationError):
        Case(id="../c1", triage=())
