"""What a way to the operator has yet to tell. A part of the table.

An alert waits for each way in its own saved state, from the decision that raises it until that way has told it. So what
a way told is no list of its own: it ends with the alert, and a journal that went back in time goes back with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from phoenixd.core import alert_kinds, alerts
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Live
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import AlertsTold, WaysBegun
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.mutes.state import key_of
from phoenixd.core.question.reply import is_reachable
from phoenixd.core.seat import finding

MOST = 20
"""Alerts that are told in one go; a person who is told of everything is told of nothing."""

Numbered = tuple[str | None, int]
"""The name that an alert is told under, None for the fleet's own; and its number."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """What a way tells now. counted: those that the last one counts, and that are not told one by one.

    is_more: others wait for the end of a mute, or are of questions that may be asked after all. Neither is a new alert:
    somebody has to look again.
    """

    alerts: tuple[Alert, ...] = ()
    counted: tuple[Numbered, ...] = ()
    is_more: bool = False


def unheard(fleet: Fleet, way: str, offered: Collection[int] = ()) -> Unheard:
    """What stands and waits for this way: what needs a person first, the oldest before the others.

    offered: the numbers of those that it was given already. What a mute holds back, whether that began before the alert
    or after it, and what somebody has seen, is left out. The last one tells how many more there are.
    """
    waiting = [word for one, word in _standing(fleet) if way in one.waits and one.id not in offered]
    found = [word for word in waiting if not word.held]
    found.sort(key=lambda one: (not alert_kinds.of(one.kind).needs_person, one.raised_wall, one.id))
    told, more = found[:MOST], found[MOST:]
    if more:
        told[-1] = replace(told[-1], text=f"{told[-1].text} ({len(more)} more stand: phoenixctl inbox)")
    is_more = len(waiting) > len(found) or any(
        way in one.waits and one.id not in offered for agent in fleet.agents.values() for one in alerts.unsure(agent)
    )
    return Unheard(tuple(told), tuple((one.agent, one.id) for one in more), is_more)


def numbers(fleet: Fleet) -> frozenset[int]:
    """The alerts that stand, by their numbers."""
    return frozenset(one.id for one, _ in _standing(fleet))


def begin(before: Fleet, found: Step, event: WaysBegun, now: Moment) -> Step:
    """Have what stood wait for the ways that are new: a daemon that is killed meanwhile forgets none of it."""
    told = " and the ".join(event.new)
    for one, word in tuple(_standing(before)):
        if one.id in event.stood:
            late = replace(one, waits=tuple(dict.fromkeys((*one.waits, *event.new))))
            found = _with(found, word.agent, late, f"#{one.id} {one.kind} waits for the {told}, which is new", now)
    return found


def hear_told(before: Fleet, found: Step, event: AlertsTold, now: Moment) -> Step:
    """These alerts wait for that way no more. Of what is over by now nothing is left to be noted."""
    for name, number in event.alerts:
        one = next((one for one in _alerts(found.fleet, name) if one.id == number and event.way in one.waits), None)
        if one is not None:
            said = f"is not told by the {event.way}: {event.why}" if event.why else f"was told by the {event.way}"
            done = replace(one, waits=tuple(way for way in one.waits if way != event.way))
            found = _with(found, name, done, f"#{one.id} {one.kind} {said}", now)
    return found


def _with(found: Step, name: str | None, newer: StandingAlert, reason: str, now: Moment) -> Step:
    """With an alert as it is now; the row is a detail, for people are told of alerts and not of their ways."""
    fleet = found.fleet
    if name is None:
        told = Decision(None, reason=reason, weight="detail")
        standing = _replaced(fleet.alerts, newer)
        return replace(found, fleet=replace(fleet, alerts=standing), decisions=(*found.decisions, told))
    agent = next(one for one in _named(fleet, name) if any(alert.id == newer.id for alert in _of(one)))
    changed = replace(agent, alerts=_replaced(agent.alerts, newer))
    state = agent.state
    if isinstance(state, Live) and (doubted := state.activity.doubted) is not None and doubted.alert is not None:
        (alert,) = _replaced((doubted.alert,), newer)
        doubted = replace(doubted, alert=alert)
        changed = replace(changed, state=replace(state, activity=replace(state.activity, doubted=doubted)))
    return put(found, Decision(changed, reason=reason, weight="detail"), now)


def _replaced(standing: Iterable[StandingAlert], newer: StandingAlert) -> tuple[StandingAlert, ...]:
    return tuple(newer if one.id == newer.id else one for one in standing)


def _of(agent: Agent) -> tuple[StandingAlert, ...]:
    """What stands of an agent, and what may again without a word: its question is closed, and perhaps not over."""
    return (*agent.alerts, *alerts.unsure(agent))


def _alerts(fleet: Fleet, name: str | None) -> Iterator[StandingAlert]:
    if name is None:
        yield from fleet.alerts
        return
    for agent in _named(fleet, name):
        yield from _of(agent)


def _named(fleet: Fleet, name: str) -> tuple[Agent, ...]:
    """The agent of a name; of a seat all generations, for it may have been passed on since the alert was told."""
    seat = finding.of(fleet, name)
    if seat is not None:
        return finding.generations(fleet, seat)
    agent = fleet.agents.get(name)
    return (agent,) if agent is not None else ()


def _standing(fleet: Fleet) -> Iterator[tuple[StandingAlert, Alert]]:
    for one in fleet.alerts:
        if _is_told(one):
            yield one, _word(None, one, answerable=False, muted=False)
    for agent in fleet.agents.values():
        if not agent.alerts:
            continue
        reached = {item.id for item in agent.items if is_reachable(item)}
        muted = key_of(agent.spec) in fleet.mutes
        for one in agent.alerts:
            if _is_told(one):
                yield one, _word(finding.shown(fleet, agent), one, answerable=one.id in reached, muted=muted)


def _is_told(one: StandingAlert) -> bool:
    return not one.held and one.ack is None and alert_kinds.of(one.kind).is_told


def _word(name: str | None, one: StandingAlert, *, answerable: bool, muted: bool) -> Alert:
    return Alert(
        name, one.kind, one.text, one.id, one.raised_wall, one.watched, answerable=answerable, about=one.about,
        gist=one.gist, held=muted and not alert_kinds.of(one.kind).is_ours,
    )  # fmt: skip
