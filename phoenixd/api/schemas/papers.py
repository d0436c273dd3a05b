"""Schemas of an agent's brief, its open loops, and answers that are little more than a message."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import (
    AGENT_NAME,
    BOOLEAN,
    COUNT,
    DAY,
    NUMBER,
    STRING,
    TIME,
    Schema,
    a_list,
    an_object,
    nullable_ref,
    or_null,
    ref,
    words,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
PAPERS: dict[str, Schema] = {
    "Resolved": an_object(
        {
            "agent": AGENT_NAME,
            "id": STRING,
            "outcome": words("resolved", "already"),
            "in_state": BOOLEAN,
            "message": STRING,
        }
    ),
    "Brief": an_object(
        {
            "name": AGENT_NAME,
            "path": STRING,
            "writer": or_null(STRING),
            "writer_note": STRING,
            "tokens": COUNT,
            "tokens_today": COUNT,
            "text": STRING,
            "written_at": TIME,
            "age": NUMBER,
            "message": STRING,
        }
    ),
    "BriefCheck": an_object(
        {
            "name": AGENT_NAME,
            "sound": BOOLEAN,
            "written_at": or_null(TIME),
            "age": or_null(NUMBER),
            "faults": a_list(
                an_object(
                    {
                        "document": words("state.json", "brief.md"),
                        "kind": words("schema", "odd", "missing", "age"),
                        "field": STRING,
                        "problem": STRING,
                    }
                )
            ),
        }
    ),
    "Loop": an_object(
        {
            "agent": AGENT_NAME,
            "id": STRING,
            "text": STRING,
            "added": DAY,
            "age_days": COUNT,
            "stale": BOOLEAN,
            "unconfirmed": BOOLEAN,
        }
    ),
    "Loops": an_object(
        {
            "loops": a_list(ref("Loop")),
            "read": a_list(an_object({"agent": AGENT_NAME, "at": or_null(TIME), "turn_due": or_null(TIME)})),
            "stale_days": COUNT,
        }
    ),
    "Waited": an_object({"met": BOOLEAN, "needs_person": BOOLEAN, "agent": nullable_ref("Agent"), "message": STRING}),
    "Added": an_object({"name": AGENT_NAME, "warnings": a_list(STRING), "message": STRING}),
    "Message": an_object({"message": STRING, "done": BOOLEAN}),
}
# fmt: on
