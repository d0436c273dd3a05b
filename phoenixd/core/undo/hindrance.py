"""Why an act cannot be taken back now, or never again, and what to type instead."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Quarantined
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.mutes.orders import MUTES
from phoenixd.core.resonance import restoring
from phoenixd.core.seat.finding import is_passing, meant
from phoenixd.core.undo.state import Undoable


@dataclass(frozen=True, slots=True)
class Hindrance:
    """is_for_ever: nothing that anybody does makes this act one that can be taken back."""

    why: str
    remedy: str
    is_for_ever: bool = False

    @property
    def told(self) -> str:
        """For the operator who asked: an act that can never be taken back stands in the way of no older one."""
        return (
            f"{self.why}; that act is let go, so that undo goes on to the one before" if self.is_for_ever else self.why
        )


def ahead(fleet: Fleet, act: Undoable) -> str:
    """What is said of an act beforehand; empty where it can be taken back."""
    agent = meant(fleet, act.agent)
    if act.verb in MUTES:
        return ""
    if agent is None:
        return f"it cannot be brought back: {act.cannot}" if act.cannot else ""
    found = of(fleet, agent, act)
    if found is None:
        return ""
    return f"it can{'not' if found.is_for_ever else ' not now'} be brought back: {found.why}"


def is_reversed(fleet: Fleet, act: Undoable) -> bool:
    """Whether somebody has since started what this act stopped, so that nothing is left to take back."""
    agent = meant(fleet, act.agent)
    if act.verb != "stop" or agent is None or agent.left_out:
        return False
    return agent.desired is Desired.RUNNING and not isinstance(agent.state, Quarantined)


def of(fleet: Fleet, agent: Agent, act: Undoable) -> Hindrance | None:
    """Why this act on the agent may not be taken back: whose it is, or that it is another than the act met."""
    name, begin = act.agent, f"phoenixctl start {act.agent}"
    if (found := _for_ever(agent, act)) is not None:
        return found
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    if seat is not None and is_passing(fleet, seat):
        return Hindrance("its seat is being passed on", f"phoenixctl handoff status {name}")
    if act.verb == "remove" and agent.incarnation != act.incarnation and agent.session is not None:
        return Hindrance("another agent of this name has run since", f"phoenixctl status {name}")
    if agent.found is not None:
        return Hindrance("it has to be confirmed first what was found of it", "phoenixctl recover")
    if restoring.is_under_way(agent):
        return Hindrance("its context is being restored", f"phoenixctl resonance status {name}")
    if act.session is not None and act.harness and act.harness != agent.spec.harness:
        why = f"it was of the harness {act.harness}, and so is its session; since then it is {agent.spec.harness}"
        return Hindrance(why, begin if act.verb != "fresh" else f"phoenixctl explain {name}")
    if act.verb != "fresh" and isinstance(agent.state, Quarantined) and agent.desired is Desired.RUNNING:
        return Hindrance(f"it was given up since ({agent.reason})", begin)
    return None


def let_go(found: Step, agent: Agent, name: str) -> Step:
    """Forget those acts on an agent that can never be taken back, so that an older act is the newest one."""
    left = tuple(
        one for one in found.fleet.undoable if one.agent != name or one.verb in MUTES or _for_ever(agent, one) is None
    )
    return replace(found, fleet=replace(found.fleet, undoable=left))


def _for_ever(agent: Agent, act: Undoable) -> Hindrance | None:
    name, generation = act.agent, agent.spec.generation
    if agent.spec.task:
        task = agent.spec.task
        return Hindrance(f"it is the worker of task {task}", f"phoenixctl task status {task}", is_for_ever=True)
    if act.cannot:
        begin = "restart" if act.verb == "fresh" else "start"
        fresh = " --fresh" if act.verb == "fresh" else ""
        return Hindrance(act.cannot, f"phoenixctl {begin} {name}{fresh}", is_for_ever=True)
    if act.verb != "remove" and generation != act.generation:
        why = f"its seat has passed to generation {generation} since"
        return Hindrance(why, f"phoenixctl handoff status {name}", is_for_ever=True)
    return None
