"""An agent's papers: its open loops and its brief."""

from __future__ import annotations

from phoenixd.api.operations.operation import NAME_PATTERN, Operation, Parameter
from phoenixd.api.operations.parameters import NAME, TEXT_FORM

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
PAPERS: tuple[Operation, ...] = (
    Operation(
        "resolve_loop", ("resolve",), "Close an open loop, and say why",
        (
            Parameter("id", "body", "string", "the loop, by the id that loops shows", required=True),
            Parameter("reason", "body", "string", "why it is closed", required=True),
            Parameter(
                "agent", "body", "string", "whose loop; default: this pane's agent, else the only one that has it",
                flag="--agent", pattern=NAME_PATTERN, names="agents",
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/resolve", rights="own", response="Resolved",
        exits=((6, "several agents have such a loop, or its state.json must not be written"),),
    ),
    Operation(
        "list_loops", ("loops",), "Open loops, the stale ones first",
        (Parameter("agent", "query", "string", "only of this agent", pattern=NAME_PATTERN, names="agents"), *TEXT_FORM),
        path="/v1/loops", rights="agent", response="Loops",
    ),
    Operation(
        "brief_show", ("brief", "show"), "What an agent's sessions are told at their start", (NAME, *TEXT_FORM),
        path="/v1/agents/{name}/brief", rights="agent", response="Brief",
    ),
    Operation(
        "brief_check", ("brief", "check"), "Whether state.json and brief.md can be relied on: their schema and age",
        (NAME, *TEXT_FORM), path="/v1/agents/{name}/brief/check", rights="agent", response="BriefCheck",
        exits=((3, "something is wrong with them"),),
    ),
    Operation(
        "brief_generate", ("brief", "generate"), "Write an agent's brief anew now", (NAME, *TEXT_FORM), method="POST",
        path="/v1/agents/{name}/brief", rights="operate", response="Brief",
    ),
)
# fmt: on
