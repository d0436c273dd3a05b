"""Cleanup around a run: what was ended is told, and a stranger at a port is a person's matter (X24, F-PROC-20, -21)."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert, CleanUp
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import keep

PORT_HELD = "port held"

TOLD = 5
"""Processes that a reason names; the event holds them all."""


def after(agent: Agent, ended: Decision) -> Decision:
    """Have a run's leftovers cleaned up once its end is decided, where the operator named any or some may be left."""
    if ended.removed or not (agent.spec.cleanup.is_set or agent.unproven):
        return ended
    return sweep(ended)


def sweep(decision: Decision) -> Decision:
    """Have what bears the mark of the agent's runs ended, also of those whose shim was lost long ago."""
    agent = decision.agent
    if agent is None or any(isinstance(action, CleanUp) for action in decision.actions):
        return decision
    return replace(decision, actions=(*decision.actions, CleanUp(agent.name, agent.incarnation)))


def is_held(agent: Agent) -> bool:
    """Whether a stranger was seen at one of the agent's ports when last looked."""
    return any(alert.kind == PORT_HELD for alert in agent.alerts)


def hear(agent: Agent, event: CleanedUp, seen: Seen, now: Moment) -> Decision:
    """Note what a cleanup found."""
    found = []
    if event.killed:
        found.append(f"ended {_counted(event.killed)}")
    if event.remaining:
        found.append(f"could not end {_counted(tuple(map(str, event.remaining)))}")
    found += [f"{holder}, which is none of ours and was left alone" for holder in event.foreign]
    if event.looked_at_ports and not event.foreign and is_held(agent):
        agent = replace(agent, alerts=tuple(alert for alert in agent.alerts if alert.kind != PORT_HELD))
        found.append("its ports are free of strangers")
    if not found:
        return Decision(agent)
    decision = keep(agent, f"cleanup {event.occasion}: {'; '.join(found)}")
    if not event.foreign:
        return decision
    return replace(decision, actions=(Alert(agent.name, PORT_HELD, "; ".join(event.foreign)),))


def _counted(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return f"{len(names)} process{'' if len(names) == 1 else 'es'} ({', '.join(names[:TOLD])}{more})"
