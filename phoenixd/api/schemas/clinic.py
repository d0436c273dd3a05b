"""Schemas of Cases of the clinic and its treatments."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import (
    BOOLEAN,
    COUNT,
    NUMBER,
    STRING,
    TIME,
    Schema,
    a_list,
    an_object,
    or_null,
    ref,
    words,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
CLINIC: dict[str, Schema] = {
    "Clinic": an_object(
        {
            "treatments": a_list(ref("TreatmentFigure")),
            "limits": a_list(ref("TreatmentFigure")),
            "cases": a_list(ref("CaseRow")),
        }
    ),
    "TreatmentFigure": an_object(
        {
            "cause": STRING,
            "detail": STRING,
            "prescription": words("retry", "modify_prompt", "summarize_history", "abort"),
            "treatment": STRING,
            "harness": STRING,
            "healed": COUNT,
            "tried": COUNT,
            "held": COUNT,
            "low": or_null(NUMBER),
            "high": or_null(NUMBER),
            "open": COUNT,
            "moot": COUNT,
            "seconds": or_null(NUMBER),
        }
    ),
    "CaseRow": an_object(
        {
            "id": STRING,
            "scope": STRING,
            "agents": a_list(STRING),
            "harness": STRING,
            "cause": STRING,
            "detail": STRING,
            "rule": STRING,
            "confidence": NUMBER,
            "incidents": COUNT,
            "treatments": COUNT,
            "opened_at": TIME,
            "newest_at": TIME,
            "closed_at": or_null(TIME),
            "outcome": words("held", "failed", "open", "moot"),
        }
    ),
    "CaseShown": an_object(
        {
            "case": {"type": "object"},
            "reader": an_object(
                {
                    "name": or_null(STRING),
                    "questions_today": COUNT,
                    "questions_per_day": COUNT,
                    "tokens_today": COUNT,
                    "tokens_per_day": COUNT,
                }
            ),
        }
    ),
    "CaseReplayed": an_object(
        {
            "id": STRING,
            "differs": BOOLEAN,
            "incidents": a_list(
                an_object(
                    {
                        "agent": STRING,
                        "incarnation": COUNT,
                        "occasion": STRING,
                        "then": an_object({"cause": or_null(STRING), "rule": STRING}),
                        "now": an_object({"cause": or_null(STRING), "rule": STRING, "treatment": STRING}),
                        "differs": BOOLEAN,
                        "problem": or_null(STRING),
                    }
                )
            ),
        }
    ),
}
# fmt: on
