"""Ctrl-C at a loop's terminal: the person who sits there wants it stopped; with nobody there it failed.

A program that ends by SIGINT, or with 130, does not say who sent that. So the terminal is asked whether somebody is
attached who can type, and the next iteration waits for that word a few seconds at most (G42, F-PROC-5). A member of a
sequence is left out of the sequence then.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import progress, restart
from phoenixd.core.actions import SeeAttendance
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Stopped, Stopping
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import enter, keep, open_item

ITEM = "stopped"
ANSWER_WITHIN = 5.0
"""Seconds in which the terminal says who is there; after that nobody was."""


def ask(agent: Agent, end: LastExit, decision: Decision, now: Moment) -> Decision:
    """Hold the next iteration back until it is known whether a person ended this one."""
    waiting = decision.agent.state if decision.agent is not None else None
    if isinstance(agent.state, Stopping) or agent.spec.kind is not Kind.LOOP or not restart.is_interrupted(end):
        return decision
    if isinstance(waiting, Parked) or (agent.spec.turn_of is not None and isinstance(waiting, Stopped)):
        # A parked agent waits long enough as it is.
        return replace(decision, actions=(*decision.actions, SeeAttendance(agent.name, end.incarnation)))
    if not isinstance(waiting, BackingOff):
        return decision
    assert decision.agent is not None
    held = replace(waiting, until=max(waiting.until, now.at + ANSWER_WITHIN), unattended=waiting.until)
    look = SeeAttendance(agent.name, end.incarnation)
    return replace(decision, agent=replace(decision.agent, state=held), actions=(*decision.actions, look))


def hear(agent: Agent, event: AttendanceSeen, seen: Seen, now: Moment) -> Decision:
    """Stop the loop where somebody sat at its terminal; else its next iteration comes when it was due."""
    state, end = agent.state, agent.last_exit
    if end is None or end.incarnation != event.incarnation or agent.incarnation != event.incarnation:
        return Decision(agent)
    if end.attended is not None:
        # Said before: an order of the operator's may have come since.
        return Decision(agent)
    end = replace(end, attended=bool(event.attended))
    if isinstance(state, Stopped) and agent.spec.turn_of is not None and event.attended:
        return _stop(replace(agent, left_out=True, last_exit=end), end, now)
    held = state.unattended if isinstance(state, BackingOff) else None
    # A limit or an outage may have parked it before the terminal answered.
    if held is None and not (isinstance(state, Parked) and restart.is_interrupted(end)):
        return Decision(agent)
    if event.attended:
        left_out = agent.spec.turn_of is not None
        stays = replace(progress.let_go(agent), desired=Desired.STOPPED, crashes=(), left_out=left_out, last_exit=end)
        return _stop(stays, end, now)
    if not isinstance(state, BackingOff) or held is None:
        return Decision(agent)
    goes_on = replace(agent, state=replace(state, until=held, unattended=None), last_exit=end)
    known = "nobody sat at its terminal" if event.attended is False else "nobody can tell who sat at its terminal"
    return keep(goes_on, f"{known}: {end.text} was a failed iteration")


def _stop(agent: Agent, end: LastExit, now: Moment) -> Decision:
    text = f"somebody ended it at its terminal ({end.text}): it is down until phoenixctl start {agent.name}"
    decision = enter(agent, Stopped(), f"stopped by Ctrl-C at its terminal ({end.text})", now)
    assert decision.agent is not None
    return replace(decision, agent=open_item(decision.agent, ITEM, text, "command", now))
