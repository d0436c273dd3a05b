"""What each treatment does: how the next run begins, what it is told, or who is asked. No run is ended."""

from __future__ import annotations

from phoenixd.core import restart
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.facts import Treating
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import open_item, quarantine
from phoenixd.core.treatment.advice import Advice
from phoenixd.core.treatment.case import Case
from phoenixd.core.treatment.words import Treatment

CASE = "case"
"""The item by which the clinic asks a person to look at what comes back whatever is done."""


def order(agent: Agent, case: Case, treatment: Treatment, facts: Advice, fact: Treating, now: Moment) -> Decision:
    """Do it. facts: what the next run is told, where it is told something."""
    why = f"Case {case.id}, {case.detail}: {treatment}"
    match treatment:
        case "fresh" | "summarise":
            decision = begin_anew(agent, case, why, now)
        case "advise":
            decision = Decision(replace(agent, advice=facts), reason=f"{why}, as facts in the brief")
        case "abort":
            decision = give_up(agent, case, why, now)
        case _:
            text = question(agent, case)
            asked = open_item(agent, CASE, text, "command", now)
            decision = Decision(asked, (Alert(agent.name, CASE, text),), why)
    return replace(decision, facts=(fact, *decision.facts))


def begin_anew(agent: Agent, case: Case, why: str, now: Moment) -> Decision:
    """Give the session up. Where a start is due, that one is fresh; where a run lives, the one after it is."""
    session = agent.session
    if session is not None and not session.spoiled:
        agent = replace(agent, session=replace(session, spoiled=f"Case {case.id}, {case.rule}"))
    if not isinstance(agent.state, BackingOff):
        return Decision(agent, reason=f"{why}: its next start is fresh")
    upcoming = restart.next_start(agent, now)
    state = replace(agent.state, mode=upcoming.mode, prompt=upcoming.prompt)
    changed = replace(agent, state=state, reason=f"{agent.reason}; {upcoming.reason}")
    return Decision(changed, reason=f"{why}; {upcoming.reason}")


def give_up(agent: Agent, case: Case, why: str, now: Moment) -> Decision:
    """Start it no more, as restart intensity does: an operator's start releases it (C42)."""
    if not isinstance(agent.state, BackingOff):
        return Decision(replace(agent, desired=Desired.STOPPED), reason=f"{why}: it is not started again")
    cause = f"{case.rule}, whatever was done (Case {case.id})"
    return replace(quarantine(agent, Quarantined(cause), now), reason=why)


def question(agent: Agent, case: Case) -> str:
    """What a person is asked to look at."""
    done = ", ".join(dict.fromkeys(one.treatment for one in case.treated if one.agent == agent.name))
    had = f"; tried so far: {done}" if done else ""
    return f"{case.rule}, noticed {case.incidents} times in Case {case.id}{had}"
