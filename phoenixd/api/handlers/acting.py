"""One verb for the agents that a selector chooses, and what takes it back: results agent by agent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phoenixd.api import exits, problems
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.handlers import commands, quiet, resonance
from phoenixd.api.pages import acting as pages
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.core import selection
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Refusal
from phoenixd.core.mutes.orders import MUTES
from phoenixd.core.mutes.state import standing
from phoenixd.core.projection import Row, project
from phoenixd.core.seat.finding import meant
from phoenixd.core.selection import Selector, Subject
from phoenixd.core.subjects import subjects
from phoenixd.core.undo import state as undoing
from phoenixd.core.undo.state import Undoable
from phoenixd.errors import PhoenixdError

Handler = Callable[[Ask], Coroutine[None, None, Reply]]

VERBS: Mapping[str, Handler] = {
    "start": commands.start_agent,
    "stop": commands.stop_agent,
    "restart": commands.restart_agent,
    "remove": commands.remove_agent,
    "send": commands.send_text,
    "mute": quiet.mute_agent,
    "unmute": quiet.unmute_agent,
    "breaker_reset": commands.breaker_reset,
    "check": resonance.check_resonance,
    "restore": resonance.restore_resonance,
}
"""Verbs that act on several agents, and how each does on one."""


GIVEN: Mapping[str, dict[str, Any]] = {"check": {"wait": False}, "restore": {"from_transcript": False}}
"""Arguments of a verb that are always so where several agents are meant."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one agent. exit: as that verb, given for it alone, would have ended."""

    name: str
    exit: int
    message: str
    remedy: str = ""


async def act(ask: Ask) -> Reply:
    verb = str(ask.arguments["verb"])
    if verb == "remove" and ask.caller.role < Role.ADMIN:
        raise Problem("denied", f"uid {ask.caller.uid} may not remove agents", "ask as root or as the daemon's user")
    if verb == "send" and not str(ask.arguments["text"] or "").strip():
        raise Problem("invalid", "there is nothing to send", "phoenixctl send --help")
    if not str(ask.arguments["select"]).strip():
        raise Problem("invalid", f"nothing says which agents to {verb}; all of them are '*'", "phoenixctl help select")
    rows = {row.name: row for row in project(ask.service.fleet(), ask.service.now())}
    chosen = _chosen(ask, subjects(rows.values()))
    if ask.arguments["dry_run"]:
        return _dry(verb, [(name, _now(rows[name])) for name in chosen])
    key = secrets.token_hex(6)
    given = {**ask.arguments, **GIVEN.get(verb, {}), "act": key}
    each = [replace(ask, arguments={**given, "name": name}, key=_key(ask, name)) for name in chosen]
    results = await asyncio.gather(*(_one(VERBS[verb], one) for one in each))
    return _reply(verb, key, results)


async def undo(ask: Ask) -> Reply:
    fleet, wall = ask.service.fleet(), ask.service.now().wall
    known = {one.agent: Subject(one.agent, "", "", ()) for one in undoing.kept(fleet.undoable, wall)}
    live = {one.name: one for one in subjects(project(fleet, ask.service.now())) if one.name in known}
    words = str(ask.arguments["select"])
    names = (
        frozenset(_chosen(replace(ask, arguments={**ask.arguments, "expect": None}), {**known, **live}.values()))
        if words.strip() and known
        else None
    )
    acts = undoing.newest(fleet.undoable, wall, names)
    if not acts:
        raise Problem(
            "not_found", "nothing was stopped, removed, begun afresh or muted within 7 days", "phoenixctl events"
        )
    if any(one.verb == "remove" for one in acts) and ask.caller.role < Role.ADMIN:
        raise Problem("denied", f"uid {ask.caller.uid} may not declare agents", "ask as root or as the daemon's user")
    _expected(ask, [one.agent for one in acts])
    if ask.arguments["dry_run"]:
        return _dry("undo", [(one.agent, f"{one.verb} by {one.by}") for one in acts])
    results = await asyncio.gather(*(_back(ask, one) for one in acts))
    return _reply("undo", "", results)


