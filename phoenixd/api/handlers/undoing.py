"""What takes an act on agents back, and why an act cannot be: results agent by agent, as of the verbs in `acting`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from phoenixd.api import exits, problems, removal
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.handlers import taken
from phoenixd.api.handlers.acting import Result, dry, reply_of, require_expected, selected
from phoenixd.api.pages.layout import Page
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.api.times import ago
from phoenixd.core import selection
from phoenixd.core.decision import Refusal
from phoenixd.core.facts import Ordered
from phoenixd.core.mutes.orders import MUTES
from phoenixd.core.mutes.state import ends_at, standing
from phoenixd.core.nearest import nearest
from phoenixd.core.projection import project
from phoenixd.core.seat.finding import is_gone, meant, was_removed
from phoenixd.core.seat.names import seat_name
from phoenixd.core.selection import Subject
from phoenixd.core.subjects import subjects
from phoenixd.core.undo import age, hindrance, telling
from phoenixd.core.undo.state import KEPT, NOUNS, Undoable, newest
from phoenixd.errors import PhoenixdError


async def undo(ask: Ask) -> Reply:
    act, kept = ask.arguments["act"], age.kept(ask.service.fleet().undoable, ask.service.now())
    _all_known(ask, kept)
    names = _undone(ask, kept) if ask.arguments["select"] is not None else None
    fleet = ask.service.fleet()
    acts = newest([one for one in kept if not hindrance.is_reversed(fleet, one)], names, act)
    if not acts and act is not None:
        acts = newest(kept, names, act)
    if not acts and act is not None and (by := await _taken_back(ask, str(act))) is not None:
        raise Problem("not_found", f"act {act} was taken back already, {by}", "phoenixctl events")
    if not acts and act is not None and kept:
        raise Problem("not_found", f"there is no act {act} that can be taken back", "phoenixctl undo --dry-run")
    if not acts:
        raise Problem(
            "not_found",
            "nothing is left to take back of what was stopped, removed, begun afresh or muted within 7 days",
            "phoenixctl events",
        )
    if any(one.verb == "remove" for one in acts) and ask.caller.role < Role.ADMIN:
        raise Problem("denied", f"uid {ask.caller.uid} may not declare agents", "ask as root or as the daemon's user")
    require_expected(ask, [one.agent for one in acts])
    if ask.arguments["dry_run"]:
        same, wall = {one.act for one in acts}, ask.service.now().wall
        why_not = {one.agent: why for one in acts if (why := hindrance.ahead(fleet, one))}
        told = [(one.agent, f"{one.verb} by {one.by}, {ago(wall - one.at_wall)} ago, act {one.act}") for one in acts]
        return dry("undo", told, same.pop() if len(same) == 1 else None, why_not)
    passed_over = await _unmuted_since(ask, acts)
    results = await asyncio.gather(*(_back(ask, one) for one in acts))
    if passed_over:
        results = [
            replace(one, message=f"{one.message}; {_older(ask, acts, one.name, passed_over)}") for one in results
        ]
    return reply_of("undo", "", results, taken.told(acts, {one.name for one in results if one.exit == exits.OK}))


async def _unmuted_since(ask: Ask, acts: Sequence[Undoable]) -> str:
    """An agent that was unmuted after these acts, and that an operator may mean by undo; empty where there is none.

    An unmute is no act: what is taken back is an older one.
    """
    since = min(one.at_wall for one in acts)
    names = {seat_name(one.agent) for one in acts} if ask.arguments["select"] is not None else None
    for stored in reversed(await ask.service.journal.read(newest=True, story=True, since_wall=since)):
        entry = stored.entry
        if entry.agent is None or (names is not None and seat_name(entry.agent) not in names):
            continue
        if any(isinstance(fact, Ordered) and fact.verb == "unmute" and fact.taken for fact in entry.facts):
            return seat_name(entry.agent)
    return ""


def _older(ask: Ask, acts: Sequence[Undoable], name: str, unmuted: str) -> str:
    act = next(one for one in acts if one.agent == name)
    when = ago(ask.service.now().wall - act.at_wall)
    return f"this took back the {act.verb} of {when} ago, for an unmute is no act: phoenixctl mute {unmuted}"


async def _taken_back(ask: Ask, act: str) -> str | None:
    """By whom, and how long ago; None where the newest rows do not tell that it was."""
    wall = ask.service.now().wall
    for stored in reversed(await ask.service.journal.read(newest=True, story=True, since_wall=wall - KEPT)):
        entry = stored.entry
        for fact in entry.facts if entry.detail.get("act") == act else ():
            if isinstance(fact, Ordered) and fact.verb == "undo" and fact.taken:
                return f"by {fact.by}, {ago(wall - entry.wall)} ago"
    return None


def _all_known(ask: Ask, kept: Sequence[Undoable]) -> None:
    """Raise Problem where a name is given that no agent has and no kept act is about."""
    words = ask.arguments["select"]
    known = {*(one.name for one in project(ask.service.fleet(), ask.service.now())), *(one.agent for one in kept)}
    named = selected(ask).names if words is not None else ()
    nobody = next((name for name in named if name not in known), None)
    if nobody is None:
        return
    if is_gone(ask.service.fleet(), nobody):
        raise problems.gone(nobody)
    if was_removed(ask.service.fleet(), nobody):
        why = f"{nobody} was removed by a change of the configuration or over 7 days ago: undo cannot bring it back"
        raise Problem("not_found", why, removal.anew(nobody))
    close = nearest(nobody, known)
    why = f"there is no agent {nobody}, and none was removed within 7 days"
    if close is None:
        raise Problem("not_found", why, "phoenixctl status")
    raise Problem("not_found", f"{why}; did you mean {close}?", f"phoenixctl status {close}")


def _undone(ask: Ask, kept: Sequence[Undoable]) -> frozenset[str]:
    """The agents on which something is to be taken back; raises Problem where nothing can be on one that is named."""
    live = {one.name: one for one in subjects(project(ask.service.fleet(), ask.service.now()))}
    known = {
        one.agent: live.get(one.agent) or Subject(one.agent, one.kind, one.harness, (), False, one.project, one.labels)
        for one in kept
    }
    selector = selected(ask)
    idle = next((name for name in selector.names if name in live and name not in known), None)
    if idle is not None:
        why = f"nothing of {idle} is left to take back of what was stopped, begun afresh or muted within 7 days"
        raise Problem("not_found", why, f"phoenixctl events {idle}")
    found = selection.choose(selector, known.values(), live.values()) if known else ()
    if isinstance(found, Refusal):
        raise problems.of_refusal(found)
    return frozenset(found)


async def _back(ask: Ask, one: Undoable) -> Result:
    try:
        refusal = await ask.service.bring_back(one.agent, ask.caller.name, one.act)
    except PhoenixdError as error:
        found = problems.of_error(error)
        return Result(one.agent, found.exit_code, _not_back(ask, one, found.detail), found.remedy)
    if refusal is not None:
        told = problems.of_refusal(refusal)
        return Result(one.agent, told.exit_code, _not_back(ask, one, told.detail), told.remedy)
    fleet = ask.service.fleet()
    agent = meant(fleet, one.agent)
    if one.verb in MUTES:
        now = ask.service.now()
        mute = standing(fleet.mutes, agent.spec, now) if agent is not None else None
        until = (
            f"muted again until {Page(now.wall, zone=ask.zone).start(ends_at(mute, now))}"
            if mute is not None
            else "not muted any more"
        )
        return Result(one.agent, exits.OK, f"{one.agent} is {until}")
    told_of_it = telling.told(agent, one, ask.service.now()) if agent is not None else f"{one.agent} was removed since"
    return Result(one.agent, exits.OK, told_of_it)


def _not_back(ask: Ask, one: Undoable, why: str) -> str:
    """Which act is not taken back: the newest that is left may be another one than an operator has in mind."""
    done = Page(ask.service.now().wall, zone=ask.zone).clock(one.at_wall)
    return f"the {NOUNS[one.verb]} of {one.agent}, {done}, is not taken back: {why}"
