"""The four kinds of agents, in a module of their own: code that chooses by kind needs to import no more."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What an agent is for; it decides what exit 0 means."""

    RESIDENT = "resident"
    LOOP = "loop"
    ORCHESTRATOR = "orchestrator"
    EPHEMERAL = "ephemeral"
