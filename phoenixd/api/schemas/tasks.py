"""Schemas of tasks of workers."""

from __future__ import annotations

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
    nullable_ref,
    or_null,
    ref,
    words,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
TASKS: dict[str, Schema] = {
    "Task": an_object(
        {
            "id": STRING,
            "state": words("waiting", "running", "collecting", "done", "failed", "canceled", "unknown"),
            "reason": STRING,
            "agent": AGENT_NAME,
            "asked_by": or_null(STRING),
            "by": STRING,
            "project": or_null(STRING),
            "plan_task": or_null(STRING),
            "after": a_list(STRING),
            "writes": BOOLEAN,
            "timeout": NUMBER,
            "tries": COUNT,
            "runs": COUNT,
            "runs_spared": COUNT,
            "asked_at": or_null(TIME),
            "since": or_null(TIME),
            "due_in": or_null(NUMBER),
            "stop": or_null(STRING),
            "report": or_null(STRING),
            "outputs": COUNT,
            "outputs_refused": COUNT,
            "claims": nullable_ref("TaskClaims"),
            "told": BOOLEAN,
        }
    ),
    "TaskClaims": an_object(
        {
            "source": STRING,
            "problem": or_null(STRING),
            "contradicted": COUNT,
            "verified": COUNT,
            "unverifiable": COUNT,
            "listed": a_list(ref("TaskClaim")),
        }
    ),
    "TaskClaim": an_object(
        {
            "kind": STRING,
            "said": STRING,
            "verdict": words("contradicted", "verified", "unverifiable"),
            "why": STRING,
        }
    ),
    "Tasks": an_object({"tasks": a_list(ref("Task")), "at_once": COUNT}),
    "TaskOutcome": an_object({"task": ref("Task"), "message": STRING}),
}
# fmt: on
