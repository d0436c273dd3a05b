"""The whole fleet: one step for one event, and the brakes that only make sense across agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phoenixd.core.agent import Agent
from phoenixd.core.moment import Instant
from phoenixd.core.spec import FleetLimits


@dataclass(frozen=True, slots=True)
class Fleet:
    """All agents and the fleet-wide facts. Treated as a value: a step returns a new one.

    hold_until: starts wait for the terminal to be seen again, because most of the fleet fell at once.
    """

    agents: Mapping[str, Agent] = field(default_factory=dict)
    limits: FleetLimits = FleetLimits()
    next_item: int = 1
    falls: tuple[Instant, ...] = ()
    hold_until: Instant | None = None
