"""The agent that asked for a task is told of its end: at its next idle moment, in one line, queued over restarts.

An agent is told at least once: of a text that a killed daemon was typing nobody knows whether it arrived, unless the
agent's own hook says so.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import requests
from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.hooks import PromptSubmitted
from phoenixd.core.moment import Moment
from phoenixd.core.seat import finding
from phoenixd.core.tasks.names import NOTICE, is_notice
from phoenixd.core.tasks.state import Task, Told
from phoenixd.core.tasks.steps import taken

TYPED_WITHIN, ANSWERED_WITHIN, AGAIN = 60.0, 150.0, 30.0
"""Seconds in which the line is begun to be typed, after which it is taken for lost, and until it is typed again."""
MOST_LINES = 10
"""Tasks that one message tells of."""


def tell(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Type the ends that wait into the agents that asked, where they are idle."""
    untold = [one for one in found.fleet.tasks.open if one.has_ended and _is_due(one, now)]
    for name in dict.fromkeys(one.asked_by for one in untold):
        mine = [one for one in untold if one.asked_by == name][:MOST_LINES]
        agent = finding.meant(found.fleet, name)
        if agent is None:
            for task in mine:
                found = taken(found, _told(task, "nobody"))
        elif _is_idle(agent) and found.fleet.halted is None and not _is_handed_over(found.fleet, name):
            found = _type(found, agent, mine, now)
    return found


def _is_handed_over(fleet: Fleet, name: str) -> bool:
    """Whether its seat passes on now: then who holds it afterwards is told."""
    seat = finding.of(fleet, name)
    return seat is not None and seat.handoff is not None and not seat.handoff.is_over


def hear(before: Fleet, found: Step, event: Delivered | NotDelivered, now: Moment) -> Step:
    """What became of such a message."""
    for task in found.fleet.tasks.open:
        if task.told != "typing" or task.message != event.message_id:
            continue
        if isinstance(event, Delivered):
            found = taken(found, _told(task, "told"))
        else:
            found = taken(found, replace(task, told="", message="", tell_at=now.at + AGAIN))
    return found


def hear_prompt(before: Fleet, found: Step, event: PromptSubmitted, now: Moment) -> Step:
    """The agent took a prompt: where that is such a line, it knows, also where the daemon that typed it died."""
    if not is_notice(event.text):
        return found
    lines, seat = set(event.text.splitlines()), finding.of(found.fleet, event.agent)
    asker = seat.name if seat is not None else event.agent
    for task in found.fleet.tasks.open:
        if task.has_ended and task.asked_by == asker and line_of(task) in lines:
            found = taken(found, _told(task, "told"))
    return found


def line_of(task: Task) -> str:
    """What is told: id, verdict, and the path of the report."""
    of_plan = f" (plan {task.plan})" if task.plan else ""
    report = task.outcome.report if task.outcome is not None else ""
    where = f"report: {report}" if report else f"see: phoenixctl task status {task.id}"
    why = "" if task.state == "done" else f", {' '.join(task.why.split())[:200]}"
    return f"{NOTICE}{task.id}{of_plan} is {task.state}{why}; {where}"


def _is_due(task: Task, now: Moment) -> bool:
    return task.tell_at is None or task.tell_at <= now.at


def _is_idle(agent: Agent) -> bool:
    """Whether a text would begin a turn of its own, and stand in no one's way."""
    if not isinstance(agent.state, Running) or requests.unheard(agent) is not None:
        return False
    activity = agent.state.activity
    tells_turns = agent.spec.has_hooks or agent.hooks_seen
    return activity.waiting is None and not (activity.turn_open and tells_turns)


def _type(found: Step, agent: Agent, tasks: list[Task], now: Moment) -> Step:
    assert isinstance(agent.state, Running)
    incarnation = agent.state.run.incarnation
    message = now.new_id(agent.name, incarnation, "tasks", *(one.id for one in tasks))
    text = "\n".join(line_of(one) for one in tasks)
    order = Deliver(agent.name, incarnation, message, text, now.at + TYPED_WITHIN)
    names = ", ".join(one.id for one in tasks)
    found = put(found, Decision(agent, (order,), f"tells it of the end of {names}", weight="detail"), now)
    for task in tasks:
        found = taken(found, replace(task, told="typing", message=message, tell_at=now.at + ANSWERED_WITHIN))
    return found


def _told(task: Task, told: Told) -> Task:
    return replace(task, told=told, message="", tell_at=None)
