"""A seat: what a declared orchestrator is, whichever of its generations holds it now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from phoenixd.core.handoff.state import Handoff
from phoenixd.core.seat.names import generation_name, is_too_long
from phoenixd.core.spec import AgentSpec, Kind


@dataclass(frozen=True, slots=True)
class HeldRestart:
    """A restart that was asked for while another generation lived; it comes about when there is one again."""

    by: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Seat:
    """A declared orchestrator. The fleet keeps one for each, by its name."""

    name: str
    project: str
    generation: int = 1
    """The holder's."""
    fenced: int = 0
    """The highest generation whose token, tasks and papers are refused."""
    declared: AgentSpec | None = field(default=None, repr=False)
    """A specification that was declared while another generation lived, and waits until there is one again."""
    restart: HeldRestart | None = None
    """A restart that waits likewise."""
    handoff: Handoff | None = None
    """The one that goes on, else the last one."""

    @property
    def holder(self) -> str:
        """The name of the agent that holds it."""
        return generation_name(self.name, self.generation)


def project_of(spec: AgentSpec) -> str:
    """The project that an orchestrator leads: what its key says, else its own name."""
    return spec.project or spec.seat or spec.name


def is_seated(spec: AgentSpec) -> bool:
    """Whether an agent of this specification has a seat."""
    return spec.kind is Kind.ORCHESTRATOR and not is_too_long(spec.seat or spec.name)


def as_generation(spec: AgentSpec, seat: Seat, generation: int) -> AgentSpec:
    """The specification of one generation of a seat."""
    return replace(spec, name=generation_name(seat.name, generation), seat=seat.name, generation=generation)


def as_declared(spec: AgentSpec) -> AgentSpec:
    """A generation's specification as its configuration declares it."""
    return replace(spec, name=spec.seat, seat="", generation=0) if spec.seat else spec


def shown(seats: Mapping[str, Seat], spec: AgentSpec) -> str:
    """The name under which people know an agent: of a holder its seat's, of another generation NAME-gN."""
    seat = seats.get(spec.seat) if spec.seat else None
    if seat is None:
        return spec.name
    return seat.name if seat.generation == spec.generation else f"{seat.name}-g{spec.generation}"


def without(seats: Mapping[str, Seat], spec: AgentSpec) -> Mapping[str, Seat]:
    """The seats once an agent is removed: that of a holder goes with it."""
    seat = seats.get(spec.seat) if spec.seat else None
    if seat is None or seat.generation != spec.generation:
        return seats
    return {name: one for name, one in seats.items() if name != seat.name}


def seat_of(spec: AgentSpec) -> Seat:
    """The seat of an orchestrator, where nothing else is known about it."""
    generation = spec.generation or 1
    return Seat(spec.seat or spec.name, project_of(spec), generation, generation - 1)


def missing(seats: Mapping[str, Seat], specs: Iterable[tuple[AgentSpec, bool]]) -> dict[str, Seat]:
    """Seats that a journal does not name, by the specifications of its orchestrators.

    specs: with each, whether its agent is wanted. A fenced generation is not wanted any more, and a successor has a
    higher number than the holder: so the holder is the lowest one that is wanted, else the highest.
    """
    found: dict[str, Seat] = {}
    ranked = sorted(specs, key=lambda one: (not one[1], one[0].generation if one[1] else -one[0].generation))
    for spec, _ in ranked:
        name = spec.seat or spec.name
        if is_seated(spec) and name not in seats and name not in found:
            found[name] = seat_of(spec)
    return found
