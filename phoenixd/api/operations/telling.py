"""What phoenixd tells: what happened and why, what waits for a person, what needs repair."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.api.operations.operation import NAME_PATTERN, Operation, Parameter
from phoenixd.api.operations.parameters import (
    FOLLOW,
    ITEM,
    LINES,
    LOOK,
    NAME,
    SELECT,
    TEXT_FORM,
    TIMED_OUT,
    WHICH,
    timeout,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
CLOSED = Parameter(
    "closed", "local", "boolean", "what waited within 7 days, by whom and how it ended", flag="--closed", default=False,
)

TELLING: tuple[Operation, ...] = (
    Operation(
        "list_events", ("events",), "What happened, from the journal",
        (
            Parameter(
                "agent", "query", "string", "only this agent; or by selector", pattern=NAME_PATTERN, names="agents",
            ),
            WHICH, SELECT, FOLLOW,
            Parameter("since", "query", "string", "from then on: 8h, 18:00, yesterday, a date, last", flag="--since"),
            Parameter(
                "all", "query", "boolean", "notes too, not only what a person would tell", flag="--all", default=False,
            ),
            Parameter(
                "weight", "query", "string", "the least that is told: story, as without all, or detail, as with it",
                choices=("story", "detail"), hidden=True,
            ),
            Parameter("after", "query", "integer", "only rows above this number", minimum=0, hidden=True),
            Parameter("before", "query", "integer", "only rows below this number", minimum=1, hidden=True),
            Parameter("limit", "query", "integer", "this many rows at most", minimum=1, maximum=10000, hidden=True),
            LINES, *TEXT_FORM,
            Parameter(
                "form", "query", "string", "what the data of a stream is", default="json", choices=("json", "text"),
                hidden=True,
            ),
        ),
        path="/v1/events", response="Events", stream=True,
    ),
    Operation(
        "list_lives", (), "The runs of an agent, the newest first: how each began, what it achieved, how it ended",
        (NAME, Parameter("limit", "query", "integer", "this many runs at most", default=100, minimum=1, maximum=1000)),
        path="/v1/agents/{name}/lives", response="Lives", text=False,
    ),
    Operation(
        "explain_agent", ("explain",), "Why an agent is as it is: the last decisions, their reasons and readings",
        (NAME, LINES, *TEXT_FORM), path="/v1/agents/{name}/explain", response="Explanation",
    ),
    Operation(
        "inbox", ("inbox",), "What waits for a person, oldest first", (SELECT, CLOSED, *TEXT_FORM), path="/v1/inbox",
        response="Inbox",
    ),
    Operation(
        "show_item", ("inbox",), "One thing that waits, in full; or what waits of agents by selector",
        (ITEM, WHICH, CLOSED, *TEXT_FORM), path="/v1/inbox/{id}",
        response="OneItem",
    ),
    Operation(
        "answer_item", ("answer",), "Answer what an agent asks (a permission, a plan, a question), or see it whole",
        (
            replace(ITEM, names="answered"),
            Parameter(
                "answer", "body", "words",
                "a permission: allow (this once), or deny REASON; a plan: approve, or deny REASON; a question: an "
                "option by its number or its exact words, anything else is told as it is; several options of one "
                "question with commas (1,3), several questions one answer each, in order; without an answer all that "
                "is asked is shown",
            ),
            Parameter(
                "text", "body", "boolean", "tell a question's answer as it is: it is no number and no option",
                flag="--text", default=False,
            ),
            Parameter(
                "verdict", "body", "string", "in place of answer, for a permission or a plan",
                choices=("allow", "deny"), hidden=True,
            ),
            Parameter("reason", "body", "string", "why, where the verdict is deny", default="", hidden=True),
            Parameter("text_hash", "body", "string", "text_hash of the item that you were shown", flag="--hash"),
            timeout("30s"), *TEXT_FORM,
        ),
        method="POST", path="/v1/inbox/{id}/answer", rights="operate", response="Answered", idempotent=False,
        exits=((6, "it waits no more, another answer was first, or it takes none like this; told why"), TIMED_OUT),
    ),
    Operation(
        "since", ("since",), "What happened since a time, or since you looked",
        (Parameter("time", "query", "string", "8h, 18:00, yesterday, a date, last", default="last"), *TEXT_FORM, LOOK),
        path="/v1/since", response="Since",
    ),
    Operation(
        "wait_agent", ("wait",), "Wait until an agent is in a state",
        (
            NAME,
            Parameter(
                "for", "query", "string", "what to wait for", flag="--for", required=True,
                choices=("idle", "waiting", "stopped", "running"),
            ),
            Parameter(
                "timeout", "query", "duration", "give up after this long (30s, 5m)", flag="--timeout", default="10m"
            ),
            *TEXT_FORM,
        ),
        path="/v1/agents/{name}/wait", response="Waited", lasts=True,
        exits=(
            (6, "it does not come to that state by itself: a person has to help or to start it, or it tells no turns"),
            TIMED_OUT,
        ),
    ),
    Operation(
        "doctor", ("doctor",), "What is wrong here, each with its remedy",
        (
            Parameter("all", "query", "boolean", "also what is well", flag="--all", default=False),
            Parameter("path", "query", "string", "PATH of the shell that asks", default="", hidden=True), *TEXT_FORM,
        ),
        path="/v1/doctor", response="Doctor", exits=((3, "something needs repair"),),
    ),
)
# fmt: on
