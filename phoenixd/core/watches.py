"""Trouble that watches outside of the core tell of."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import alerts
from phoenixd.core.actions import Alert
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import StateEdited, TroubleSeen, WatchEvent
from phoenixd.core.fleet import Fleet, Step, clear, put, warn
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import keep


def hear(before: Fleet, found: Step, event: WatchEvent, now: Moment) -> Step:
    """Raise or clear what a watch outside the core found; the same again changes nothing."""
    fleet = before
    agent = fleet.agents.get(event.agent) if event.agent is not None else None
    if event.agent is not None and agent is None:
        return found
    if isinstance(event, StateEdited):
        assert agent is not None
        told = keep(agent, "its state.json was edited by another hand, and taken over")
        return put(Step(fleet), replace(told, weight="story"), now)
    standing = alerts.find(agent.alerts if agent else fleet.alerts, event.kind)
    if isinstance(event, TroubleSeen):
        alert = Alert(event.agent, event.kind, event.text, watched=True)
        reason = f"{event.kind}: {event.text}" if standing is None else ""
        decision = Decision(agent, (alert,), reason)
        return put(Step(fleet), decision, now) if agent is not None else warn(Step(fleet), decision, now)
    if standing is None:
        return Step(fleet)
    why = event.why or f"{event.kind} is over"
    if agent is not None:
        rest = tuple(one for one in agent.alerts if one is not standing)
        return put(Step(fleet), Decision(replace(agent, alerts=rest), reason=why), now)
    return clear(Step(fleet), standing, why)
