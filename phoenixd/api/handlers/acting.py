"""One verb for the agents that a selector chooses, and what takes it back: results agent by agent."""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace

from phoenixd.api import exits, problems
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.handlers import commands, quiet, resonance, sending, taken
from phoenixd.api.idempotency import another_text
from phoenixd.api.pages import acting as pages
from phoenixd.api.pages.layout import Page
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.api.times import ago
from phoenixd.core import selection
from phoenixd.core.decision import Refusal
from phoenixd.core.facts import Ordered
from phoenixd.core.mutes.orders import MUTES
from phoenixd.core.mutes.state import standing
from phoenixd.core.nearest import nearest
from phoenixd.core.projection import Row, project
from phoenixd.core.seat.finding import is_gone, meant, was_removed
from phoenixd.core.seat.names import seat_name
from phoenixd.core.selection import Selector, Subject
from phoenixd.core.subjects import subjects
from phoenixd.core.undo import age, hindrance, telling
from phoenixd.core.undo.state import KEPT, Undoable, newest
from phoenixd.errors import PhoenixdError

Handler = Callable[[Ask], Coroutine[None, None, Reply]]

VERBS: Mapping[str, Handler] = {
    "start": commands.start_agent,
    "stop": commands.stop_agent,
    "restart": commands.restart_agent,
    "remove": commands.remove_agent,
    "send": sending.send_text,
    "mute": quiet.mute_agent,
    "unmute": quiet.unmute_agent,
    "breaker_reset": commands.breaker_reset,
    "check": resonance.check_resonance,
    "restore": resonance.restore_resonance,
}
"""Verbs that act on several agents, and how each does on one."""
SAME = ("text", "fresh", "after_iteration", "for")
"""What makes two requests under one key the same act on an agent."""
LOOKED_AT = 20
"""How many agents are asked whether a text was sent to them under the same key."""
SHOWN = 20
"""Words of a selector that a remedy repeats; half of one would mean others."""

SPOKEN = {"breaker_reset": "breaker reset", "check": "resonance check", "restore": "resonance restore"}
"""How phoenixctl spells the verbs that are called otherwise there."""
GIVEN: Mapping[str, dict[str, object]] = {"check": {"wait": False}, "restore": {"from_transcript": False}}
"""Arguments of a verb that are always so where several agents are meant."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one agent. exit: as that verb, given for it alone, would have ended. is_final: as of its Reply."""

    name: str
    exit: int
    message: str
    remedy: str = ""
    is_final: bool = True


async def act(ask: Ask) -> Reply:
    verb = str(ask.arguments["verb"])
    if verb == "remove" and ask.caller.role < Role.ADMIN:
        raise Problem("denied", f"uid {ask.caller.uid} may not remove agents", "ask as root or as the daemon's user")
    if verb == "send" and not ask.arguments["dry_run"] and not str(ask.arguments["text"] or "").strip():
        raise Problem("invalid", "there is nothing to send", "phoenixctl send --help")
    if not str(ask.arguments["select"] or "").strip():
        raise Problem("invalid", f"nothing says which agents to {verb}; all of them are '*'", "phoenixctl help select")
    rows = {row.name: row for row in project(ask.service.fleet(), ask.service.now())}
    chosen = await _meant(ask, verb, subjects(rows.values()))
    if ask.arguments["dry_run"]:
        return _dry(verb, [(name, _now(rows[name])) for name in chosen])
    key = secrets.token_hex(6)
    given = {**ask.arguments, **_waiting(ask, verb), **GIVEN.get(verb, {}), "act": key}
    each = [replace(ask, arguments={**given, "name": name}, key=_key(ask, name)) for name in chosen]
    results = await asyncio.gather(*(_one(verb, one) for one in each))
    return _reply(verb, key, results)


def _waiting(ask: Ask, verb: str) -> dict[str, object]:
    """Where nobody says whether the answer waits until it came about: it does, and for `stop` that verb knows."""
    return {} if verb == "stop" or ask.arguments["wait"] is not None else {"wait": True}


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
    _expected(ask, [one.agent for one in acts])
    if ask.arguments["dry_run"]:
        same, wall = {one.act for one in acts}, ask.service.now().wall
        why_not = {one.agent: why for one in acts if (why := hindrance.ahead(fleet, one))}
        told = [(one.agent, f"{one.verb} by {one.by}, {ago(wall - one.at_wall)} ago, act {one.act}") for one in acts]
        return _dry("undo", told, same.pop() if len(same) == 1 else None, why_not)
    passed_over = await _unmuted_since(ask, acts)
    results = await asyncio.gather(*(_back(ask, one) for one in acts))
    if passed_over:
        results = [
            replace(one, message=f"{one.message}; {_older(ask, acts, one.name, passed_over)}") for one in results
        ]
    return _reply("undo", "", results, taken.told(acts, {one.name for one in results if one.exit == exits.OK}))


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
        raise Problem("not_found", why, f"phoenixctl events {nobody} --all")
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


def selected(ask: Ask) -> Selector:
    """Which agents are meant: somebody has said which; raises Problem."""
    found = ask.selector()
    assert found is not None
    return found


def _chosen(ask: Ask, known: Sequence[Subject]) -> tuple[str, ...]:
    """The agents that are meant; raises Problem where there are none, or others than were expected."""
    found = ask.choose(selected(ask), known)
    _expected(ask, found)
    return found


