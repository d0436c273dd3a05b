"""Verbs for many agents at once, what takes them back, and what agents say."""

from __future__ import annotations

from phoenixd.api.operations.operation import SEND_LIMIT, Operation, Parameter
from phoenixd.api.operations.parameters import (
    FOLLOW,
    FRESH,
    LINES,
    ONLY_SHOW,
    TEXT_FORM,
    TIMED_OUT,
    WHICH,
    YES,
    timeout,
    wait,
)

MOST_EXPECTED = 10_000
"""Agents that one act may be confirmed for."""
# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
EXPECT = Parameter(
    "expect", "body", "words", "the agents that a person was shown: where others match by now, nothing is done",
    maximum=MOST_EXPECTED, hidden=True,
)
MANY = (
    Parameter("select", "body", "string", "names and selectors: see help select", hidden=True),
    Parameter("dry_run", "body", "boolean", "only show whom it means", default=False, hidden=True),
    EXPECT,
)
CHANGED = (6, "other agents match than were shown, or the present state of one does not allow it")

MANY_AGENTS: tuple[Operation, ...] = (
    Operation(
        "act", (), "One verb for all agents that a selector chooses; results agent by agent",
        (
            Parameter(
                "verb", "body", "string", "what is done", required=True,
                choices=(
                    "start", "stop", "restart", "remove", "send", "mute", "unmute", "breaker_reset", "check", "restore",
                ),
            ),
            *MANY, FRESH,
            Parameter("after_iteration", "body", "boolean", "stop: let loops finish their iteration", default=False),
            Parameter("text", "body", "string", "send: the text", default=""),
            Parameter("why", "body", "string", "check: what hangs on it, for the journal", default=""),
            Parameter("for", "body", "duration", "mute: for how long", default="1h"),
            wait("return when it came about, as without it, but for a stop after an iteration", default=None),
            timeout("1m"), *TEXT_FORM,
        ),
        method="POST", path="/v1/act", rights="operate", response="Acted", idempotent=False, body_limit=SEND_LIMIT,
        exits=(CHANGED, TIMED_OUT),
    ),
    Operation(
        "undo", ("undo",),
        "Take back the newest stop, removal, fresh start or mute of the last 7 days, of all agents or of some",
        (
            WHICH, *MANY,
            Parameter(
                "act", "body", "string", "the very act, as --dry-run names it; default: the newest", flag="--act",
                pattern=r"^[0-9a-z-]{1,40}$", shape="1 to 40 of a-z, 0-9 and -",
            ),
            ONLY_SHOW, YES, *TEXT_FORM,
        ),
        method="POST", path="/v1/undo", rights="operate",
        response="Acted", idempotent=False, body_limit=SEND_LIMIT, exits=(CHANGED,),
    ),
    Operation(
        "read_log", ("log",), "What agents said and did, a line each, out of their transcripts",
        (
            WHICH,
            Parameter("select", "query", "string", "names and selectors: see help select", hidden=True),
            FOLLOW,
            Parameter("grep", "local", "string", "only lines with this regular expression", flag="--grep", short="-g"),
            Parameter("since", "query", "string", "from then on: 8h, 18:00, yesterday, a date", flag="--since"),
            LINES, *TEXT_FORM,
        ),
        path="/v1/log", response="Log", stream=True,
    ),
    Operation(
        "prompt", ("prompt",),
        "Counts for a shell's prompt: !2 need you, ~1 healing, ?1 unknown; nothing where all is well",
        TEXT_FORM, path="/v1/prompt", response="Prompt",
    ),
    Operation("top", ("top",), "The list of all agents, live: answer, steer, attach and look back by keys", (WHICH,)),
    Operation(
        "help", ("help",), "What a verb does and takes; help select: how agents are chosen",
        (Parameter("verb", "local", "words", "the verb", names="verbs"),),
    ),
)
# fmt: on
