"""A mute is ordered, taken back, and ends by itself. Parts of the table.

A mute holds back what people are told, and nothing else: alerts stand, are shown and counted, and are journaled. When a
mute ends, what it held back and still stands is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phoenixd.core import weights
from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events.fleet import JournalBehind, Tick
from phoenixd.core.events.orders import MuteRequested, UndoRequested, UnmuteRequested
from phoenixd.core.fleet import Fleet, Step, answer, put
from phoenixd.core.limits.state import over_by
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.mutes.state import Mute, begun, ends_at, is_over, key_of, standing, without
from phoenixd.core.seat import finding
from phoenixd.core.undo.age import lasting
from phoenixd.core.undo.state import NOUNS, Undoable, UndoVerb

MUTES: tuple[UndoVerb, ...] = ("mute", "unmute")
"""What of acts is about mutes: it is taken back here, whatever the agent is at."""


def mute(before: Fleet, found: Step, event: MuteRequested, now: Moment) -> Step:
    """Hold the alerts of one agent back for a time from now on; a mute that stands is replaced."""
    agent = before.agents.get(event.agent)
    if agent is None:
        return _unknown(found, event.agent)
    reason = f"muted for {in_words(event.seconds)} by {event.by}"
    ordered = weights.ordered(event, agent, Decision(agent, reason=reason))
    found = _noted(before, answer(found, ordered, now), agent, "mute", event.act, event.by, now)
    made = begun(key_of(agent.spec), now.wall + event.seconds, event.by, now)
    return _with(found, made)


def unmute(before: Fleet, found: Step, event: UnmuteRequested, now: Moment) -> Step:
    """End a mute, and tell what it held back. It is no act that can be taken back: that would be silence again."""
    agent = before.agents.get(event.agent)
    if agent is None:
        return _unknown(found, event.agent)
    if standing(before.mutes, agent.spec, now) is None:
        # Nothing that anybody could count as done.
        return answer(found, Decision(agent, reason=f"unmute asked by {event.by}: it is not muted"), now)
    told = weights.ordered(event, agent, Decision(agent, reason=f"unmuted by {event.by}"))
    return _with_no_act(_ended(found, key_of(agent.spec), told, now), agent)


def restore(found: Step, event: UndoRequested, agent: Agent, act: Undoable, now: Moment) -> Step:
    """Take a mute back: the mute of before stands again, as long as its time has not come.

    What somebody ordered since then stands.
    """
    for one in reversed(found.fleet.undoable):
        if one is act:
            break
        if one.agent == act.agent and one.verb in MUTES:
            why = f"{act.agent} was muted or unmuted again since, by {one.by}"
            return replace(found, refusal=Refusal("conflict", why, f"phoenixctl undo {act.agent}"))
    acts = tuple(one for one in found.fleet.undoable if one is not act)
    found = replace(found, fleet=replace(found.fleet, undoable=acts))
    by = f"{event.by}, who took the {NOUNS[act.verb]} back"
    # Its time is that of then, also where the wall clock was set back since.
    then = now if act.at is None else Moment(act.at, act.at_wall)
    again = replace(begun(key_of(agent.spec), act.muted_until, event.by, then), since_wall=now.wall)
    if is_over(again, now):
        told = weights.ordered(event, agent, Decision(agent, reason=f"unmuted by {by}"))
        return _ended(found, key_of(agent.spec), told, now)
    left = min(act.muted_until - now.wall, over_by(act.muted_until, then) - now.at)
    told = weights.ordered(event, agent, Decision(agent, reason=f"muted for {in_words(left)} by {by}"))
    return _with(answer(found, told, now), again)


def expire(before: Fleet, found: Step, event: Tick, now: Moment) -> Step:
    """End the mutes whose time has come."""
    for one in tuple(before.mutes.values()):
        if is_over(one, now):
            reason = f"its mute by {one.by} is over"
            agents = _agents(found.fleet, one.agent)
            holder = finding.meant(found.fleet, one.agent) or (agents[0] if agents else None)
            told = Decision(holder, reason=reason, weight="story") if holder is not None else None
            found = _ended(found, one.agent, told, now)
            if holder is not None:
                found = _with_no_act(found, holder)
    return found


def forget(before: Fleet, found: Step, event: JournalBehind, now: Moment) -> Step:
    """Nobody knows who was unmuted since the journal was written, and a mute that nobody wants is silence."""
    for key in tuple(before.mutes):
        found = _ended(found, key, None, now)
    return found


def _ended(found: Step, key: str, told: Decision | None, now: Moment) -> Step:
    """Without this mute; what it held back and still stands goes out with the decision that ends it."""
    found = replace(found, fleet=replace(found.fleet, mutes=without(found.fleet.mutes, key)))
    for agent in _agents(found.fleet, key):
        late = tuple(_held_back(agent))
        if told is not None and told.agent is not None and told.agent.name == agent.name:
            found, told = answer(found, replace(told, actions=(*told.actions, *late)), now), None
        elif late:
            found = put(found, Decision(agent, late, "its mute is over"), now)
    return found


def _with_no_act(found: Step, agent: Agent) -> Step:
    """A mute that is over has nothing to be taken back, and what it replaced must not begin again."""
    name = finding.shown(found.fleet, agent)
    left = tuple(act for act in found.fleet.undoable if act.agent != name or act.verb not in MUTES)
    return replace(found, fleet=replace(found.fleet, undoable=left))


def _held_back(agent: Agent) -> Iterator[Alert]:
    """What stands of the agent, and nobody was told of or has acknowledged."""
    asked = {item.id: item.text for item in agent.items}
    for one in agent.alerts:
        if one.held and one.ack is None:
            text = asked.get(one.id, one.text)
            yield Alert(agent.name, one.kind, text, watched=one.watched, about=one.about, gist=one.gist)


def _agents(fleet: Fleet, key: str) -> tuple[Agent, ...]:
    seat = fleet.seats.get(key)
    if seat is not None:
        return finding.generations(fleet, seat)
    agent = fleet.agents.get(key)
    return (agent,) if agent is not None else ()


def _with(found: Step, made: Mute) -> Step:
    return replace(found, fleet=replace(found.fleet, mutes={**found.fleet.mutes, made.agent: made}))


def _noted(before: Fleet, found: Step, agent: Agent, verb: UndoVerb, act: str, by: str, now: Moment) -> Step:
    """Keep what was muted until when, so that it can be taken back."""
    if not act:
        return found
    known = standing(before.mutes, agent.spec, now)
    until = ends_at(known, now) if known is not None else 0.0
    name = finding.shown(before, agent)
    one = Undoable(act, verb, name, now.wall, by, muted_until=until, at=now.at)
    return replace(found, fleet=replace(found.fleet, undoable=lasting((*found.fleet.undoable, one), now)))


def _unknown(found: Step, name: str) -> Step:
    return replace(found, refusal=Refusal("not_found", f"there is no agent {name}", "phoenixctl status"))
