"""The markers of agents: whether each still knows its own, a check, a restoration, a new marker (R23, R57, R65)."""

from __future__ import annotations

from phoenixd.api import exits
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.commands import order
from phoenixd.api.handlers.past import chosen
from phoenixd.api.pages import resonance as pages
from phoenixd.api.pages.resonance import Marked
from phoenixd.api.problems import Problem
from phoenixd.api.times import rfc3339
from phoenixd.core.agent import Agent
from phoenixd.core.events.resonance import CheckRequested, RestorationRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.resonance import checklist
from phoenixd.core.seat import finding
from phoenixd.documents.times import utc_date

MOST_MARKS = 500
SHOWN_MARKS = 10
LONGEST_PHRASE = 400
BROKEN = frozenset({"missed", "paraphrased", "lost"})
SEE = "phoenixctl resonance status"


async def list_resonance(ask: Ask) -> Reply:
    fleet, names = ask.service.fleet(), chosen(ask)
    bearers = [
        one
        for one in fleet.agents.values()
        if one.spec.has_resonance
        and not finding.is_other(fleet, one)
        and (names is None or finding.shown(fleet, one) in names)
    ]
    found = [await _marked(ask, one) for one in sorted(bearers, key=lambda one: one.spec.role)]
    return Reply({"agents": [_json(one) for one in found]}, lambda here: pages.every(found, here))


async def show_resonance(ask: Ask) -> Reply:
    return _told(await _marked(ask, ask.agent()), "")


async def check_resonance(ask: Ask) -> Reply:
    agent, began = ask.agent(), ask.service.now().wall
    given = ask.arguments
    await order(ask, CheckRequested(agent.name, ask.caller.name, str(given["why"] or "")))
    if not given["wait"]:
        return _told(await _marked(ask, ask.agent()), "asked at its next turn's end")

    def has_answered(fleet: Fleet) -> bool:
        found = fleet.agents.get(agent.name)
        known = found.resonance if found is not None else None
        return known is None or ((known.asked_wall or 0.0) >= began and known.challenge is None and not known.due)

    if not await ask.service.wait_for(has_answered, float(given["timeout"])):
        why = f"{ask.name} has not ended a turn since it was asked; it is asked when it does"
        raise Problem("timed_out", why, f"{SEE} {ask.name}")
    return _told(await _marked(ask, ask.agent()), "answered")


async def restore_resonance(ask: Ask) -> Reply:
    agent = ask.agent()
    if not ask.arguments["from_transcript"]:
        await order(ask, RestorationRequested(agent.name, ask.caller.name))
        return _told(await _marked(ask, ask.agent()), "being restored")
    found = await ask.service.rebuild_marker(ask.name)
    if found is None:
        why = f"no footer of {ask.name} is found in its transcript; a restoration begins a new session"
        raise Problem("not_found", why, f"phoenixctl resonance restore {ask.name}")
    new = "; its phrase is not known any more, and another one stands for it" if found.phrase_lost else ""
    message = f"the papers of {ask.name} are made anew: role {found.role}, state {found.state}{new}"
    return _told(await _marked(ask, agent), message, whole=True)


async def mint_marker(ask: Ask) -> Reply:
    phrase = ask.arguments["phrase"]
    try:
        marker = await ask.service.mint(str(phrase) if phrase is not None else None)
    except ValueError as refused:
        raise Problem("invalid", str(refused)[:LONGEST_PHRASE], "phoenixctl resonance mint --phrase WORDS") from refused
    body = {"marker": str(marker), "phrase": marker.phrase, "hex": marker.code}
    return Reply(body, said(str(marker)), status=201)


async def _marked(ask: Ask, agent: Agent) -> Marked:
    face = await ask.service.marker(agent.name)
    names = ask.written_by(agent.spec.role)
    marks = await ask.service.journal.marks((names,) if isinstance(names, str) else names, MOST_MARKS)
    today = utc_date(ask.service.now().wall)
    tokens = sum(one.tokens for one in marks if one.what == "checked" and utc_date(one.wall) == today)
    return Marked(agent, face, checklist.checks(agent), tuple(marks[:SHOWN_MARKS]), tokens)


def _told(one: Marked, done: str, *, whole: bool = False) -> Reply:
    message = done if whole or not done else f"{one.name} is {done}"
    body = {**_json(one), "message": message}
    known = one.agent.resonance
    is_broken = known is not None and (known.state in BROKEN or known.is_restoring or bool(known.lost))
    code = exits.CONDITION if is_broken and done in ("", "answered") else exits.OK
    if message and done != "answered":
        return Reply(body, said(f"{message}. See: {SEE} {one.name}"))
    return Reply(body, lambda here: pages.one(one, here), code)


def _json(one: Marked) -> dict[str, object]:
    known, rules, anchor = one.agent.resonance, one.agent.spec.resonance, one.face.anchor
    footer = known.footer if known is not None and known.footer[1] else None
    return {
        "name": one.name,
        "enabled": one.agent.spec.has_resonance,
        "state": one.state,
        "note": known.note if known is not None else "",
        "mode": rules.mode,
        "overflow": rules.overflow,
        "transport": rules.transport,
        "preset": rules.preset or None,
        "interval_turns": rules.interval_turns,
        "turns": known.turns if known is not None else 0,
        "due": (known.due or None) if known is not None else None,
        "misses": known.misses if known is not None else 0,
        "degraded": known.degraded if known is not None else 0,
        "codes_left": len(known.planting.unspent()) if known is not None and known.planting is not None else 0,
        "last_verified": rfc3339(known.last_verified_wall) if known is not None else None,
        "asked_at": rfc3339(known.asked_wall) if known is not None else None,
        "restoration": {"step": known.step, "why": known.restoration.why}
        if known is not None and known.restoration is not None
        else None,
        "footer": {"role": footer[0], "state": footer[1]} if footer is not None else None,
        "session_id": anchor.session_id if anchor is not None else None,
        "ended_at": rfc3339(anchor.ended_at) if anchor is not None else None,
        "rebuilt_from": one.face.rebuilt or None,
        "papers": one.face.directory,
        "tokens_today": one.tokens,
        "checks": [{"name": check.name, "well": check.well, "what": check.what} for check in one.checks],
        "happened": [
            {
                "at": rfc3339(mark.wall), "what": mark.what, "verdict": mark.verdict or None,
                "number": mark.number, "step": mark.step, "why": mark.why,
            }
            for mark in one.marks
        ],
    }  # fmt: skip
