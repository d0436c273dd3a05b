"""Names of orchestrators that are new: an existing one may be longer than their generations allow."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from phoenixd.core.seat.names import is_too_long, refusal_of_length
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.errors import ConfigurationError


def require_known(declared: Iterable[AgentSpec], known: Callable[[], Container[str]]) -> None:
    """The same for what a daemon finds declared at its start. known: the names of the agents that it has already."""
    seatless = [spec for spec in declared if _has_no_seat(spec)]
    if seatless:
        there = known()
        require_seats(spec for spec in seatless if spec.name not in there)


def require_seats(added: Iterable[AgentSpec]) -> None:
    """Raise ConfigurationError where an orchestrator that is new could not be handed over."""
    refused = [(spec, refusal_of_length(spec.name)) for spec in added if _has_no_seat(spec)]
    if refused:
        lines = [f"{spec.source}: agent.{spec.name}: {refusal.message}" for spec, refusal in refused]
        raise ConfigurationError("\n".join(lines), refused[0][1].remedy)


def _has_no_seat(spec: AgentSpec) -> bool:
    return spec.kind is Kind.ORCHESTRATOR and is_too_long(spec.name)
