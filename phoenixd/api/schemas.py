"""JSON Schemas of what the API answers, by the names that the table of operations uses."""

from __future__ import annotations

from typing import Any

from phoenixd.api.operations import NAME_PATTERN

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
SHARED: dict[str, Schema] = {
    "name": STRING, "sha256": STRING, "project": STRING, "session_id": STRING, "at": STRING,
    "size": {"type": "integer", "minimum": 0},
}  # fmt: skip
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TIME: Schema = {"type": "string", "format": "date-time"}
DAY: Schema = {"type": "string", "format": "date"}
AGENT_NAME: Schema = {"type": "string", "pattern": NAME_PATTERN}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _words(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(properties: dict[str, Schema]) -> Schema:
    """An object of ours: all keys are always there, and readers have to ignore keys that a later version adds."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _nullable_ref(name: str) -> Schema:
    return {"oneOf": [_ref(name), {"type": "null"}]}


# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
READINGS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}}

HANDOFF_STEP = _object({"step": STRING, "began_at": TIME, "seconds": NUMBER})
HANDOFF_CHECK = _object({"name": STRING, "well": _or_null(BOOLEAN), "what": STRING})
_RESONANCE: dict[str, Schema] = {
    "name": AGENT_NAME,
    "enabled": BOOLEAN,
    "state": _words(
        "intact", "missed", "paraphrased", "lost", "unverifiable", "not_applicable", "restoring",
    ),
    "note": STRING,
    "mode": _words("one_time", "classic"),
    "overflow": _words("compaction", "reject", "silent"),
    "transport": _words("stateless", "stateful", "compaction"),
    "preset": _or_null(STRING),
    "interval_turns": COUNT,
    "turns": COUNT,
    "due": _or_null(STRING),
    "misses": COUNT,
    "degraded": COUNT,
    "codes_left": COUNT,
    "last_verified": _or_null(TIME),
    "asked_at": _or_null(TIME),
    "restoration": {"oneOf": [_object({"step": COUNT, "why": STRING}), {"type": "null"}]},
    "footer": {"oneOf": [_object({"role": STRING, "state": STRING}), {"type": "null"}]},
    "session_id": _or_null(STRING),
    "ended_at": _or_null(TIME),
    "rebuilt_from": _or_null(STRING),
    "papers": STRING,
    "tokens_today": COUNT,
    "checks": _list(_object({"name": STRING, "well": _or_null(BOOLEAN), "what": STRING})),
    "happened": _list(
        _object(
            {
                "at": TIME, "what": STRING, "verdict": _or_null(STRING), "number": COUNT, "step": COUNT, "why": STRING,
            }
        )
    ),
}

SCHEMAS: dict[str, Schema] = {
    "Agent": _object(
        {
            "name": AGENT_NAME,
            "kind": _words("resident", "loop", "orchestrator", "ephemeral"),
            "harness": STRING,
            "desired": _words("running", "stopped"),
            "state": _words(
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
            "generation": _or_null(COUNT),
            "activity": {"type": ["string", "null"], "enum": ["working", "idle", "waiting", None]},
            "group": _words("needs_you", "healing", "working", "resting", "unknown"),
            "incarnation": COUNT,
            "pid": _or_null(INTEGER),
            "session_id": _or_null(STRING),
            "mode": {"type": ["string", "null"], "enum": ["fresh", "resume", None]},
            "since": _or_null(TIME),
            "started_at": _or_null(TIME),
            "last_heartbeat": _or_null(TIME),
            "last_evidence": _or_null(TIME),
            "restarts": COUNT,
            "reason": STRING,
            "waiting_for": _or_null(STRING),
            "context": {
                "oneOf": [
                    _object(
                        {
                            "tokens": COUNT,
                            "limit": _or_null(COUNT),
                            "percent": _or_null(NUMBER),
                            "source": _or_null(STRING),
                            "at": _or_null(TIME),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "breaker": _object({"state": _words("CLOSED", "HALF_OPEN", "OPEN"), "no_progress_count": COUNT}),
            "resonance": {"oneOf": [_object({"state": STRING, "last_verified": _or_null(TIME)}), {"type": "null"}]},
            "open_loops": COUNT,
            "stale_loops": COUNT,
            "unconfirmed_loops": COUNT,
            "brief": {
                "oneOf": [
                    _object(
                        {
                            "written_at": TIME,
                            "age": NUMBER,
                            "writer": _or_null(STRING),
                            "recall": _or_null(NUMBER),
                            "page_recall": _or_null(NUMBER),
                            "evaluated_on": _or_null(STRING),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "parked_until": _or_null(TIME),
            "due_in": _or_null(NUMBER),
            "hooks": _words("ok", "missing", "none", "lost", "refused"),
            "link_lost_since": _or_null(TIME),
            "hooks_refused": COUNT,
            "strangers_refused": COUNT,
            "item": _or_null(INTEGER),
            "items": _list(INTEGER),
            "alerts": _list(_ref("Alert")),
        }
    ),
    "Handoff": _object(
        {
            "name": AGENT_NAME,
            "project": STRING,
            "generation": COUNT,
            "handoff": {
                "oneOf": [
                    _object(
                        {
                            "id": STRING,
                            "step": _words(
                                "freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown",
                                "rollback", "done", "rolled_back",
                            ),
                            "trigger": _words("operator", "meter", "recycle", "compaction", "full"),
                            "why": STRING,
                            "by": STRING,
                            "began_at": TIME,
                            "since": TIME,
                            "held": _or_null(STRING),
                            "predecessor": COUNT,
                            "successor": COUNT,
                            "tries": COUNT,
                            "degraded": _list(STRING),
                            "package": _or_null(STRING),
                            "why_back": _or_null(STRING),
                            "letters": COUNT,
                            "times": _list(HANDOFF_STEP),
                        }
                    ),
                    {"type": "null"},
                ]
            },
            "checks": _list(HANDOFF_CHECK),
            "history": _list(
                _object(
                    {
                        "id": STRING,
                        "outcome": _words("done", "rolled_back"),
                        "trigger": _words("operator", "meter", "recycle"),
                        "why": STRING,
                        "by": STRING,
                        "began_at": TIME,
                        "ended_at": TIME,
                        "predecessor": COUNT,
                        "successor": COUNT,
                        "tries": COUNT,
                        "degraded": _list(STRING),
                        "package": _or_null(STRING),
                        "why_back": _or_null(STRING),
                        "times": _list(HANDOFF_STEP),
                        "checks": _list(HANDOFF_CHECK),
                    }
                )
            ),
            "message": STRING,
        }
    ),
    "Resonance": _object({**_RESONANCE, "message": STRING}),
    "Resonances": _object({"agents": _list(_object(_RESONANCE))}),
    "Minted": _object({"marker": STRING, "phrase": STRING, "hex": {"type": "string", "pattern": "^[0-9a-f]{6}$"}}),
    "Tokens": _object(
        {
            "name": AGENT_NAME,
            "session_id": _or_null(STRING),
            "verdict": {"type": ["string", "null"], "enum": ["OK", "WARNING", "HANDOFF", None]},
            "reason": STRING,
            "tokens": _or_null(COUNT),
            "limit": _or_null(COUNT),
            "percent": _or_null(NUMBER),
            "source": _or_null(STRING),
            "threshold": NUMBER,
            "at": _or_null(TIME),
        }
    ),
    "Memory": _object(
        {
            "workspace": STRING,
            "project": STRING,
            "takes_shared": BOOLEAN,
            "files": _list(_object({"path": STRING, "sha256": _or_null(STRING), "shared": BOOLEAN})),
            "shared": _list(_object({**SHARED, "own": BOOLEAN})),
        }
    ),
    "SharedMemory": _object(
        {"file": {"oneOf": [_object(SHARED), {"type": "null"}]}, "withdrawn": _list(STRING), "message": STRING}
    ),
    "Phases": _object(
        {
            "workspace": STRING,
            "project": STRING,
            "current_phase": _or_null(STRING),
            "phases": _list(
                _object(
                    {
                        "phase": STRING, "status": STRING, "lines": COUNT, "plan": {"type": ["object", "null"]},
                        "problem": _or_null(STRING), "undo": _or_null(STRING),
                    }
                )
            ),
        }
    ),
    "PhaseCheck": _object(
        {
            "workspace": STRING,
            "project": STRING,
            "sound": BOOLEAN,
            "findings": _list(
                _object(
                    {
                        "level": _words("problem", "warning"), "path": STRING, "line": COUNT, "what": STRING,
                        "remedy": STRING,
                    }
                )
            ),
        }
    ),
    "Alert": _object(
        {"id": INTEGER, "kind": STRING, "text": STRING, "raised_at": _or_null(TIME), "needs_you": BOOLEAN}
    ),
    "Commits": _object({"count": COUNT, "last": NUMBER, "p50": NUMBER, "p99": NUMBER, "worst": NUMBER}),
    "Daemon": _object(
        {
            "version": STRING,
            "pid": INTEGER,
            "started_at": TIME,
            "tmux": _or_null(STRING),
            "tier": STRING,
            "degraded": BOOLEAN,
            "degraded_reason": _or_null(STRING),
            "halted": BOOLEAN,
            "commits": {"anyOf": [_ref("Commits"), {"type": "null"}]},
            "alerts": _list(_ref("Alert")),
        }
    ),
    "Status": _object({"agents": _list(_ref("Agent")), "daemon": _ref("Daemon")}),
    "Event": _object(
        {
            "id": COUNT,
            "at": _or_null(TIME),
            "agent": _or_null(STRING),
            "incarnation": COUNT,
            "event": STRING,
            "state": _or_null(STRING),
            "reason": STRING,
            "readings": READINGS,
            "actions": _list(STRING),
            "detail": {"type": "object"},
            "weight": _words("story", "detail", "noise"),
            "facts": _list({"type": "object", "required": ["name"], "properties": {"name": STRING}}),
        }
    ),
    "Events": _object({"events": _list(_ref("Event")), "next": COUNT}),
    "LastExit": _object(
        {
            "incarnation": COUNT,
            "code": _or_null(INTEGER),
            "signal": _or_null(INTEGER),
            "cause": STRING,
            "lived": NUMBER,
            "productive": _or_null(STRING),
            "oom": _or_null(STRING),
            "at": _or_null(TIME),
        }
    ),
    "Cleanup": _object(
        {
            "name": STRING,
            "dry_run": BOOLEAN,
            "owned": _list(_object({"pid": COUNT, "command": STRING, "why": STRING, "ended": BOOLEAN})),
            "foreign": _list(_object({"port": COUNT, "pid": _or_null(INTEGER), "command": STRING})),
        }
    ),
    "Cleanups": _object({"agents": _list(_ref("Cleanup"))}),
    "Incident": _object(
        {
            "incarnation": COUNT,
            "kind": _words("hung", "overtime"),
            "reason": STRING,
            "at": _or_null(TIME),
            "file": STRING,
            "call": _nullable_ref("OpenCall"),
        }
    ),
    "OpenCall": _object(
        {
            "tool": STRING,
            "command": STRING,
            "ran": NUMBER,
            "declared": _or_null(NUMBER),
            "idle": _or_null(NUMBER),
            "over": BOOLEAN,
        }
    ),
    "Explanation": _object(
        {
            "agent": _ref("Agent"),
            "last_exit": _nullable_ref("LastExit"),
            "incident": _nullable_ref("Incident"),
            "decisions": _list(_ref("Event")),
            "looks": COUNT,
            "before": _nullable_ref("Event"),
        }
    ),
    "Item": _object(
        {
            "id": INTEGER,
            "agent": STRING,
            "incarnation": COUNT,
            "kind": STRING,
            "text": STRING,
            "text_hash": STRING,
            "opened": _or_null(TIME),
            "answer_by": _words("reply", "attach", "command", "answer"),
            "title": STRING,
            "shown": _list(STRING),
            "flags": _list(STRING),
            "limits": STRING,
            "advice": STRING,
            "left": BOOLEAN,
            "questions": _list(_ref("Question")),
        }
    ),
    "Question": _object(
        {
            "question": STRING,
            "header": STRING,
            "several": BOOLEAN,
            "options": _list(_object({"label": STRING, "description": STRING})),
        }
    ),
    "OneItem": _object({"item": _ref("Item")}),
    "Inbox": _object({"items": _list(_ref("Item"))}),
    "Since": _object(
        {
            "from": _or_null(TIME),
            "to": TIME,
            "complete": BOOLEAN,
            "journal_begins": _or_null(TIME),
            "deaths": _object(
                {
                    "total": COUNT,
                    "healed": COUNT,
                    "repeated": COUNT,
                    "healing": COUNT,
                    "quarantined": COUNT,
                    "ended": COUNT,
                    "resumed": COUNT,
                    "fresh": COUNT,
                    "slowest": _or_null(NUMBER),
                    "agents": _list(STRING),
                }
            ),
            "waiting": _list(_ref("Item")),
        "outages": COUNT,
            "sent": COUNT,
            "not_delivered": COUNT,
            "started": COUNT,
            "stopped": COUNT,
            "finished": COUNT,
            "iterations": COUNT,
            "cut_answers": COUNT,
            "cut_gone_on": COUNT,
        }
    ),
    "Outcome": _object({"agent": _nullable_ref("Agent"), "done": BOOLEAN, "message": STRING}),
    "Sent": _object(
        {"message_id": STRING, "delivered": {"type": ["boolean", "null"]}, "evidence": STRING, "message": STRING}
    ),
    "Answered": _object(
        {
            "id": INTEGER,
            "agent": AGENT_NAME,
            "verdict": _words("allow", "deny", "answer"),
            "answer": _list(STRING),
            "taken": BOOLEAN,
            "kept": BOOLEAN,
            "message": STRING,
        }
    ),
    "Resolved": _object(
        {
            "agent": AGENT_NAME,
            "id": STRING,
            "outcome": _words("resolved", "already"),
            "in_state": BOOLEAN,
            "message": STRING,
        }
    ),
    "Brief": _object(
        {
            "name": AGENT_NAME,
            "path": STRING,
            "writer": _or_null(STRING),
            "writer_note": STRING,
            "tokens": COUNT,
            "tokens_today": COUNT,
            "text": STRING,
            "written_at": TIME,
            "age": NUMBER,
            "message": STRING,
        }
    ),
    "BriefCheck": _object(
        {
            "name": AGENT_NAME,
            "sound": BOOLEAN,
            "written_at": _or_null(TIME),
            "age": _or_null(NUMBER),
            "faults": _list(
                _object(
                    {
                        "document": _words("state.json", "brief.md"),
                        "kind": _words("schema", "odd", "missing", "age"),
                        "field": STRING,
                        "problem": STRING,
                    }
                )
            ),
        }
    ),
    "Loop": _object(
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
    "Loops": _object({"loops": _list(_ref("Loop")), "stale_days": COUNT}),
    "Waited": _object({"met": BOOLEAN, "needs_person": BOOLEAN, "agent": _nullable_ref("Agent"), "message": STRING}),
    "Added": _object({"name": AGENT_NAME, "warnings": _list(STRING), "message": STRING}),
    "Message": _object({"message": STRING, "done": BOOLEAN}),
    "Task": _object(
        {
            "id": STRING,
            "state": _words("waiting", "running", "collecting", "done", "failed", "canceled"),
            "reason": STRING,
            "agent": AGENT_NAME,
            "asked_by": _or_null(STRING),
            "by": STRING,
            "project": _or_null(STRING),
            "plan_task": _or_null(STRING),
            "after": _list(STRING),
            "writes": BOOLEAN,
            "timeout": NUMBER,
            "tries": COUNT,
            "runs": COUNT,
            "runs_spared": COUNT,
            "asked_at": _or_null(TIME),
            "since": _or_null(TIME),
            "due_in": _or_null(NUMBER),
            "stop": _or_null(STRING),
            "report": _or_null(STRING),
            "outputs": COUNT,
            "outputs_refused": COUNT,
            "claims": _nullable_ref("TaskClaims"),
            "told": BOOLEAN,
        }
    ),
    "TaskClaims": _object(
        {
            "source": STRING,
            "problem": _or_null(STRING),
            "contradicted": COUNT,
            "verified": COUNT,
            "unverifiable": COUNT,
            "listed": _list(_ref("TaskClaim")),
        }
    ),
    "TaskClaim": _object(
        {
            "kind": STRING,
            "said": STRING,
            "verdict": _words("contradicted", "verified", "unverifiable"),
            "why": STRING,
        }
    ),
    "Tasks": _object({"tasks": _list(_ref("Task")), "at_once": COUNT}),
    "TaskOutcome": _object({"task": _ref("Task"), "message": STRING}),
    "Clinic": _object(
        {
            "treatments": _list(_ref("TreatmentFigure")),
            "limits": _list(_ref("TreatmentFigure")),
            "cases": _list(_ref("CaseRow")),
        }
    ),
    "TreatmentFigure": _object(
        {
            "cause": STRING,
            "detail": STRING,
            "prescription": _words("retry", "modify_prompt", "summarize_history", "abort"),
            "treatment": STRING,
            "harness": STRING,
            "tried": COUNT,
            "held": COUNT,
            "low": _or_null(NUMBER),
            "high": _or_null(NUMBER),
            "open": COUNT,
            "moot": COUNT,
            "seconds": _or_null(NUMBER),
        }
    ),
    "CaseRow": _object(
        {
            "id": STRING,
            "scope": STRING,
            "agents": _list(STRING),
            "harness": STRING,
            "cause": STRING,
            "detail": STRING,
            "rule": STRING,
            "confidence": NUMBER,
            "incidents": COUNT,
            "treatments": COUNT,
            "opened_at": TIME,
            "newest_at": TIME,
            "closed_at": _or_null(TIME),
            "outcome": _words("held", "failed", "open", "moot"),
        }
    ),
    "CaseShown": _object({"case": {"type": "object"}}),
    "CaseReplayed": _object(
        {
            "id": STRING,
            "differs": BOOLEAN,
            "incidents": _list(
                _object(
                    {
                        "agent": STRING,
                        "incarnation": COUNT,
                        "occasion": STRING,
                        "then": _object({"cause": _or_null(STRING), "rule": STRING}),
                        "now": _object({"cause": _or_null(STRING), "rule": STRING, "treatment": STRING}),
                        "differs": BOOLEAN,
                        "problem": _or_null(STRING),
                    }
                )
            ),
        }
    ),
    "Pane": _object({"name": AGENT_NAME, "text": STRING}),
    "Finding": _object(
        {"level": _words("ok", "warning", "problem"), "title": STRING, "detail": STRING, "remedy": STRING}
    ),
    "Doctor": _object({"findings": _list(_ref("Finding"))}),
    "Change": _object(
        {"agent": STRING, "action": _words("add", "remove", "change", "keep"), "detail": STRING, "restart": BOOLEAN}
    ),
    "Plan": _object({"changes": _list(_ref("Change"))}),
    "Found": _object(
        {
            "agent": AGENT_NAME,
            "journal": STRING,
            "wish": STRING,
            "processes": STRING,
            "verdict": _words("keep", "adopt", "heal", "stop", "down", "wait", "forget", "leave"),
            "reason": STRING,
            "waits": BOOLEAN,
            "proposal": _words("none", "start", "leave it stopped"),
            "state": STRING,
        }
    ),
    "Recovery": _object(
        {"behind": BOOLEAN, "reason": _or_null(STRING), "agents": _list(_ref("Found")), "done": BOOLEAN}
    ),
    "Breaker": _object(
        {
            "name": AGENT_NAME,
            "state": _words("CLOSED", "HALF_OPEN", "OPEN"),
            "no_progress_count": COUNT,
            "last_progress_iteration": COUNT,
            "iteration": COUNT,
            "reason": STRING,
            "opened_at": _or_null(TIME),
            "total_opens": COUNT,
            "notes_count": COUNT,
            "last_verdict": STRING,
            "shared_with": _list(STRING),
            "warn": COUNT,
            "stop": COUNT,
            "notes_stop": COUNT,
            "enabled": BOOLEAN,
            "phase": _or_null(STRING),
        }
    ),
    "Heartbeat": _object(
        {
            "name": AGENT_NAME,
            "last_evidence": _or_null(TIME),
            "age": _or_null(NUMBER),
            "hooks": _words("ok", "missing", "none"),
            "file": {"type": ["object", "null"]},
        }
    ),
    "Rechecked": _object({"agents": _list(_object({"agent": STRING, "found": STRING, "done": STRING}))}),
    "Version": _object(
        {
            "version": STRING, "api": INTEGER, "pid": INTEGER,
            "directories": _object({"state": STRING, "runtime": STRING, "configuration": _or_null(STRING)}),
        }
    ),
    "Health": _object({"ok": BOOLEAN}),
    "OpenAPI": {"type": "object"},
    "Problem": _object(
        {
            "type": STRING,
            "title": STRING,
            "status": INTEGER,
            "detail": STRING,
            "remedy": STRING,
            "code": _words("not_found", "denied", "conflict", "invalid", "too_large", "timed_out", "failed", "busy"),
        }
    ),
}
# fmt: on
