"""The four kinds of agents, apart from all else that is declared of one: who chooses by kind needs no more."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What an agent is for; it decides what exit 0 means."""

    RESIDENT = "resident"
    LOOP = "loop"
    ORCHESTRATOR = "orchestrator"
    EPHEMERAL = "ephemeral"
