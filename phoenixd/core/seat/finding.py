"""What is meant by the name of a seat or of a generation."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.fleet import Fleet
from phoenixd.core.seat import names, state
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat, as_declared, is_seated, missing
from phoenixd.core.spec import AgentSpec

MOST_NAMES = 200
"""Generations whose rows are read at once."""


def of(fleet: Fleet, name: str) -> Seat | None:
    """The seat of this name, or the one that the agent of this name is a generation of."""
    seat = fleet.seats.get(name)
    if seat is not None:
        return seat
    agent = fleet.agents.get(name)
    if agent is not None:
        return fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    read = names.read(name)
    return fleet.seats.get(read[0]) if read is not None else None


def ordered(fleet: Fleet, name: str) -> Seat | None:
    """The seat that an order of this name is about; a generation that does not live takes no orders for its seat."""
    return of(fleet, name) if meant(fleet, name) is not None else None


def looked_at(fleet: Fleet, name: str) -> Seat | None:
    """The seat that a look of this name is about: by the name of any generation that there was."""
    return of(fleet, name) if written_by(fleet, name) is not None else None


def holder(fleet: Fleet, name: str) -> Agent:
    """The agent that holds the seat, found by the name of seat or generation. Raises KeyError where there is none."""
    seat = of(fleet, name)
    if seat is None:
        raise KeyError(name)
    return fleet.agents[seat.holder]


def meant(fleet: Fleet, name: str) -> Agent | None:
    """The agent that an operator means: by a seat's name its holder, by NAME-gN that very generation."""
    seat = fleet.seats.get(name)
    if seat is not None:
        return fleet.agents.get(seat.holder)
    agent: Agent | None = fleet.agents.get(name)
    read = names.read(name) if agent is None else None
    if read is not None and read[0] in fleet.seats:
        agent = fleet.agents.get(generation_name(*read))
    return agent


def as_said(fleet: Fleet, name: str) -> str:
    """The name that stays, of the generation that holds its seat: pages name a generation where it matters."""
    seat, found = fleet.seats.get(names.seat_name(name)), meant(fleet, name)
    return seat.name if seat is not None and found is not None and found.name == seat.holder else name


def is_gone(fleet: Fleet, name: str) -> bool:
    """Whether it names a generation of a seat that was there, and that only the journal tells of now."""
    return meant(fleet, name) is None and names.seat_name(name) in fleet.seats and written_by(fleet, name) is not None


def was_removed(fleet: Fleet, name: str) -> bool:
    """Whether an agent of this name was removed, and none is there now: the journal alone tells of it."""
    return meant(fleet, name) is None and name in fleet.retired and names.seat_name(name) not in fleet.seats


def why_gone(name: str) -> str:
    """What is said of a generation that is gone."""
    return f"{name} is gone, a generation that ended; what was decided about it stands in the journal"


def of_session(fleet: Fleet, session_id: str) -> Agent | None:
    """The agent of a session: by the id that its CLI knows, or by its own name, of a seat by the name that stays."""
    found = meant(fleet, session_id)
    if found is not None:
        return found
    known = (one for one in fleet.agents.values() if one.session is not None)
    return next((one for one in known if one.session is not None and one.session.session_id == session_id), None)


def as_shown(fleet: Fleet, agent: Agent) -> Agent:
    """The agent under the name that people know it by."""
    name = shown(fleet, agent)
    return agent if name == agent.name else replace(agent, spec=replace(agent.spec, name=name))


def generations(fleet: Fleet, seat: Seat) -> tuple[Agent, ...]:
    """The generations that the fleet still has, the oldest first."""
    known = (fleet.agents.get(generation_name(seat.name, number)) for number in range(1, seat.generation + 2))
    return tuple(agent for agent in known if agent is not None and agent.spec.seat == seat.name)


def others(fleet: Fleet, seat: Seat) -> tuple[Agent, ...]:
    """The generations beside the holder: a successor, and predecessors that are not gone yet."""
    return tuple(agent for agent in generations(fleet, seat) if agent.spec.generation != seat.generation)


def heard_of(fleet: Fleet, seat: Seat) -> tuple[Agent, ...]:
    """The generations beside the holder whose words count: what is fenced asks for nothing any more.

    What is left over asks for itself, in its own row.
    """
    beside = (agent for agent in others(fleet, seat) if agent.spec.generation > seat.fenced)
    return tuple(agent for agent in beside if not is_left_over(agent))


def asking(fleet: Fleet, name: str) -> tuple[Agent, ...]:
    """The agents that may ask a person something under this name; of a seat, its holder and the successor coming up."""
    seat, agent = fleet.seats.get(name), meant(fleet, name)
    own = (agent,) if agent is not None else ()
    return (*own, *heard_of(fleet, seat)) if seat is not None else own


def successor(fleet: Fleet, seat: Seat) -> Agent | None:
    """The generation after the holder's, where one was declared."""
    found: Agent | None = fleet.agents.get(generation_name(seat.name, seat.generation + 1))
    return found if found is not None and found.spec.seat == seat.name else None


