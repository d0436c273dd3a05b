"""Schemas of the daemon, what happened, and why."""

from __future__ import annotations

from phoenixd.api.schemas.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
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
READINGS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}}

HAPPENINGS: dict[str, Schema] = {
    "Commits": an_object({"count": COUNT, "last": NUMBER, "p50": NUMBER, "p99": NUMBER, "worst": NUMBER}),
    "Daemon": an_object(
        {
            "version": STRING,
            "pid": INTEGER,
            "started_at": TIME,
            "tmux": or_null(STRING),
            "tier": STRING,
            "degraded": BOOLEAN,
            "degraded_reason": or_null(STRING),
            "halted": BOOLEAN,
            "commits": {"anyOf": [ref("Commits"), {"type": "null"}]},
            "alerts": a_list(ref("Alert")),
        }
    ),
    "Status": {
        "type": "object",
        "description": "as_of and what follows it are there with `after`: agents has what changed since, or is whole",
        "properties": {
            "agents": a_list(ref("Agent")),
            "daemon": ref("Daemon"),
            "as_of": ref("AsOf"),
            "cursor": STRING,
            "whole": BOOLEAN,
            "gone": a_list(STRING),
        },
        "required": ["agents", "daemon"],
    },
    "AsOf": an_object({"boot": STRING, "row": COUNT, "change": COUNT}),
    "Feed": an_object(
        {
            "as_of": ref("AsOf"),
            "cursor": STRING,
            "agents": a_list(ref("Agent")),
            "items": a_list(ref("Item")),
            "alerts": a_list(ref("FeedAlert")),
        }
    ),
    "FeedHello": an_object({"boot": STRING, "as_of": ref("AsOf"), "whole": BOOLEAN}),
    "FeedGone": an_object({"name": STRING, "removed": BOOLEAN}),
    "FeedItemClosed": an_object({"id": INTEGER, "agent": STRING, "by": or_null(STRING), "how": STRING}),
    "FeedAlert": {"allOf": [ref("Alert"), an_object({"agent": or_null(STRING), "over": BOOLEAN})]},
    "FeedBeat": an_object({"as_of": ref("AsOf"), "now": TIME}),
    "FeedResync": an_object({"why": STRING, "as_of": ref("AsOf")}),
    "Event": an_object(
        {
            "id": COUNT,
            "at": or_null(TIME),
            "agent": or_null(STRING),
            "incarnation": COUNT,
            "event": STRING,
            "state": or_null(STRING),
            "reason": STRING,
            "readings": READINGS,
            "actions": a_list(STRING),
            "detail": {"type": "object"},
            "weight": words("story", "detail", "noise"),
            "facts": a_list({"type": "object", "required": ["name"], "properties": {"name": STRING}}),
        }
    ),
    "Events": an_object({"events": a_list(ref("Event")), "next": COUNT}),
    "Lives": an_object(
        {
            "name": STRING,
            "lives": a_list(
                an_object(
                    {
                        "agent": STRING,
                        "incarnation": COUNT,
                        "session_id": or_null(STRING),
                        "mode": or_null(STRING),
                        "started": or_null(TIME),
                        "reason": or_null(STRING),
                        "first_evidence": or_null(TIME),
                        "productive": or_null(TIME),
                        "ended": or_null(TIME),
                        "code": or_null(INTEGER),
                        "signal": or_null(INTEGER),
                        "cause": or_null(STRING),
                        "end_reason": or_null(STRING),
                        "how": or_null(STRING),
                    }
                )
            ),
        }
    ),
    "LastExit": an_object(
        {
            "incarnation": COUNT,
            "code": or_null(INTEGER),
            "signal": or_null(INTEGER),
            "cause": STRING,
            "lived": NUMBER,
            "productive": or_null(STRING),
            "oom": or_null(STRING),
            "at": or_null(TIME),
        }
    ),
    "Cleanup": an_object(
        {
            "name": STRING,
            "dry_run": BOOLEAN,
            "owned": a_list(an_object({"pid": COUNT, "command": STRING, "why": STRING, "ended": BOOLEAN})),
            "foreign": a_list(an_object({"port": COUNT, "pid": or_null(INTEGER), "command": STRING})),
        }
    ),
    "Cleanups": an_object({"agents": a_list(ref("Cleanup"))}),
    "Incident": an_object(
        {
            "incarnation": COUNT,
            "kind": words("hung", "overtime"),
            "reason": STRING,
            "at": or_null(TIME),
            "file": STRING,
            "call": nullable_ref("OpenCall"),
        }
    ),
    "OpenCall": an_object(
        {
            "tool": STRING,
            "command": STRING,
            "ran": NUMBER,
            "declared": or_null(NUMBER),
            "idle": or_null(NUMBER),
            "over": BOOLEAN,
        }
    ),
    "Explanation": an_object(
        {
            "agent": ref("Agent"),
            "last_exit": nullable_ref("LastExit"),
            "incident": nullable_ref("Incident"),
            "decisions": a_list(ref("Event")),
            "looks": COUNT,
            "before": nullable_ref("Event"),
            "case": or_null(STRING),
        }
    ),
}
# fmt: on
