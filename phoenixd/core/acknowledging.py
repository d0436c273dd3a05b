"""An operator has seen an alert: it still stands, is shown apart, and calls nobody any more. A part of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from phoenixd.core.agent.standing import Ack, InboxItem, StandingAlert
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events.fleet import AlertAcknowledged
from phoenixd.core.facts import Ordered
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment

Standing = TypeVar("Standing", InboxItem, StandingAlert)


def acknowledge(before: Fleet, found: Step, event: AlertAcknowledged, now: Moment) -> Step:
    """Note who has seen the alert or item of this number, and when; the first word stands."""
    ack, number = Ack(event.by, now.wall), event.alert
    for agent in before.agents.values():
        stands: tuple[InboxItem | StandingAlert, ...] = (*agent.alerts, *agent.items)
        known = next((one for one in stands if one.id == number), None)
        if known is None:
            continue
        if known.ack is not None:
            return found
        seen = replace(agent, alerts=_seen(agent.alerts, number, ack), items=_seen(agent.items, number, ack))
        return put(found, Decision(seen, reason=_reason(known, event), facts=_facts(event), weight="story"), now)
    of_fleet = next((one for one in before.alerts if one.id == number), None)
    if of_fleet is None:
        why = f"no alert and no item #{number} stands: it is over, or never was"
        return replace(found, refusal=Refusal("not_found", why, "phoenixctl inbox"))
    if of_fleet.ack is not None:
        return found
    fleet = replace(found.fleet, alerts=_seen(found.fleet.alerts, number, ack))
    told = Decision(None, reason=_reason(of_fleet, event), facts=_facts(event), weight="story")
    return replace(found, fleet=fleet, decisions=(*found.decisions, told))


def _seen(standing: tuple[Standing, ...], number: int, ack: Ack) -> tuple[Standing, ...]:
    return tuple(replace(one, ack=ack) if one.id == number else one for one in standing)


def _reason(known: InboxItem | StandingAlert, event: AlertAcknowledged) -> str:
    return f"#{known.id} {known.kind} was acknowledged by {event.by}"


def _facts(event: AlertAcknowledged) -> tuple[Ordered, ...]:
    return (Ordered("acknowledge", event.by),)
