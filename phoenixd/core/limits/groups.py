"""Who shares an account or a harness with whom, and who waits for the end of an outage of it."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Parked, Quarantined, Running, Stopped
from phoenixd.core.decision import Decision
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.rules import MINUTE
from phoenixd.core.spec import AgentSpec

WINDOW = 30 * MINUTE
"""Seconds within which the ends of several agents are one thing."""


def groups_of(spec: AgentSpec) -> tuple[str, ...]:
    """What the agent shares with others, as people are told it."""
    account = (f"account {spec.account}",) if spec.account else ()
    return (*account, f"harness {spec.harness}") if spec.has_hooks else account


def waits_out(agent: Agent) -> bool:
    """Whether the agent waits for its turn to try whether an outage is over."""
    held = agent.limits.parking
    is_down = isinstance(agent.state, Parked)
    return agent.outage is not None and is_down and held is not None and held.kind is ParkingKind.OUTAGE


def is_wanted(agent: Agent) -> bool:
    """Whether it is to run; an agent that was given up because it ended too often counts, too."""
    given_up = isinstance(agent.state, Quarantined) and not agent.state.counted
    return agent.desired is Desired.RUNNING and not given_up and not isinstance(agent.state, Stopped)


def calm(agent: Agent) -> Instant | None:
    """When a run that is asked nothing has lived longer than it could during an outage.

    One that waits, for a person or for the service itself, shows nothing by that.
    """
    state = agent.state
    if not isinstance(state, Running):
        return None
    activity = state.activity
    if activity.turn_open or agent.limits.parking is not None or activity.waiting is not None:
        return None
    return state.run.began + WINDOW + activity.waited


def moved(decision: Decision, now: Moment) -> Decision:
    """A changed specification: an agent that no longer shares what is out of order stops waiting, without a word."""
    agent = decision.agent
    if agent is None or agent.outage is None or agent.outage.group in groups_of(agent.spec):
        return decision
    free, why = replace(agent, outage=None), f"the outage of {agent.outage.group} is none of its own any more"
    if not waits_out(agent):
        return replace(decision, agent=free, reason=f"{decision.reason}; {why}")
    queued = requests.queue(free, why, now)
    return replace(queued, actions=decision.actions, reason=f"{decision.reason}; {queued.reason}")
