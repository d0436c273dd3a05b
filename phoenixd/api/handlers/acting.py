"""One verb for the agents that a selector chooses: results agent by agent."""

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
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.core import selection
from phoenixd.core.projection import Row, project
from phoenixd.core.seat.finding import meant
from phoenixd.core.selection import Selector, Subject
from phoenixd.core.subjects import subjects
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
        return dry(verb, [(name, _now(rows[name])) for name in chosen])
    key = secrets.token_hex(6)
    given = {**ask.arguments, **_waiting(ask, verb), **GIVEN.get(verb, {}), "act": key}
    each = [replace(ask, arguments={**given, "name": name}, key=_key(ask, name)) for name in chosen]
    results = await asyncio.gather(*(_one(verb, one) for one in each))
    return reply_of(verb, key, results)


def selected(ask: Ask) -> Selector:
    """Which agents are meant: somebody has said which; raises Problem."""
    found = ask.selector()
    assert found is not None
    return found


def require_expected(ask: Ask, chosen: Sequence[str]) -> None:
    """Raise Problem where other agents are meant than the operator was shown."""
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


def dry(
    verb: str, found: Sequence[tuple[str, str]], act: str | None = None, why_not: Mapping[str, str] | None = None
) -> Reply:
    """What a verb would do, with nothing done. why_not: the agents for which it would be refused, and why."""
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


def reply_of(verb: str, key: str, results: Sequence[Result], took_back: Sequence[taken.Act] = ()) -> Reply:
    """What became of each agent, as one answer."""
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


def _waiting(ask: Ask, verb: str) -> dict[str, object]:
    """Where nobody says whether the answer waits until it came about: it does, and for `stop` that verb knows."""
    return {} if verb == "stop" or ask.arguments["wait"] is not None else {"wait": True}


def _chosen(ask: Ask, known: Sequence[Subject]) -> tuple[str, ...]:
    """The agents that are meant; raises Problem where there are none, or others than were expected."""
    found = ask.choose(selected(ask), known)
    require_expected(ask, found)
    return found


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
