"""The one table of operations: routes, OpenAPI and phoenixctl's verbs are all derived from it, so they cannot differ.

Standard library only, because phoenixctl reads it too. An operation without a path is phoenixctl's own; two operations
with the same words are one verb, told apart by which path parameters were given. Help lists verbs in this order.
"""

from __future__ import annotations

from phoenixd.api.operations.agents import AGENTS
from phoenixd.api.operations.many import MANY_AGENTS
from phoenixd.api.operations.operation import Operation
from phoenixd.api.operations.papers import PAPERS
from phoenixd.api.operations.past import PAST
from phoenixd.api.operations.quiet import QUIET
from phoenixd.api.operations.seats import SEATS
from phoenixd.api.operations.telling import TELLING
from phoenixd.api.operations.upkeep import UPKEEP
from phoenixd.api.operations.work import WORK

CONCERNS: dict[str, tuple[str, tuple[Operation, ...]]] = {
    "agents": ("Agents: what they are, how they are started and stopped, and their terminals", AGENTS),
    "many": ("Verbs for many agents at once, what takes them back, and what agents say", MANY_AGENTS),
    "telling": ("What happened and why, what waits for a person, what needs repair", TELLING),
    "quiet": ("Mutes, alerts that were seen, and how far an operator has looked", QUIET),
    "past": ("What an agent did and used, and how what waited for a person ended", PAST),
    "papers": ("An agent's papers: its open loops and its brief", PAPERS),
    "seats": ("Orchestrators: contexts, handoffs, markers", SEATS),
    "work": ("Tasks of workers, phases of projects, memory", WORK),
    "upkeep": ("The clinic, configuration, recovery, heartbeats, breakers, leftovers, the installation", UPKEEP),
}
"""The operations by concern, each with its words: the tags of OpenAPI."""

GROUPS: dict[str, str] = {
    "brief": "What the next session of an agent is told",
    "tokens": "How full the context of an agent is",
    "handoff": "Pass the seat of an orchestrator to a successor",
    "resonance": "Whether agents still have the front of their context",
    "task": "Hand tasks to workers",
    "memory": "Files that projects share",
    "phase": "The plans of an orchestrator's project",
    "schema": "Schemas of the files that others write",
    "clinic": "What failed, what was done about it, and how often that held",
    "config": "The configuration files",
    "heartbeat": "The newest sign of life of an agent",
    "breaker": "What stops a loop that changes nothing",
    "hooks": "What a CLI runs to report to phoenixd",
}
"""What the verbs are about that have a second word, by their first."""

OPERATIONS: tuple[Operation, ...] = tuple(one for _, found in CONCERNS.values() for one in found)

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}


def served() -> tuple[Operation, ...]:
    """The operations that the daemon answers."""
    return tuple(operation for operation in OPERATIONS if operation.path is not None)


def verbs() -> dict[tuple[str, ...], tuple[Operation, ...]]:
    """phoenixctl's verbs in the order of the table, each with the operations behind it."""
    found: dict[tuple[str, ...], tuple[Operation, ...]] = {}
    for operation in OPERATIONS:
        if operation.words:
            found[operation.words] = (*found.get(operation.words, ()), operation)
    return found
