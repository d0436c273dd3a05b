"""Schemas of what waits for a person, what happened since, and what became of an order."""

from __future__ import annotations

from phoenixd.api.by_hand import NAMED, VERDICTS
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
    nullable_ref,
    or_null,
    ref,
    words,
)
from phoenixd.core.facts import VERBS
from phoenixd.core.question.call import ASKS

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
PEOPLE: dict[str, Schema] = {
    "Item": an_object(
        {
            "id": INTEGER,
            "agent": STRING,
            "incarnation": COUNT,
            "kind": STRING,
            "text": STRING,
            "text_hash": STRING,
            "opened": or_null(TIME),
            "answer_by": words("reply", "attach", "command", "answer"),
            "title": STRING,
            "shown": a_list(STRING),
            "flags": a_list(STRING),
            "limits": STRING,
            "advice": STRING,
            "left": BOOLEAN,
            "acknowledged": nullable_ref("AgentAcknowledged"),
            "questions": a_list(ref("Question")),
        }
    ),
    "Question": an_object(
        {
            "question": STRING,
            "header": STRING,
            "several": BOOLEAN,
            "options": a_list(an_object({"label": STRING, "description": STRING})),
        }
    ),
    "Items": an_object(
        {"state": words("open", "closed"), "items": a_list(ref("Item")), "closed": a_list(ref("ClosedItem"))}
    ),
    "ClosedItem": an_object(
        {
            "id": INTEGER, "agent": or_null(STRING), "kind": STRING, "text": STRING, "opened": or_null(TIME),
            "closed": TIME, "by": or_null(STRING), "how": STRING, "row": COUNT,
        }
    ),
    "Looked": an_object({"uid": INTEGER, "row": COUNT, "at": TIME}),
    "Usage": an_object(
        {
            "name": AGENT_NAME,
            "samples": a_list(
                an_object(
                    {
                        "at": TIME, "agent": STRING, "incarnation": COUNT, "session_id": STRING, "tokens": COUNT,
                        "limit": or_null(COUNT), "source": STRING,
                    }
                )
            ),
            "spent": a_list(an_object({"at": TIME, "agent": STRING, "handoff": STRING, "tokens": COUNT})),
        }
    ),
    "Turns": an_object(
        {
            "name": AGENT_NAME,
            "turns": a_list(
                an_object(
                    {
                        "started": or_null(TIME), "ended": or_null(TIME),
                        "how": {"type": ["string", "null"], "enum": ["done", "failed", "interrupted", None]},
                        "prompt": STRING, "prompts": COUNT,
                        "tools": a_list(an_object({"name": STRING, "calls": COUNT})),
                        "failed_calls": COUNT, "tokens": or_null(COUNT), "output": or_null(COUNT),
                    }
                )
            ),
        }
    ),
    "OneItem": an_object({"item": ref("Item")}),
    "Inbox": an_object({"items": a_list(ref("Item")), "alerts": a_list(ref("Alert"))}),
    "Since": an_object(
        {
            "from": or_null(TIME),
            "to": TIME,
            "complete": BOOLEAN,
            "journal_begins": or_null(TIME),
            "seen": or_null(TIME),
            "deaths": an_object(
                {
                    "total": COUNT,
                    "healed": COUNT,
                    "repeated": COUNT,
                    "healing": COUNT,
                    "running_again": COUNT,
                    "quarantined": COUNT,
                    "returned": COUNT,
                    "released": COUNT,
                    "ended": COUNT,
                    "resumed": COUNT,
                    "fresh": COUNT,
                    "slowest": or_null(NUMBER),
                    "died": a_list(STRING),
                    "back": a_list(STRING),
                    "agents": a_list(STRING),
                    "healed_agents": a_list(STRING),
                }
            ),
            "limits": a_list(
                an_object(
                    {
                        "kind": {"enum": ["limit", "overload", "outage"]}, "of": or_null(STRING), "from": TIME,
                        "to": or_null(TIME), "due": or_null(TIME), "agents": a_list(STRING), "parked": a_list(STRING),
                    }
                )
            ),
            "quarantines": a_list(
                an_object(
                    {
                        "agent": STRING, "from": TIME, "to": or_null(TIME), "ended_by": or_null(STRING),
                        "productive": BOOLEAN,
                    }
                )
            ),
            "fleet_alerts": a_list(an_object({"kind": STRING, "from": TIME, "to": or_null(TIME)})),
            "handoffs": a_list(
                an_object({"name": STRING, "from": TIME, "to": TIME, "generation": COUNT, "done": BOOLEAN})
            ),
            "reboots": a_list(an_object({"at": TIME, "ended": a_list(STRING), "back": a_list(STRING)})),
            "terminal_ends": a_list(
                an_object({"at": TIME, "fell": a_list(STRING), "back": a_list(STRING), "back_by": or_null(TIME)})
            ),
            "ordered": a_list(
                an_object({"agent": AGENT_NAME, "verb": {"enum": list(NAMED)}, "by": STRING, "at": TIME})
            ),
            "questions": a_list(
                an_object(
                    {
                        "id": INTEGER, "agent": AGENT_NAME, "kind": {"enum": sorted(ASKS)}, "from": or_null(TIME),
                        "to": or_null(TIME), "answered_by": or_null(STRING),
                        "verdict": {"type": ["string", "null"], "enum": [*VERDICTS, None]}, "ended_with_run": BOOLEAN,
                    }
                )
            ),
            "finished_agents": a_list(an_object({"agent": STRING, "at": TIME, "by_person": BOOLEAN})),
            "failed_starts": COUNT,
            "unstarted": a_list(STRING),
            "waiting": a_list(ref("Item")),
            "alerts": a_list(ref("Alert")),
            "outages": COUNT,
            "unwatched": a_list(an_object({"from": TIME, "to": TIME, "ended_by": or_null(STRING)})),
            "ran_on": a_list(STRING),
            "orders": an_object({str(verb): COUNT for verb in VERBS}),
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
    "Acted": an_object(
        {
            "verb": STRING,
            "act": or_null(STRING),
            "dry_run": BOOLEAN,
            "took_back": a_list(
                an_object(
                    {
                        "act": STRING, "what": STRING, "by": STRING, "at": TIME, "agents": a_list(AGENT_NAME),
                    }
                )
            ),
            "agents": a_list(an_object({"name": AGENT_NAME, "exit": COUNT, "message": STRING, "remedy": STRING})),
        }
    ),
    "Log": an_object(
        {
            "lines": a_list(
                an_object(
                    {
                        "at": or_null(TIME),
                        "agent": AGENT_NAME,
                        "kind": words("prompt", "said", "tool", "result", "error", "session"),
                        "tool": or_null(STRING),
                        "text": STRING,
                    }
                )
            )
        }
    ),
    "Prompt": an_object({"needs_you": COUNT, "healing": COUNT, "working": COUNT, "resting": COUNT, "unknown": COUNT}),
    "Outcome": an_object({"agent": nullable_ref("Agent"), "done": BOOLEAN, "message": STRING}),
    "Sent": an_object(
        {
            "message_id": STRING,
            "delivered": {"type": ["boolean", "null"]},
            "kept": BOOLEAN,
            "evidence": STRING,
            "message": STRING,
        }
    ),
    "Answered": an_object(
        {
            "id": INTEGER,
            "agent": AGENT_NAME,
            "verdict": words("allow", "deny", "answer"),
            "answer": a_list(STRING),
            "taken": BOOLEAN,
            "kept": BOOLEAN,
            "message": STRING,
        }
    ),
}
# fmt: on
