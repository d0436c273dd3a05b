"""What a part with a dataclass of its own came to, taken into its agent; the rest of the agent hears its signals."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.state import Live, Running, Starting
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Heard
from phoenixd.core.limits.state import Limits
from phoenixd.core.moment import Moment
from phoenixd.core.parts import CannotGoOn, WaitBegan, WaitOver
from phoenixd.core.transitions import close_items, enter, open_item
from phoenixd.core.turn import liveness

STUCK = "cannot go on"
"""The item that an agent whose limit is over could not be told so."""


def take(agent: Agent, heard: Heard[Limits], now: Moment) -> Decision:
    """Take in what became of the agent's limits: that a wait begins or ends is what people see its state to be."""
    state, moves = agent.state, False
    changed = replace(agent, limits=heard.part)
    for signal in heard.signals:
        if isinstance(signal, CannotGoOn):
            changed = open_item(changed, STUCK, signal.text, "attach", now)
        if not isinstance(signal, WaitBegan | WaitOver):
            continue
        moves = isinstance(state, Running)
        if isinstance(signal, WaitOver) and isinstance(state, Starting | Running):
            state = replace(state, activity=liveness.waited(state.activity, signal, now))
            changed = replace(changed, state=state)
            changed = close_items(changed, STUCK) if signal.settled else changed
    decision = enter(changed, state, heard.reason, now) if moves else Decision(changed, reason=heard.reason)
    return replace(decision, actions=heard.actions, readings=heard.readings)


def take_turn(agent: Agent, heard: Heard[Activity], now: Moment) -> Decision:
    """Take in what became of the run's turn."""
    assert isinstance(agent.state, Live)
    changed = replace(agent, state=replace(agent.state, activity=heard.part))
    return Decision(changed, heard.actions, heard.reason, heard.readings, weight=heard.weight)
