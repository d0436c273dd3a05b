"""Schemas of an agent, as status shows it."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import (
    AGENT_NAME,
    COUNT,
    INTEGER,
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
AGENTS: dict[str, Schema] = {
    "Agent": an_object(
        {
            "name": AGENT_NAME,
            "kind": words("resident", "loop", "orchestrator", "ephemeral"),
            "harness": STRING,
            "desired": words("running", "stopped"),
            "state": words(
                "stopped",
                "starting",
                "running",
                "stopping",
                "backing_off",
                "parked",
                "quarantined",
                "handing_off",
                "restoring",
            ),
            "generation": or_null(COUNT),
            "activity": {"type": ["string", "null"], "enum": ["working", "idle", "waiting", None]},
            "group": words("needs_you", "healing", "working", "resting", "unknown"),
            "incarnation": COUNT,
            "pid": or_null(INTEGER),
            "session_id": or_null(STRING),
            "mode": {"type": ["string", "null"], "enum": ["fresh", "resume", None]},
            "since": or_null(TIME),
            "started_at": or_null(TIME),
            "last_heartbeat": or_null(TIME),
            "last_evidence": or_null(TIME),
            "restarts": COUNT,
            "reason": STRING,
            "waiting_for": or_null(STRING),
            "context": {
                "oneOf": [
                    an_object(
                        {
                            "tokens": COUNT,
                            "limit": or_null(COUNT),
                            "percent": or_null(NUMBER),
                            "source": or_null(STRING),
                            "at": or_null(TIME),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "breaker": an_object({"state": words("CLOSED", "HALF_OPEN", "OPEN"), "no_progress_count": COUNT}),
            "resonance": {"oneOf": [an_object({"state": STRING, "last_verified": or_null(TIME)}), {"type": "null"}]},
            "open_loops": COUNT,
            "stale_loops": COUNT,
            "unconfirmed_loops": COUNT,
            "brief": {
                "oneOf": [
                    an_object(
                        {
                            "written_at": TIME,
                            "age": NUMBER,
                            "writer": or_null(STRING),
                            "recall": or_null(NUMBER),
                            "page_recall": or_null(NUMBER),
                            "evaluated_on": or_null(STRING),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "parked_until": or_null(TIME),
            "due_in": or_null(NUMBER),
            "hooks": words("ok", "missing", "none", "lost", "refused"),
            "link_lost_since": or_null(TIME),
            "hooks_refused": COUNT,
            "strangers_refused": COUNT,
            "item": or_null(INTEGER),
            "items": a_list(INTEGER),
            "alerts": a_list(ref("Alert")),
        }
    ),
}
# fmt: on
