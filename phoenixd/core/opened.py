"""Which row of the journal opened the state that an agent is in, by the key that the row bears."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from phoenixd.core.agent import Agent
from phoenixd.core.facts import Fact, StateOpened

SAME_MOMENT = 0.001
"""Seconds by which two readings of one moment may differ."""


class Row(Protocol):
    """What the journal keeps of a decision, as far as it is asked here."""

    @property
    def wall(self) -> float: ...
    @property
    def state(self) -> str | None: ...
    @property
    def facts(self) -> tuple[Fact, ...]: ...


class Stored(Protocol):
    """A row with its number, 0 where it was not saved."""

    @property
    def seq(self) -> int: ...
    @property
    def entry(self) -> Row: ...


S = TypeVar("S", bound=Stored)


def is_opened(before: Agent | None, after: Agent) -> bool:
    """Whether a decision opened a state, or gave the one that stands another reason."""
    if before is None:
        return True
    return (before.state.name, before.since_wall, before.reason) != (after.state.name, after.since_wall, after.reason)


def opening(agent: Agent, rows: Iterable[S]) -> S | None:
    """The newest of these rows of the agent's that opened its state; they come in order.

    The rows of an older version bear no key. There it is the first that was written at the moment at which the state
    began, and tells of it.
    """
    keyed: S | None = None
    plain: S | None = None
    names = {agent.state_name, agent.state.name}
    for row in rows:
        if not row.seq:
            continue
        key = next((fact.since_wall for fact in row.entry.facts if isinstance(fact, StateOpened)), None)
        if key is not None:
            keyed = row if key == agent.since_wall else keyed
        elif plain is None and row.entry.state in names and abs(row.entry.wall - agent.since_wall) <= SAME_MOMENT:
            plain = row
    return keyed if keyed is not None else plain
