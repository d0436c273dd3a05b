"""What stands, for a way to the operator that is configured anew and has heard of nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from phoenixd.core import alert_kinds
from phoenixd.core.actions import Alert
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.fleet import Fleet
from phoenixd.core.question.reply import is_reachable
from phoenixd.core.seat import finding

MOST = 20
"""Alerts that are told in one go; a person who is told of everything is told of nothing."""


def unheard(fleet: Fleet, since_before: Collection[int]) -> tuple[Alert, ...]:
    """Of these alerts, by number, those that stand: what needs a person first, the oldest before the others.

    What a mute holds back, and what somebody has seen, is left out. The last one tells how many more there are.
    """
    found = [one for one in _standing(fleet) if one.id in since_before]
    found.sort(key=lambda one: (not alert_kinds.of(one.kind).needs_person, one.raised_wall, one.id))
    told, more = found[:MOST], len(found) - MOST
    if more > 0:
        told[-1] = replace(told[-1], text=f"{told[-1].text} ({more} more stand: phoenixctl inbox)")
    return tuple(told)


def numbers(fleet: Fleet) -> frozenset[int]:
    """The alerts that stand, by their numbers."""
    return frozenset(one.id for one in _standing(fleet))


def _standing(fleet: Fleet) -> Iterator[Alert]:
    for one in fleet.alerts:
        if _is_told(one):
            yield _word(None, one, answerable=False)
    for agent in fleet.agents.values():
        reached = {item.id for item in agent.items if is_reachable(item)}
        for one in agent.alerts:
            if _is_told(one):
                yield _word(finding.shown(fleet, agent), one, answerable=one.id in reached)


def _is_told(one: StandingAlert) -> bool:
    return not one.held and one.ack is None and alert_kinds.of(one.kind).is_told


def _word(name: str | None, one: StandingAlert, *, answerable: bool) -> Alert:
    return Alert(
        name, one.kind, one.text, one.id, one.raised_wall, one.watched, answerable=answerable, about=one.about,
        gist=one.gist,
    )  # fmt: skip