def is_left_over(agent: Agent) -> bool:
    """Whether it is a generation whose handoff the journal has lost: it lives until `recover` ends it."""
    return agent.found is not None and agent.found.proposal == "end"


def left_over(fleet: Fleet, seat: Seat) -> Agent | None:
    """The generation of a seat whose handoff the journal has lost."""
    return next((agent for agent in others(fleet, seat) if is_left_over(agent)), None)


def is_listed(fleet: Fleet, agent: Agent) -> bool:
    """Whether it has a row of its own: a seat has one, and what is left over beside it is not to be overlooked."""
    return not is_other(fleet, agent) or is_left_over(agent)


def is_passing(fleet: Fleet, seat: Seat) -> bool:
    """Whether the seat is being passed on, so that orders about its specification and its run have to wait.

    What is left over passes nothing on, and nothing waits for it.
    """
    if seat.handoff is not None and not seat.handoff.is_over:
        return True
    return not all(is_left_over(agent) for agent in others(fleet, seat))


def is_plain(fleet: Fleet, seat: Seat) -> bool:
    """Whether the seat has had one generation only and no handoff goes on, so that it can be given up."""
    return seat.generation == 1 and not others(fleet, seat) and not is_passing(fleet, seat)


def is_other(fleet: Fleet, agent: Agent) -> bool:
    """Whether this is a generation that does not hold its seat."""
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    return seat is not None and seat.generation != agent.spec.generation


def why_fenced(fleet: Fleet, agent: Agent) -> str:
    """Why nothing that this agent says counts any more; empty where it does."""
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    if seat is None and agent.spec.seat:
        return f"generation {agent.spec.generation} of {agent.spec.seat} is fenced: its seat was removed"
    if seat is None or agent.spec.generation > seat.fenced:
        return ""
    return f"generation {agent.spec.generation} of {seat.name} is fenced: generation {seat.generation} holds the seat"


def declared(fleet: Fleet) -> dict[str, AgentSpec]:
    """What the fleet runs, as a configuration declares it: one specification for each seat."""
    found: dict[str, AgentSpec] = {}
    for agent in fleet.agents.values():
        if agent.removing or is_other(fleet, agent) or agent.spec.task:
            continue
        spec = agent.spec
        seat = fleet.seats.get(spec.seat) if spec.seat else None
        if seat is not None and seat.declared is not None:
            spec = seat.declared
        found[spec.seat or spec.name] = as_declared(spec)
    return found


def is_down(fleet: Fleet, name: str) -> bool:
    """Whether nothing of an agent runs or is about to: of a seat, nothing of any generation."""
    seat, agent = fleet.seats.get(name), meant(fleet, name)
    known = generations(fleet, seat) if seat is not None else (agent,) if agent is not None else ()
    return all(isinstance(one.state, Stopped) for one in known)


def seated(fleet: Fleet) -> Fleet:
    """The fleet with a seat for each orchestrator, also where an older or a salvaged journal names none."""
    # One that is being removed outlives its seat, and must not hold it once more.
    staying = tuple(agent for agent in fleet.agents.values() if not agent.removing)
    found = missing(fleet.seats, ((agent.spec, agent.desired is Desired.RUNNING) for agent in staying))
    agents = {
        name: replace(agent, spec=replace(agent.spec, seat=name, generation=1))
        for name, agent in fleet.agents.items()
        if is_seated(agent.spec) and not agent.spec.seat
    }
    if not found and not agents:
        return fleet
    return replace(fleet, agents={**fleet.agents, **agents}, seats={**fleet.seats, **found})


def shown(fleet: Fleet, agent: Agent) -> str:
    """The name under which people know an agent, see state.shown."""
    return state.shown(fleet.seats, agent.spec)


def known_as(fleet: Fleet, name: str) -> str:
    """The name under which people know an agent that the journal tells of, whether or not it is still there."""
    seat_name, generation = names.read(name) or (name, 1)
    seat = fleet.seats.get(seat_name)
    if seat is None:
        return name
    return seat_name if generation == seat.generation else f"{seat_name}-g{generation}"


def written_by(fleet: Fleet, name: str) -> str | tuple[str, ...] | None:
    """Under which names the journal has what is told of a name: of a seat all generations, the newest MOST_NAMES.

    None where there is no such agent, and none was removed.
    """
    seat = fleet.seats.get(name)
    if seat is not None:
        # What a successor did that is gone again is looked for after its handoff was rolled back.
        last = _last(fleet, seat)
        if last == 1:
            return name
        return tuple(generation_name(name, number) for number in range(max(1, last - MOST_NAMES + 1), last + 1))
    read = names.read(name)
    if read is not None and read[0] in fleet.seats and 0 < read[1] <= _last(fleet, fleet.seats[read[0]]):
        return generation_name(*read)
    return name if name in fleet.agents or was_removed(fleet, name) else None


def _last(fleet: Fleet, seat: Seat) -> int:
    """The newest generation that the journal may tell of; an agent from before such names were reserved is none."""
    following = fleet.agents.get(generation_name(seat.name, seat.generation + 1))
    was_there = following.spec.seat == seat.name if following is not None else seat.handoff is not None
    return seat.generation + was_there
