"""Schemas of the phases of a project, and of its memory."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import BOOLEAN, COUNT, STRING, Schema, a_list, an_object, or_null, words

SHARED: dict[str, Schema] = {
    "name": STRING, "sha256": STRING, "project": STRING, "session_id": STRING, "at": STRING, "size": COUNT,
}  # fmt: skip

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
PLANS: dict[str, Schema] = {
    "Memory": an_object(
        {
            "workspace": STRING,
            "project": STRING,
            "takes_shared": BOOLEAN,
            "files": a_list(an_object({"path": STRING, "sha256": or_null(STRING), "shared": BOOLEAN})),
            "shared": a_list(an_object({**SHARED, "own": BOOLEAN})),
        }
    ),
    "SharedMemory": an_object(
        {"file": {"oneOf": [an_object(SHARED), {"type": "null"}]}, "withdrawn": a_list(STRING), "message": STRING}
    ),
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
