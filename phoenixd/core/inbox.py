"""What waits for a person: open items, and the alerts that no item stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem, text_hash
from phoenixd.core.fleet import Fleet
from phoenixd.core.seat import finding


def inbox(fleet: Fleet) -> tuple[InboxItem, ...]:
    """All open items, and the alerts that no item stands for, oldest first."""
    items = (item for agent in fleet.agents.values() for item in _own_items(fleet, agent))
    return tuple(sorted(items, key=lambda item: (item.opened_wall, item.id)))


def items_of(fleet: Fleet, agent: Agent) -> tuple[InboxItem, ...]:
    """What of the inbox stands in this agent's row: in a holder's that of the other generations too."""
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    agents = finding.generations(fleet, seat) if seat is not None else (agent,)
    return tuple(item for one in agents for item in _own_items(fleet, one))


def _own_items(fleet: Fleet, agent: Agent) -> Iterator[InboxItem]:
    if finding.why_fenced(fleet, agent):
        return
    name = finding.shown(fleet, agent)
    for item in (*agent.items, *_alert_items(agent)):
        yield item if name == agent.name else replace(item, agent=name)


def _alert_items(agent: Agent) -> Iterator[InboxItem]:
    for one in alerts.pressing(agent.alerts):
        if all(item.kind != one.kind for item in agent.items):
            yield InboxItem(
                one.id, agent.name, one.incarnation, one.kind, one.text, text_hash(one.text), one.raised_wall,
                "command", ack=one.ack,
            )  # fmt: skip