def selected(words: str) -> Selector:
    """A selector, understood; raises Problem."""
    found = selection.parse(words)
    if isinstance(found, Refusal):
        raise problems.of_refusal(found)
    return found


def _chosen(ask: Ask, known: Sequence[Subject] | Any) -> tuple[str, ...]:
    """The agents that are meant; raises Problem where there are none, or others than were expected."""
    found = selection.choose(selected(str(ask.arguments["select"])), known)
    if isinstance(found, Refusal):
        raise problems.of_refusal(found)
    _expected(ask, found)
    return found


def _expected(ask: Ask, chosen: Sequence[str]) -> None:
    expected = ask.arguments["expect"]
    broken = selection.broken(expected, chosen) if expected is not None else None
    if broken is not None:
        raise problems.of_refusal(broken)


def _key(ask: Ask, name: str) -> str | None:
    """Each agent's own key: a text that was typed into one of them is not to be taken for typed into all."""
    return f"{ask.key}.{name}"[:128] if ask.key is not None else None


def _now(row: Row) -> str:
    return f"{row.state.replace('_', ' ')}{f', {row.activity}' if row.activity else ''}"


async def _one(handler: Handler, ask: Ask) -> Result:
    try:
        reply = await handler(ask)
    except Problem as problem:
        return Result(ask.name, problem.exit_code, problem.detail, problem.remedy)
    except PhoenixdError as error:
        found = problems.of_error(error)
        return Result(ask.name, found.exit_code, found.detail, found.remedy)
    body = reply.body() if callable(reply.body) else reply.body
    return Result(ask.name, reply.exit, str(body["message"]))


async def _back(ask: Ask, one: Undoable) -> Result:
    try:
        refusal = await ask.service.bring_back(one.agent, ask.caller.name, one.act)
    except PhoenixdError as error:
        found = problems.of_error(error)
        return Result(one.agent, found.exit_code, found.detail, found.remedy)
    if refusal is not None:
        told = problems.of_refusal(refusal)
        return Result(one.agent, told.exit_code, told.detail, told.remedy)
    fleet = ask.service.fleet()
    agent = meant(fleet, one.agent)
    if one.verb in MUTES:
        mute = standing(fleet.mutes, agent.spec, ask.service.now().wall) if agent is not None else None
        return Result(one.agent, exits.OK, f"{one.agent} is {'muted again' if mute else 'not muted any more'}")
    session = f", in its session {one.session.session_id[:8]}" if one.session is not None else ""
    is_up = agent is not None and (one.was_up or isinstance(agent.state, Running))
    words = f"is on its way back{session}" if is_up else f"is declared as it was{session}; it was not running"
    return Result(one.agent, exits.OK, f"{one.agent} {words}")


def _dry(verb: str, found: Sequence[tuple[str, str]]) -> Reply:
    body = {
        "verb": verb,
        "act": None,
        "dry_run": True,
        "agents": [{"name": name, "exit": 0, "message": state, "remedy": ""} for name, state in found],
    }
    return Reply(body, lambda here: pages.dry(verb, found, here))


def _reply(verb: str, key: str, results: Sequence[Result]) -> Reply:
    codes = {one.exit for one in results} - {exits.OK}
    code = exits.OK if not codes else codes.pop() if len(codes) == 1 else exits.FAILED
    body = {
        "verb": verb,
        "act": key or None,
        "dry_run": False,
        "agents": [
            {"name": one.name, "exit": one.exit, "message": one.message, "remedy": one.remedy} for one in results
        ],
    }
    told = [(one.name, one.exit == exits.OK, one.message, one.remedy) for one in results]
    return Reply(body, lambda here: pages.done(verb, told, here), code)
