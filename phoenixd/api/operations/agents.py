"""Agents: what they are, how they are started and stopped, and their terminals."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.api.operations.operation import NAME_PATTERN, SEND_LIMIT, Operation, Parameter
from phoenixd.api.operations.parameters import (
    ARGV,
    CHOSEN,
    CONFIG,
    DECLARATION,
    FOLLOW,
    FRESH,
    LINES,
    LOOK,
    NAME,
    NEW_NAME,
    NOT_NOW,
    ONLY_SHOW,
    PLACES,
    SELECT,
    SEVERAL,
    TEXT_FORM,
    TIMED_OUT,
    WHICH,
    YES,
    timeout,
    wait,
)

WATCH = Parameter("watch", "local", "boolean", "then a line for each change", flag="--watch", short="-w", default=False)
MOST_CELLS = 1000
"""Columns or lines of a terminal."""
ON_SCREEN = replace(NAME, place="local")
# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
AGENTS: tuple[Operation, ...] = (
    Operation(
        "list_agents", ("status",), "What needs you, is everything alive, what happened since you looked",
        (
            Parameter("all", "query", "boolean", "each agent on a line", flag="--all", default=False), SELECT, WATCH,
            Parameter(
                "after", "query", "string", "only what changed after this cursor of an earlier answer; empty to begin",
                hidden=True,
            ),
            *TEXT_FORM, LOOK,
        ),
        path="/v1/agents", response="Status",
    ),
    Operation(
        "follow_feed", (), "All that changes, as it changes; without an Accept of event streams all that is there now",
        (SELECT,), path="/v1/stream", response="Feed", stream=True, text=False,
    ),
    Operation(
        "show_agent", ("status",), "One agent in full, or what selectors choose",
        (SEVERAL, WHICH, WATCH, *TEXT_FORM),
        path="/v1/agents/{name}", rights="agent", response="Status", exits=((3, "the agent is not running"),),
    ),
    Operation(
        "up", ("up",), "Start the daemon if none runs",
        (
            CONFIG, *PLACES,
        ),
        exits=((6, "a daemon of another configuration or state directory runs there"), TIMED_OUT),
    ),
    Operation(
        "down", ("down",), "Stop the daemon; the agents run on, unless --agents",
        (
            Parameter(
                "agents", "body", "boolean", "stop every agent first, and keep them stopped", flag="--agents",
                default=False,
            ),
            timeout("2m"), *TEXT_FORM,
        ),
        method="POST", path="/v1/down", rights="admin", response="Message",
        exits=((7, "no daemon runs, so that what stands behind && is not done"), TIMED_OUT),
    ),
    Operation(
        "run", ("run",), "up, add, start and attach in one",
        (
            Parameter("name", "local", "string", "name of the agent; default: from the command", pattern=NAME_PATTERN),
            Parameter("detached", "local", "boolean", "do not attach", flag="--detached", short="-d", default=False),
            *DECLARATION, Parameter("argv", "body", "strings", "the command, after --", required=True),
        ),
        exits=((6, "another agent of that name exists"), TIMED_OUT),
    ),
    Operation(
        "add_agent", ("add",), "Declare an agent; it is not started", (NEW_NAME, *DECLARATION, ARGV, *TEXT_FORM),
        method="POST", path="/v1/agents", rights="admin", response="Added", idempotent=False,
        exits=((6, "an agent of that name exists"),),
    ),
    Operation(
        "remove_agent", ("remove",), "Stop agents and forget them", (*CHOSEN, *TEXT_FORM), method="DELETE",
        path="/v1/agents/{name}", rights="admin", response="Message", exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "start_agent", ("start",), "Start agents, and keep them running",
        (
            *CHOSEN, FRESH, wait("return once it runs, or is given up (1)", default=False), timeout("1m"),
            Parameter(
                "columns", "body", "integer", "of the terminal that waits to show it", minimum=1, maximum=MOST_CELLS,
                hidden=True,
            ),
            Parameter(
                "lines", "body", "integer", "of the terminal that waits to show it", minimum=1, maximum=MOST_CELLS,
                hidden=True,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/start", rights="operate", response="Outcome", lasts=True,
        exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "stop_agent", ("stop",), "Stop agents, and keep them stopped; returns when nothing of them is left",
        (
            *CHOSEN,
            Parameter(
                "after_iteration", "body", "boolean", "let a loop finish its iteration first", flag="--after-iteration",
                default=False,
            ),
            wait("return when nothing of it is left; without --after-iteration it always does", default=None),
            timeout("1m"), *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/stop", rights="operate", response="Outcome", exits=(
            (6, "the agent's present state does not allow it, or it was ordered to run again meanwhile"), TIMED_OUT,
        ),
    ),
    Operation(
        "restart_agent", ("restart",), "End the present run and start a new one",
        (*CHOSEN, FRESH, wait("return when the new one runs", default=False), timeout("1m"), *TEXT_FORM), method="POST",
        path="/v1/agents/{name}/restart", rights="operate", response="Outcome", idempotent=False,
        lasts=True, exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "attach", ("attach",), "Sit down at an agent's terminal (tmux; Ctrl-b, then d, leaves it)",
        (
            NAME,
            Parameter(
                "read_only", "local", "boolean", "watch without typing", flag="--read-only", short="-r", default=False,
            ),
        ),
        exits=((6, "this terminal is inside another tmux"),),
    ),
    Operation(
        "read_pane", ("screen",), "What an agent's terminal shows, and what scrolled out of it",
        (NAME, LINES, FOLLOW, *TEXT_FORM),
        path="/v1/agents/{name}/pane", response="Pane", stream=True,
    ),
    Operation("logs", ("logs",), "The same as screen; for what agents say: log", (ON_SCREEN, LINES, FOLLOW)),
    Operation(
        "send_text", ("send",), "Type a text into agents, and say whether it arrived",
        (
            SEVERAL, Parameter("text", "body", "string", "the text, or - for standard input", required=True),
            wait("return when it arrived", default=True, flag=None),
            Parameter(
                "timeout", "body", "duration",
                "how long it may wait for its turn (30s, 5m); what came of it is told at most 45 s later",
                flag="--timeout", default="1m",
            ),
            Parameter("key", "local", "string", "a word of yours: with it again, nothing is typed twice", flag="--key"),
            ONLY_SHOW, YES, *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/send", rights="operate", response="Sent", idempotent=False,
        lasts=True, exits=(NOT_NOW, TIMED_OUT), body_limit=SEND_LIMIT,
    ),
)
# fmt: on
