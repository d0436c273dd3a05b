"""What a model answered about a failure, read strictly: what is no answer of the seed's shape is refused whole."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import ValidationError

from phoenixd.core.treatment.examined import EXPLANATION_LIMIT, NOTE_LIMIT, Opinion
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import Examination
from phoenixd.documents.plain_text import one_line, plain

ANSWER_LIMIT = 20_000
"""Characters of an answer."""
TOLD_LIMIT = 160


class AnswerRefused(ValueError):
    """Nothing of an answer is used; the words say why, and hold nothing of the answer."""


def read_answer(text: str, prompt: str, clean: Cleaner) -> Opinion:
    """The opinion that an answer holds; raises AnswerRefused. prompt: the agent's own, as the reader was shown it."""
    if len(text) > ANSWER_LIMIT:
        raise AnswerRefused(f"its answer has {len(text)} characters, at most {ANSWER_LIMIT} are read")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise AnswerRefused("its answer is not one JSON object, and nothing else") from None
    if not isinstance(data, dict):
        raise AnswerRefused("its answer is not one JSON object, and nothing else")
    prescription = data.get("prescription")
    if isinstance(prescription, dict) and "treatment" in prescription:
        raise AnswerRefused("its answer orders a treatment, which no answer may")
    try:
        # Strict: a word is no number, and nothing is converted into what was asked for.
        found = Examination.model_validate(data, strict=True)
    except ValidationError as error:
        raise AnswerRefused(f"its answer is not what was asked for: {_where(error)}") from None
    return _opinion(found, prompt, clean)


def _opinion(found: Examination, prompt: str, clean: Cleaner) -> Opinion:
    diagnosis, prescription = found.diagnosis, found.prescription.against(prompt)
    said = (diagnosis.explanation, diagnosis.detail, prescription.modified_prompt, prescription.modified_system_prompt)
    if any(clean.holds_secret(plain(text)) for text in said if text):
        raise AnswerRefused("its answer holds what looks like a secret")
    explanation = one_line(diagnosis.explanation, EXPLANATION_LIMIT)
    if not explanation:
        raise AnswerRefused("its answer explains nothing")
    note = ""
    if prescription.action == "modify_prompt":
        # The operator's words are never replaced: what a model would say instead is told, as its words.
        note = one_line(prescription.modified_system_prompt or prescription.modified_prompt or "", NOTE_LIMIT)
    return Opinion(diagnosis.root_cause, explanation, diagnosis.confidence, prescription.action, note)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which each key stands once: where a key has two values, neither is the answer."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _where(error: ValidationError) -> str:
    """Which fields are wrong, and how, without their values."""
    told = [f"{'.'.join(str(part)[:40] for part in one['loc']) or 'it'}: {one['type']}" for one in error.errors()[:3]]
    return one_line("; ".join(told), TOLD_LIMIT)
