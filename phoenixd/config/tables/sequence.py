"""The tables of a sequence of agents."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from phoenixd.config.duration import Duration
from phoenixd.config.tables.values import Table, Text, Words, refuse


class TurnTable(Table):
    """When a member's turn comes about: a file below the first member's cwd exists, or a command exits 0."""

    exists: Text | None = None
    command: Words = ()
    time_limit: Annotated[Duration, Field(gt=0, le=3600)] = 60.0

    @model_validator(mode="after")
    def _one(self) -> TurnTable:
        if (self.exists is None) == (not self.command):
            raise refuse("either exists or command says when a turn comes about, and not both")
        return self


class SequenceTable(Table):
    """Agents that have their turns one after the other; the first one leads."""

    members: Annotated[Words, Field(min_length=1)]
    when: dict[str, TurnTable] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _members(self) -> SequenceTable:
        if len(set(self.members)) < len(self.members):
            raise refuse("members names one of them twice")
        for name in self.when:
            if name not in self.members[1:]:
                raise refuse(f"when: {name[:40]} is none of the members after the first")
        return self
