"""Schemas of handoffs, markers, and how full a context is."""

from __future__ import annotations

from typing import get_args

from phoenixd.api.schemas.shapes import (
    AGENT_NAME,
    BOOLEAN,
    COUNT,
    NUMBER,
    STRING,
    TIME,
    Schema,
    a_list,
    an_object,
    or_null,
    words,
)
from phoenixd.core.handoff.state import Trigger

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
HANDOFF_STEP = an_object({"step": STRING, "began_at": TIME, "seconds": NUMBER})
HANDOFF_CHECK = an_object({"name": STRING, "well": or_null(BOOLEAN), "what": STRING})
_RESONANCE: dict[str, Schema] = {
    "name": AGENT_NAME,
    "enabled": BOOLEAN,
    "state": words(
        "intact", "missed", "paraphrased", "lost", "unverifiable", "not_applicable", "restoring",
    ),
    "note": STRING,
    "mode": words("one_time", "classic"),
    "overflow": words("compaction", "reject", "silent"),
    "transport": words("stateless", "stateful", "compaction"),
    "preset": or_null(STRING),
    "interval_turns": COUNT,
    "turns": COUNT,
    "due": or_null(STRING),
    "misses": COUNT,
    "degraded": COUNT,
    "codes_left": COUNT,
    "last_verified": or_null(TIME),
    "asked_at": or_null(TIME),
    "restoration": {"oneOf": [an_object({"step": COUNT, "why": STRING}), {"type": "null"}]},
    "footer": {"oneOf": [an_object({"role": STRING, "state": STRING}), {"type": "null"}]},
    "session_id": or_null(STRING),
    "ended_at": or_null(TIME),
    "rebuilt_from": or_null(STRING),
    "papers": STRING,
    "tokens_today": COUNT,
    "checks": a_list(an_object({"name": STRING, "well": or_null(BOOLEAN), "what": STRING})),
    "happened": a_list(
        an_object(
            {
                "at": TIME, "what": STRING, "verdict": or_null(STRING), "number": COUNT, "step": COUNT, "why": STRING,
            }
        )
    ),
}

SEATS: dict[str, Schema] = {
    "Handoff": an_object(
        {
            "name": AGENT_NAME,
            "project": STRING,
            "generation": COUNT,
            "handoff": {
                "oneOf": [
                    an_object(
                        {
                            "id": STRING,
                            "step": words(
                                "freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown",
                                "rollback", "done", "rolled_back",
                            ),
                            "trigger": words(*get_args(Trigger)),
                            "why": STRING,
                            "by": STRING,
                            "began_at": TIME,
                            "since": TIME,
                            "held": or_null(STRING),
                            "predecessor": COUNT,
                            "successor": COUNT,
                            "tries": COUNT,
                            "degraded": a_list(STRING),
                            "package": or_null(STRING),
                            "why_back": or_null(STRING),
                            "letters": COUNT,
                            "writer_tokens": COUNT,
                            "times": a_list(HANDOFF_STEP),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "checks": a_list(HANDOFF_CHECK),
            "history": a_list(
                an_object(
                    {
                        "id": STRING,
                        "outcome": words("done", "rolled_back"),
                        "trigger": words(*get_args(Trigger)),
                        "why": STRING,
                        "by": STRING,
                        "began_at": TIME,
                        "ended_at": TIME,
                        "predecessor": COUNT,
                        "successor": COUNT,
                        "tries": COUNT,
                        "degraded": a_list(STRING),
                        "package": or_null(STRING),
                        "why_back": or_null(STRING),
                        "writer_tokens": COUNT,
                        "times": a_list(HANDOFF_STEP),
                        "checks": a_list(HANDOFF_CHECK),
                    }
                )
            ),
            "message": STRING,
        }
    ),
    "Resonance": an_object({**_RESONANCE, "message": STRING}),
    "Resonances": an_object({"agents": a_list(an_object(_RESONANCE))}),
    "Minted": an_object({"marker": STRING, "phrase": STRING, "hex": {"type": "string", "pattern": "^[0-9a-f]{6}$"}}),
    "Tokens": an_object(
        {
            "name": AGENT_NAME,
            "session_id": or_null(STRING),
            "verdict": {"type": ["string", "null"], "enum": ["OK", "WARNING", "HANDOFF", None]},
            "reason": STRING,
            "tokens": or_null(COUNT),
            "limit": or_null(COUNT),
            "percent": or_null(NUMBER),
            "source": or_null(STRING),
            "threshold": NUMBER,
            "at": or_null(TIME),
        }
    ),
}
# fmt: on
