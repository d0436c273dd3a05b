"""Open loops: what agents began and did not finish, and how one is closed."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence

from phoenixd.api import problems
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages import loops as text_loops
from phoenixd.api.pages.loops import Loop
from phoenixd.api.problems import Problem
from phoenixd.api.times import rfc3339
from phoenixd.core.fleet import Fleet
from phoenixd.core.inbox import inbox
from phoenixd.core.seat import finding
from phoenixd.documents.loop_ids import meant
from phoenixd.documents.loop_origin import item_of
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.state import age_in_days, is_unconfirmed
from phoenixd.documents.times import utc_date

ID_SHOWN = 64
NEAR = 3
MOST_COMPARED = 200
"""Ids that are looked at for one that looks alike: an agent decides how many there are."""


async def list_loops(ask: Ask) -> Reply:
    named = _agent_meant(ask)
    today, days = utc_date(ask.service.now().wall), ask.service.stale_days
    names = [named] if named else _everyone(ask.service.fleet())
    found = [
        Loop(
            name,
            loop.id,
            loop.text,
            loop.added,
            age_in_days(loop, today),
            loop.stale,
            is_unconfirmed(loop),
            item_of(loop),
        )
        for name in names
        for loop in await ask.service.open_loops(name)
    ]
    waiting = {item.id for item in inbox(ask.service.fleet())}
    found.sort(key=lambda loop: (not loop.stale, -loop.age_days, loop.agent, loop.id))
    read = {name: ask.service.loops_read(name) for name in names}
    body = {
        "loops": [
            {
                "agent": loop.agent,
                "id": loop.id,
                "text": loop.text,
                "added": loop.added,
                "age_days": loop.age_days,
                "stale": loop.stale,
                "unconfirmed": loop.unconfirmed,
            }
            for loop in found
        ],
        "read": [
            {"agent": name, "at": rfc3339(one.at or None), "turn_due": rfc3339(one.due or None)}
            for name, one in read.items()
        ],
        "stale_days": days,
    }
    # What waits for a person is listed by `inbox`: each of it at once, and not once a brief has noted it.
    told = [loop for loop in found if loop.item not in waiting]
    waits = len(found) - len(told)
    return Reply(body, lambda here: text_loops.loops(told, days, here, read, agent=named, waiting=waits))


async def resolve_loop(ask: Ask) -> Reply:
    loop_id, reason = str(ask.arguments["id"]), str(ask.arguments["reason"])
    if not one_line(reason, ID_SHOWN):
        again = f"phoenixctl resolve {shlex.quote(loop_id)} 'REASON'"
        raise Problem("invalid", "the reason is empty: say why the loop is closed", again)
    named = _agent_meant(ask)
    name, done = await _close(ask, named, loop_id, reason) if named else await _close_only(ask, loop_id, reason)
    shown = one_line(loop_id, ID_SHOWN)
    if done == "frozen":
        raise Problem(
            "conflict",
            f"state.json of {name} is of a newer version than this phoenixd: it is read, and not written",
            "resolve it with the phoenixd that wrote it",
        )
    message = f"resolved {shown} of {name}" if done == "resolved" else f"{shown} of {name} was resolved before"
    body = {"agent": name, "id": loop_id, "outcome": done, "in_state": True, "message": message}
    return Reply(body, said(message))


async def _close(ask: Ask, name: str, loop_id: str, reason: str) -> tuple[str, Resolved]:
    await _refuse_what_waits(ask, name, loop_id)
    done = await ask.service.resolve(name, loop_id, reason)
    if done == "unknown":
        ids = [loop.id for loop in await ask.service.open_loops(name)]
        raise no_loop(name, loop_id, ids, f"phoenixctl loops {name}")
    return name, done


async def _refuse_what_waits(ask: Ask, name: str, loop_id: str) -> None:
    """A loop that stands for an item of the inbox is over with it, and not before: raises Problem."""
    loops = {loop.id: loop for loop in await ask.service.open_loops(name)}
    loop = loops.get(meant(loop_id, loops))
    number = item_of(loop) if loop is not None else None
    if number is not None and any(item.id == number for item in inbox(ask.service.fleet())):
        why = f"{one_line(loop_id, ID_SHOWN)} of {name} is what waits under #{number}: it is over once that is"
        raise Problem("conflict", why, f"phoenixctl inbox {number}")


async def _close_only(ask: Ask, loop_id: str, reason: str) -> tuple[str, Resolved]:
    """Close the loop of the only agent that has such a one; a repeat finds whose it was."""
    open_ids = {
        name: [loop.id for loop in await ask.service.open_loops(name)] for name in _everyone(ask.service.fleet())
    }
    owners = [name for name, ids in open_ids.items() if meant(loop_id, ids) in ids]
    if len(owners) > 1:
        raise several(loop_id, owners)
    for name in owners or open_ids:
        if owners:
            await _refuse_what_waits(ask, name, loop_id)
        done = await ask.service.resolve(name, loop_id, reason)
        if done != "unknown":
            return name, done
    everything = [loop_id for ids in open_ids.values() for loop_id in ids]
    raise no_loop(None, loop_id, everything, "phoenixctl loops")


def no_loop(agent: str | None, loop_id: str, ids: Iterable[str], remedy: str) -> Problem:
    """The refusal of an id that no open loop has (of this agent, or of any), which names those that look like it."""
    known = sorted(set(ids))[:MOST_COMPARED]
    close = difflib.get_close_matches(loop_id[:ID_SHOWN].lower(), known, NEAR, 0.5)
    near = f"; near it: {', '.join(close)}" if close else "" if known else ", nor any other"
    who = f"{agent} has no" if agent else "no agent has an"
    return Problem("not_found", f"{who} open loop {one_line(loop_id, ID_SHOWN)!r}{near}", remedy)


def several(loop_id: str, owners: Sequence[str]) -> Problem:
    """The refusal to choose among several agents that have such a loop."""
    shown = one_line(loop_id, ID_SHOWN)
    return Problem(
        "conflict",
        f"{len(owners)} agents have an open loop {shown}: {', '.join(owners)}",
        f'phoenixctl resolve {shown} "REASON" --agent {owners[0]}',
    )


def _agent_meant(ask: Ask) -> str | None:
    """The agent that the request is about: the one that is named, else the agent that asks."""
    named = ask.arguments["agent"]
    own = ask.caller.agent
    if own is not None and named not in (None, own):
        raise Problem(
            "denied",
            f"agent {own} may not ask about the loops of {named}: {ask.caller.why}",
            "leave the agent out, to mean your own; or ask from a terminal outside",
        )
    meant = named if named is not None else own
    found = finding.meant(ask.service.fleet(), str(meant)) if meant is not None else None
    if meant is not None and found is None:
        raise problems.absent(ask.service.fleet(), str(meant), ask.service.now(), ask.known_names())
    # Loops are papers, and those are the seat's.
    return found.spec.seat or found.name if found is not None else None


def _everyone(fleet: Fleet) -> list[str]:
    there = (agent for agent in fleet.agents.values() if not agent.removing and not finding.is_other(fleet, agent))
    return sorted(agent.spec.seat or agent.name for agent in there)
