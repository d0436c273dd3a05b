"""What `phoenixctl doctor` finds of the reader of failures that no rule knows: who it is, and what it costs."""

from __future__ import annotations

from importlib.util import find_spec

from phoenixd.api.finding import Finding
from phoenixd.core.treatment.examined import Examinations, ReaderRules

CORRECT = "correct model or command in [clinic], then phoenixctl apply"
PACKAGE, REMEDY = "pydantic_ai", "uv tool install '.[clinic]' in the checkout"


def reader_finding(reader: ReaderRules, asked: Examinations, wall: float) -> Finding:
    """The reader in force, with what it was asked and what that took on this day (UTC)."""
    if not reader.name:
        why = 'a model could read them: model = "anthropic:NAME" in [clinic]'
        return Finding("ok", "failures that no rule knows are read by nobody: the rules alone decide", why)
    today = asked.of_the_day(wall)
    title = f"failures that no rule knows are read by {reader.name}"
    most = f" of {reader.tokens_per_day}" if reader.tokens_per_day else ""
    cost = f"today {today.questions} of {reader.questions_per_day} questions, {today.tokens}{most} tokens"
    if reader.model and find_spec(PACKAGE) is None:
        return Finding("problem", f"{title}, which needs pydantic-ai: the rules alone decide", cost, REMEDY)
    if asked.problem:
        why = f"{asked.problem}; it is asked again with the next failure of a Case; {cost}"
        return Finding("warning", f"{title}; its newest answer was not used", why, CORRECT)
    return Finding("ok", title, cost)
