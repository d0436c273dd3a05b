"""Schemas of upkeep: panes, findings, plans, recovery, breakers and heartbeats; and a problem."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import (
    AGENT_NAME,
    BOOLEAN,
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
UPKEEP: dict[str, Schema] = {
    "Pane": an_object({"name": AGENT_NAME, "text": STRING}),
    "Screen": an_object({"name": AGENT_NAME, "ansi": BOOLEAN, "text": STRING}),
    "Finding": an_object(
        {"level": words("ok", "warning", "problem"), "title": STRING, "detail": STRING, "remedy": STRING}
    ),
    "Doctor": an_object({"findings": a_list(ref("Finding"))}),
    "Change": an_object(
        {
            "agent": STRING, "action": words("add", "remove", "change", "keep"), "detail": STRING, "restart": BOOLEAN,
            "refused": STRING,
        }
    ),
    "Plan": an_object({"changes": a_list(ref("Change")), "settings": a_list(STRING), "after_restart": a_list(STRING)}),
    "Found": an_object(
        {
            "agent": AGENT_NAME,
            "journal": STRING,
            "wish": STRING,
            "processes": STRING,
            "verdict": words("keep", "adopt", "heal", "stop", "down", "quarantine", "wait", "forget", "leave"),
            "reason": STRING,
            "waits": BOOLEAN,
            "proposal": words("none", "start", "leave it stopped", "end it"),
            "state": STRING,
        }
    ),
    "Recovery": an_object(
        {"behind": BOOLEAN, "reason": or_null(STRING), "agents": a_list(ref("Found")), "done": BOOLEAN}
    ),
    "Breaker": an_object(
        {
            "name": AGENT_NAME,
            "state": words("CLOSED", "HALF_OPEN", "OPEN"),
            "no_progress_count": COUNT,
            "last_progress_iteration": COUNT,
            "iteration": COUNT,
            "reason": STRING,
            "opened_at": or_null(TIME),
            "total_opens": COUNT,
            "notes_count": COUNT,
            "last_verdict": STRING,
            "shared_with": a_list(STRING),
            "warn": COUNT,
            "stop": COUNT,
            "notes_stop": COUNT,
            "enabled": BOOLEAN,
            "phase": or_null(STRING),
        }
    ),
    "Breakers": an_object({"agents": a_list(ref("Breaker"))}),
    "Heartbeat": an_object(
        {
            "name": AGENT_NAME,
            "last_evidence": or_null(TIME),
            "age": or_null(NUMBER),
            "hooks": words("ok", "missing", "none"),
            "file": {"type": ["object", "null"]},
        }
    ),
    "Rechecked": an_object({"agents": a_list(an_object({"agent": STRING, "found": STRING, "done": STRING}))}),
    "Version": an_object(
        {
            "version": STRING, "api": INTEGER, "pid": INTEGER,
            "directories": an_object({"state": STRING, "runtime": STRING, "configuration": or_null(STRING)}),
        }
    ),
    "Health": an_object({"ok": BOOLEAN}),
    "OpenAPI": {"type": "object"},
    "Problem": an_object(
        {
            "type": STRING,
            "title": STRING,
            "status": INTEGER,
            "detail": STRING,
            "remedy": STRING,
            "code": words("not_found", "denied", "conflict", "invalid", "too_large", "timed_out", "failed", "busy"),
        }
    ),
}
# fmt: on