def _expected(ask: Ask, chosen: Sequence[str]) -> None:
    expected = ask.arguments["expect"]
    verb = str(ask.arguments.get("verb", "undo"))
    spoken = SPOKEN.get(verb, verb)
    text = " TEXT" if verb == "send" else ""
    words = str(ask.arguments["select"] or "").split()
    again = " ".join((f"phoenixctl {spoken}", *map(shlex.quote, words))) + f"{text} --dry-run"
    if len(words) > SHOWN:
        again = "phoenixctl status --all"
    broken = selection.broken(expected, chosen, again) if expected is not None else None
    if broken is not None:
        raise problems.of_refusal(broken)


async def _meant(ask: Ask, verb: str, known: Sequence[Subject]) -> tuple[str, ...]:
    """The agents that are meant. A text that is sent once more under its key is for those whom it was for at first.

    Some of them may match no more because they took it, and a daemon may have gone before it could say so.
    """
    try:
        return _chosen(ask, known)
    except Problem:
        expected = sorted(set(ask.arguments["expect"] or ()))
        if verb != "send" or ask.key is None or not expected or not await _was_begun(ask, expected[:LOOKED_AT]):
            raise
        return tuple(expected)


async def _was_begun(ask: Ask, names: Sequence[str]) -> bool:
    for name in names:
        one = replace(ask, arguments={**ask.arguments, "name": name})
        if meant(ask.service.fleet(), name) is not None and await sending.sent_before(one, f"{ask.key}.{name}"):
            return True
    return False


def _key(ask: Ask, name: str) -> str | None:
    """Each agent's own key: a text that was typed into one of them is not to be taken for typed into all."""
    return f"{ask.key}.{name}" if ask.key is not None else None


def _now(row: Row) -> str:
    return f"{row.state.replace('_', ' ')}{f', {row.activity}' if row.activity else ''}"


async def _one(verb: str, ask: Ask) -> Result:
    """What becomes of one agent; with a key what became of it before, where that was not refused."""
    try:
        if ask.key is None or ask.once is None:
            reply = await VERBS[verb](ask)
        else:
            told = {name: ask.arguments[name] for name in SAME if name in ask.arguments}
            request = (verb.encode(), json.dumps(told, sort_keys=True).encode())
            refusal = another_text(ask.key.removesuffix(f".{ask.name}")) if verb == "send" else None
            reply = await ask.once(ask.key, request, lambda: _brief(VERBS[verb], ask), another=refusal)
    except Problem as problem:
        return Result(ask.name, problem.exit_code, problem.detail, problem.remedy)
    except PhoenixdError as error:
        found = problems.of_error(error)
        return Result(ask.name, found.exit_code, found.detail, found.remedy)
    body = reply.body() if callable(reply.body) else reply.body
    return Result(ask.name, reply.exit, str(body["message"]), is_final=reply.is_final)


async def _brief(handler: Handler, ask: Ask) -> Reply:
    """An answer without what a result does not tell: a thousand of them are kept."""
    reply = await handler(ask)
    body = reply.body() if callable(reply.body) else reply.body
    return Reply({"message": body["message"]}, reply.text, reply.exit, is_final=reply.is_final)


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
        now = ask.service.now().wall
        mute = standing(fleet.mutes, agent.spec, now) if agent is not None else None
        until = (
            f"muted again until {Page(now, zone=ask.zone).start(mute.until_wall)}"
            if mute is not None
            else "not muted any more"
        )
        return Result(one.agent, exits.OK, f"{one.agent} is {until}")
    told_of_it = telling.told(agent, one, ask.service.now()) if agent is not None else f"{one.agent} was removed since"
    return Result(one.agent, exits.OK, told_of_it)


def _dry(
    verb: str, found: Sequence[tuple[str, str]], act: str | None = None, why_not: Mapping[str, str] | None = None
) -> Reply:
    """why_not: of whom it would be refused, and why."""
    refused = why_not or {}
    found = [(name, f"{state}: {refused[name]}" if name in refused else state) for name, state in found]
    body = {
        "verb": verb,
        "act": act,
        "dry_run": True,
        "took_back": [],
        "agents": [
            {"name": name, "exit": exits.CONFLICT if name in refused else exits.OK, "message": state, "remedy": ""}
            for name, state in found
        ],
    }
    return Reply(body, lambda here: pages.dry(verb, found, here, len(found) - len(refused)))


def _reply(verb: str, key: str, results: Sequence[Result], took_back: Sequence[taken.Act] = ()) -> Reply:
    codes = {one.exit for one in results} - {exits.OK}
    code = exits.OK if not codes else codes.pop() if len(codes) == 1 else exits.FAILED
    body = {
        "verb": verb,
        "act": key or None,
        "dry_run": False,
        "took_back": [one.body() for one in took_back],
        "agents": [
            {"name": one.name, "exit": one.exit, "message": one.message, "remedy": one.remedy} for one in results
        ],
    }
    told = [(one.name, one.exit == exits.OK, one.message, one.remedy) for one in results]
    is_final = code == exits.OK and all(one.is_final for one in results)
    return Reply(
        body, lambda here: pages.done(verb, told, here, [one.line(here) for one in took_back]), code, is_final=is_final
    )
