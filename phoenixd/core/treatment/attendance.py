"""Ends by Ctrl-C at a terminal: a failure where nobody sat there, and none where a person did.

The terminal says that a moment after the end (core.interrupt). Until then the end is kept with its evidence; where no
word comes, it was a failure once its agent runs again or is ordered about.
"""

from __future__ import annotations

from phoenixd.core.actions import SeeAttendance
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Parked
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.moment import Moment
from phoenixd.core.treatment.case import Unsure
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.opening import Book, decide_all, notice


def is_asked(decision: Decision) -> bool:
    """Whether the terminal is asked who ended this run. A parked agent waits for what its end has told."""
    agent = decision.agent
    if agent is None or isinstance(agent.state, Parked):
        return False
    return any(isinstance(action, SeeAttendance) for action in decision.actions)


def keep(book: Book, agent: Agent, incarnation: int, evidence: Evidence) -> Book:
    """Wait with the judgement of this end."""
    others = tuple(one for one in book.cases.unsure if one.agent != agent.name)
    return replace(book, cases=replace(book.cases, unsure=(*others, Unsure(agent.name, incarnation, evidence))))


def hear(book: Book, agent: Agent | None, event: AttendanceSeen, now: Moment) -> Book:
    """The terminal has said who is there."""
    one = next((one for one in book.cases.unsure if one.agent == event.agent), None)
    if agent is None or one is None or one.incarnation != event.incarnation:
        return book
    if not event.attended:
        return settle(book, agent, now)
    book = _without(book, one)
    book = replace(book, cases=book.cases.without_patient(agent.name))
    return decide_all(book, agent.name, "moot", "a person ended it at its terminal before that was known", now)


def settle(book: Book, agent: Agent, now: Moment) -> Book:
    """The end that was waited with is a failure."""
    one = next((one for one in book.cases.unsure if one.agent == agent.name), None)
    return notice(_without(book, one), agent, one.incarnation, one.evidence, now) if one is not None else book


def _without(book: Book, one: Unsure) -> Book:
    return replace(book, cases=replace(book.cases, unsure=tuple(it for it in book.cases.unsure if it is not one)))
