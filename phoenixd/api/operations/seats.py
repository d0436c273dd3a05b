"""Orchestrators: how full a context is, how a seat is handed over, whether a marker is still known."""

from __future__ import annotations

from phoenixd.api.operations.operation import NAME_PATTERN, Operation, Parameter
from phoenixd.api.operations.parameters import (
    CHOSEN,
    NOT_NOW,
    SEAT,
    SELECT,
    SESSION,
    SEVERAL,
    TEXT_FORM,
    TIMED_OUT,
    WHICH,
    timeout,
    wait,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
SEATS: tuple[Operation, ...] = (
    Operation(
        "tokens_check", ("tokens", "check"), "Whether a context is so full that a handoff is due; exit 1: unknown",
        (
            Parameter(
                "agent", "query", "string", "the agent; default: this pane's agent, else the session's",
                pattern=NAME_PATTERN, names="agents",
            ),
            Parameter("session_id", "query", "string", "the agent whose session this is", flag="--session-id"),
            Parameter(
                "threshold", "query", "string", "share of the window in (0, 1]; default: context.threshold",
                flag="--threshold",
            ),
            *TEXT_FORM,
        ),
        path="/v1/tokens", rights="agent", response="Tokens", exits=((3, "a handoff is due"),),
    ),
    Operation(
        "handoff_start", ("handoff", "start"), "Hand an orchestrator's seat over to a successor",
        (
            SEAT, SESSION,
            Parameter("project", "body", "string", "its project; another one is refused", flag="--project"), *TEXT_FORM,
        ),
        method="POST", path="/v1/handoff", rights="own", response="Handoff", idempotent=False,
        exits=((6, "one goes on already, or it does not run"),),
    ),
    Operation(
        "handoff_status", ("handoff", "status"), "How far a handoff is: its steps, its checks, and how long each took",
        (
            Parameter(
                "agent", "query", "string", "the orchestrator; default: this pane's agent", pattern=NAME_PATTERN,
                names="agents",
            ),
            Parameter("session_id", "query", "string", "the one whose session this is", flag="--session-id"),
            *TEXT_FORM,
        ),
        path="/v1/handoff", rights="agent", response="Handoff",
    ),
    Operation(
        "handoff_rollback", ("handoff", "rollback"), "Call a handoff off: the predecessor goes on",
        (SEAT, *TEXT_FORM), method="POST", path="/v1/handoff/rollback", rights="operate", response="Handoff",
        exits=((6, "none goes on, or its successor holds the seat already"),),
    ),
    Operation(
        "handoff_ack", ("handoff", "ack"), "A successor's word that it has loaded what it was handed",
        (
            Parameter("said", "body", "string", "what it quotes, as a JSON object", required=True),
            Parameter(
                "agent", "body", "string", "the orchestrator; default: this pane's agent", flag="--agent",
                pattern=NAME_PATTERN, names="agents",
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/handoff/ack", rights="own", response="Handoff", idempotent=False,
        exits=((6, "it does not prove that; the reason is told"),),
    ),
    Operation(
        "list_resonance", ("resonance", "status"), "Agents that bear a marker: whether they still know it",
        (SELECT, *TEXT_FORM), path="/v1/resonance", response="Resonances",
    ),
    Operation(
        "show_resonance", ("resonance", "status"), "One agent's marker: its checks, what is due, what to do",
        (SEVERAL, WHICH, *TEXT_FORM), path="/v1/agents/{name}/resonance", response="Resonance",
        exits=((3, "its marker is missed, lost, or being restored"),),
    ),
    Operation(
        "check_resonance", ("resonance", "check"), "Ask an agent for a code of its marker, at its next turn's end",
        (
            *CHOSEN, wait("return when it has answered", default=False), timeout("10m"),
            Parameter("why", "body", "string", "what hangs on it, for the journal", flag="--why"), *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/resonance/check", rights="operate", response="Resonance",
        idempotent=False, lasts=True, exits=((3, "with --wait: it did not know it"), NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "restore_resonance", ("resonance", "restore"), "Begin a new session from the seed, as after a lost marker",
        (
            *CHOSEN,
            Parameter(
                "from_transcript", "body", "boolean", "begin none: make lost papers anew from the transcript's footers",
                flag="--from-transcript", default=False,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/resonance/restore", rights="operate", response="Resonance",
        idempotent=False, exits=(NOT_NOW,),
    ),
    Operation(
        "mint_marker", ("resonance", "mint"), "A marker that was never given, and is in the ledger from now on",
        (Parameter("phrase", "body", "string", "its words; default: one of ours", flag="--phrase"), *TEXT_FORM),
        method="POST", path="/v1/resonance/mint", rights="operate", response="Minted", idempotent=False,
    ),
)
# fmt: on
