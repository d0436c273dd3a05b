"""Questions to a person, as Claude Code, Codex and the Gemini CLI all write them in a call."""

from __future__ import annotations

from phoenixd.documents.deeds import MOST_OPTIONS, MOST_QUESTIONS, QUESTION_LIMIT, WHAT_LIMIT, Question, clipped, cut
from phoenixd.documents.json_line import Table, tables, text


def questions(given: Table) -> tuple[Question, ...]:
    """The questions of a call, each with the labels of its options; one without words is none."""
    return tuple(
        Question(words, _labels(one))
        for one in tables(given, "questions")[:MOST_QUESTIONS]
        if (words := cut(text(one, "question"), QUESTION_LIMIT)) is not None
    )


def _labels(question: Table) -> tuple[str, ...]:
    options = tables(question, "options")[:MOST_OPTIONS]
    return tuple(clipped(label, WHAT_LIMIT) for option in options if (label := text(option, "label")) is not None)
