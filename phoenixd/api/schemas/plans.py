"""Schemas of the phases of a project."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import BOOLEAN, COUNT, STRING, Schema, a_list, an_object, or_null, words

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
PLANS: dict[str, Schema] = {
    "Phases": an_object(
        {
            "workspace": STRING,
            "project": STRING,
            "current_phase": or_null(STRING),
            "phases": a_list(
                an_object(
                    {
                        "phase": STRING, "status": STRING, "lines": COUNT, "plan": {"type": ["object", "null"]},
                        "problem": or_null(STRING), "undo": or_null(STRING),
                    }
                )
            ),
        }
    ),
    "PhaseCheck": an_object(
        {
            "workspace": STRING,
            "project": STRING,
            "sound": BOOLEAN,
            "findings": a_list(
                an_object(
                    {
                        "level": words("problem", "warning"), "path": STRING, "line": COUNT, "what": STRING,
                        "remedy": STRING,
                    }
                )
            ),
        }
    ),
}
# fmt: on
