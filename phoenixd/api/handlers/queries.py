"""Answers that change nothing: status, events, explanations, what waits for a person."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import replace
from functools import partial

from phoenixd.api import exits, history_document, problems, removal, representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.past import chosen, muted_until, not_waiting, open_items, rows_of
from phoenixd.api.history import Stretch, running_again
from phoenixd.api.pages import agent as text_agent
from phoenixd.api.pages import events as text_events
from phoenixd.api.pages import findings as text_findings
from phoenixd.api.pages import history as text_history
from phoenixd.api.pages import inbox as text_inbox
from phoenixd.api.pages import resonance as text_resonance
from phoenixd.api.pages import status as text
from phoenixd.api.pages.headline import needed
from phoenixd.api.pages.layout import Page
from phoenixd.api.pages.pane import pane_text
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.api.row import alert
from phoenixd.api.times import meant_past, parse_past, rfc3339
from phoenixd.core import condition, glance, restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Live, Quarantined
from phoenixd.core.alerts import pressing
from phoenixd.core.breaker import Open
from phoenixd.core.facts import Ordered, RunEnded, StateOpened
from phoenixd.core.inbox import inbox as all_items
from phoenixd.core.opened import opening
from phoenixd.core.question.call import ASKS
from phoenixd.core.question.render import title
from phoenixd.core.resonance.due import PURPOSE
from phoenixd.core.seat.finding import as_shown, asking, is_other, known_as, meant, shown
from phoenixd.core.turns import has_breaker
from phoenixd.errors import NoTerminal
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.remedies import anew

EXPLAINED = 12
LISTED = 200
BEFORE_ROWS = 100
"""Rows of the story among which is looked for what led to the present state."""
OPENING_ROWS = 20
"""Rows among which the one that opened a state is looked for, from the time on at which it began."""
PANE_LINES = 200
VERDICTS = ("allow", "approve", "deny")
CHECK = f"{PURPOSE}:"
"""How the clause of an answer begins that stands ready to ask for a code."""
API = 1
"""Raised when a client of today would no longer understand an answer."""


async def show_agent(ask: Ask) -> Reply:
    ask.agent()
    await ask.service.look_at_terminals()
    row = ask.row()
    body = representation.status([row], ask.service.facts(), ask.service.loops)
    fine = row.is_running or condition.is_between_iterations(ask.agent())
    code = exits.OK if fine else exits.CONDITION
    marker = text_resonance.clause(ask.agent(), ask.service.now().wall)
    if ask.caller.role is Role.AGENT:
        # A check that its agent knows of beforehand proves less.
        row, marker = replace(row, armed=tuple(one for one in row.armed if not one.startswith(CHECK))), ""
    return Reply(body, lambda here: text_agent.agent(row, here, ask.service.loops(row.name), marker), code)


async def prompt(ask: Ask) -> Reply:
    known = ask.feed.glances if ask.feed is not None else None
    counts = glance.counts(ask.service.fleet(), ask.service.now(), known)
    body: representation.Json = {str(group): number for group, number in counts.items()}
    return Reply(body, lambda here: text.prompt(counts, here))


async def inbox(ask: Ask) -> Reply:
    names, fleet = chosen(ask), ask.service.fleet()
    items, of_nobody = open_items(ask, names), pressing(fleet.alerts) if names is None else ()
    seen = [one for one in glance.glances(fleet, ask.service.now()) if names is None or one.name in names]
    body = {
        "items": [representation.item(item) for item in items],
        "alerts": [alert(one) for one in of_nobody],
    }
    muted = muted_until(ask)
    return Reply(body, lambda here: text_inbox.inbox(items, here, of_nobody, needed(seen, of_nobody), muted))


async def show_item(ask: Ask) -> Reply:
    item = find_item(ask)
    until = muted_until(ask).get(item.agent)
    return Reply({"item": representation.item(item)}, lambda here: text_inbox.one(item, here, until))


def find_item(ask: Ask) -> InboxItem:
    """The item of that number, or the one item of the agent of that name; raises Problem."""
    word, fleet = str(ask.arguments["id"]), ask.service.fleet()
    if word.isdecimal():
        found = next((item for item in all_items(fleet) if item.id == int(word)), None)
        if found is None:
            raise not_waiting(fleet, int(word))
        return found
    agent = meant(fleet, word)
    answer = [str(one) for one in ask.arguments.get("answer") or ()]
    if agent is None and answer and answer[0].isascii() and answer[0].isdecimal():
        again = shlex.join(["phoenixctl", "answer", answer[0], word, *answer[1:]])
        raise Problem("not_found", f"{word} is no number: the number stands before the answer", again)
    if agent is None:
        if word in VERDICTS:
            raise _no_number(word)
        raise problems.absent(fleet, word, ask.service.now(), ask.known_names())
    whose = {shown(fleet, one) for one in asking(fleet, word)}
    items = [item for item in all_items(fleet) if item.agent in whose]
    asked = [item for item in items if item.kind in ASKS] or items
    if not asked:
        raise Problem("not_found", f"nothing of {word} waits for a person", f"phoenixctl inbox {word} --closed")
    if len(asked) > 1:
        each = "; ".join(f"#{item.id} {item.kind}: {title(item)}" for item in asked)
        raise Problem("conflict", f"{len(asked)} things of {word} wait: {each}", f"phoenixctl answer {asked[0].id}")
    return asked[0]


def _no_number(verdict: str) -> Problem:
    why = f"the number is missing, which stands before the answer: phoenixctl answer NUMBER {verdict}"
    return Problem("not_found", why, "phoenixctl inbox")


async def since(ask: Ask) -> Reply:
    now = ask.service.now()
    words = str(ask.arguments["time"])
    start = await _start(ask, words, f"phoenixctl since {meant_past(words)}")
    digest = await ask.chronicle.digest(start)
    if ask.arguments["look"]:
        await ask.chronicle.look(ask.caller.uid, now.wall)
    begins, fleet = await ask.chronicle.begins(start), ask.service.fleet()
    stretch = Stretch(
        digest, now.wall, all_items(fleet), begins, running_again(digest, fleet), ask.chronicle.seen(ask.caller.uid),
        pressing(fleet.alerts),
    )  # fmt: skip
    return Reply(history_document.stretch(stretch), lambda here: text_history.since(stretch, here, words))


async def list_events(ask: Ask) -> Reply:
    arguments, agent = ask.arguments, ask.arguments["agent"]
    whose = ask.written_by(str(agent)) if agent is not None else rows_of(ask)
    words = arguments["since"]
    remedy = f"phoenixctl events --since {meant_past(str(words))}"
    start = await _start(ask, words, remedy) if words is not None else None
    after, before = arguments["after"], arguments["before"]
    lines = arguments["limit"] or arguments["lines"] or (LISTED if start is None else text_events.MOST_SHOWN)
    # A page after a row begins there; any other is the newest one, or the one that ends before a row.
    newest = (start is None and after is None) or arguments["lines"] is not None or before is not None
    # One row more than is shown tells whether any was left out.
    rows = await ask.service.journal.read(
        agent=whose,
        after=after or 0,
        before=before,
        since_wall=start,
        limit=lines + 1,
        newest=newest,
        story=is_story(ask),
    )
    is_cut = len(rows) > lines
    rows = rows[-lines:] if newest else rows[:lines]
    told = [representation.event(row) for row in rows]
    body = {"events": told, "next": rows[-1].seq if rows else after or 0}
    asked = _asked(ask, since=words if newest else None)
    left_out = text_events.LeftOut(asked, lines, is_older=newest) if is_cut else None
    gone = removal.sentence(ask.service.fleet(), str(agent), ask.service.now()) if agent is not None else None
    called = partial(known_as, ask.service.fleet())
    return Reply(
        body, lambda here: text_events.events(rows, here, agent=agent, gone=gone, left_out=left_out, called=called)
    )


def _asked(ask: Ask, since: str | None) -> str:
    """The command that asks for these events, but for their number."""
    whom = str(ask.arguments["agent"] or ask.arguments["select"] or "").split()
    options = [*([] if is_story(ask) else ["--all"]), *([] if since is None else ["--since", since])]
    return " ".join(["phoenixctl events", *map(shlex.quote, (*whom, *options))])


def is_story(ask: Ask) -> bool:
    """Whether only rows of the story are asked for."""
    return (ask.arguments["weight"] or ("detail" if ask.arguments["all"] else "story")) == "story"


async def list_lives(ask: Ask) -> Reply:
    names = ask.written_by(ask.name)
    found = await ask.service.journal.lives((names,) if isinstance(names, str) else names, ask.arguments["limit"])
    return Reply({"name": ask.name, "lives": [representation.life(one) for one in found]}, said(""))


async def explain_agent(ask: Ask) -> Reply:
    agent, row = ask.agent(), ask.row()
    lines = ask.arguments["lines"] or EXPLAINED
    opening = await _opening(ask, agent)
    rows = await ask.service.journal.read(agent=ask.written_by(ask.name), limit=lines, newest=True)
    decisions = [stored for stored in rows if stored.entry.reason]
    if opening is not None:
        later = [stored for stored in decisions if stored.seq > opening.seq]
        decisions = [opening, *later[-(lines - 1) :]] if lines > 1 else [opening]
    before = await _before(ask, agent, decisions[0].seq) if decisions else []
    case = ask.service.fleet().cases.standing_of(agent.name)
    body = {
        "agent": representation.agent(row, ask.service.loops(ask.name)),
        "last_exit": representation.last_exit(agent),
        "incident": representation.incident(agent),
        "decisions": [representation.event(stored) for stored in decisions],
        "looks": agent.looks,
        "before": representation.event(before[0]) if before else None,
        "case": case.id if case is not None else None,
    }
    is_job = bool(agent.crashes) and restart.may_be_a_job(agent.spec, agent.last_exit)
    is_counted = isinstance(agent.state, Quarantined) and agent.state.counted and not agent.hooks_seen
    asks = is_counted and restart.may_ask_for_more(agent.spec, agent.last_exit)

    def shown_on(here: Page) -> str:
        hints = {"may_be_a_job": is_job, "may_ask_for_more": asks}
        return text_history.explain(row, decisions, here, agent.incident, agent.looks, before, case=case, **hints)

    return Reply(body, shown_on)


async def read_pane(ask: Ask) -> Reply:
    has_terminal(ask)
    captured = await captured_of(ask, ask.arguments["lines"] or PANE_LINES)
    # A thread, because ten thousand lines take their time, and nobody else is to wait for it.
    shown = await asyncio.to_thread(pane_text, captured)
    body = {"name": ask.name, "text": shown}
    empty = f"the terminal of {ask.name} shows nothing. See: phoenixctl status {ask.name}"
    return Reply(body, (lambda _: shown) if shown.strip() else said(empty))


async def captured_of(ask: Ask, lines: int) -> str:
    """The end of what its terminal shows; raises Problem where that is gone with the terminal server."""
    try:
        return await ask.service.pane(ask.name, lines)
    except NoTerminal:
        if isinstance(ask.agent().state, Live):
            raise
        why = f"{ask.name} has no terminal now: what it left went when the tmux server ended"
        raise Problem("not_found", why, f"phoenixctl start {ask.name}") from None


def has_terminal(ask: Ask) -> None:
    """Raise Problem where the agent never began, so that there is no terminal of it to be read."""
    agent = ask.agent()
    if not agent.has_begun:
        # Where a start has failed, another one would as well: why comes first.
        verb = "start" if agent.last_exit is None else "explain"
        raise Problem("not_found", f"{ask.name} has no terminal: it never began", f"phoenixctl {verb} {ask.name}")


async def doctor(ask: Ask) -> Reply:
    # An agent is not told what lies where it may not look itself.
    path = str(ask.arguments["path"]) if ask.caller.role >= Role.OPERATE else ""
    findings = await ask.service.doctor(path)
    code = exits.CONDITION if any(finding.level == "problem" for finding in findings) else exits.OK
    body = {"findings": [representation.finding(found) for found in findings]}
    everything = bool(ask.arguments["all"])
    return Reply(body, lambda here: text_findings.doctor(findings, here, everything=everything), code)


async def plan(ask: Ask) -> Reply:
    found = await ask.service.plan()
    again = anew(ask.service.facts().again)
    return Reply(representation.planned(found), lambda here: text_agent.plan(found, here, done=False, again=again))


async def heartbeat_show(ask: Ask) -> Reply:
    row, file = ask.row(), await ask.service.heartbeat(ask.name)
    body = {
        "name": row.name,
        "last_evidence": rfc3339(row.last_evidence),
        "age": row.evidence_age,
        "hooks": row.hooks,
        "file": dict(file) if file is not None else None,
    }
    return Reply(body, lambda here: text_agent.heartbeat(row, file, here))


async def list_breakers(ask: Ask) -> Reply:
    fleet, names = ask.service.fleet(), chosen(ask)
    agents = [one for one in fleet.agents.values() if not is_other(fleet, one) and has_breaker(one)]
    agents = [one for one in agents if names is None or shown(fleet, one) in names]
    agents = sorted((as_shown(fleet, one) for one in agents), key=lambda one: one.name)
    body = {"agents": [representation.breaker(one) for one in agents]}
    code = exits.CONDITION if any(isinstance(one.breaker, Open) for one in agents) else exits.OK
    return Reply(body, lambda here: text_agent.breakers(agents, here), code)


async def breaker_show(ask: Ask) -> Reply:
    ask.agent()
    await ask.service.look_at_breaker(ask.name)
    agent = as_shown(ask.service.fleet(), ask.agent())
    code = exits.CONDITION if isinstance(agent.breaker, Open) else exits.OK
    return Reply(representation.breaker(agent), lambda here: text_agent.breaker(agent, here), code)


async def version(ask: Ask) -> Reply:
    facts = ask.service.facts()
    directories = {"state": facts.state, "runtime": facts.runtime, "configuration": facts.configuration}
    body = {"version": facts.version, "api": API, "pid": facts.pid, "directories": directories}
    return Reply(body, said(f"phoenixd {facts.version}, pid {facts.pid}"))


async def health(ask: Ask) -> Reply:
    return Reply({"ok": True}, said("ok"))


async def _start(ask: Ask, words: str, remedy: str) -> float:
    now = ask.service.now().wall
    if words == "last":
        return await ask.chronicle.last_look(ask.caller.uid, now)
    try:
        return parse_past(words, now, ask.zone)
    except ValueError as error:
        raise Problem("invalid", str(error), remedy) from None


async def _opening(ask: Ask, agent: Agent) -> StoredEntry | None:
    """The row that opened the state in which the agent is, however long ago; None where the journal has lost it."""
    rows = await ask.service.journal.read(agent=agent.name, since_wall=agent.since_wall, limit=OPENING_ROWS)
    return opening(agent, rows)


async def _before(ask: Ask, agent: Agent, seq: int) -> list[StoredEntry]:
    """The end of a run, or the order, that led to the state which a row opened, with what else was decided at that
    moment, such as why no handoff begins; empty where it is long ago."""
    rows = await ask.service.journal.read(agent=agent.name, limit=BEFORE_ROWS, newest=True, story=True)
    led = [
        row for row in rows if row.seq < seq and any(isinstance(fact, RunEnded | Ordered) for fact in row.entry.facts)
    ]
    beside = [row for row in rows if led and led[-1].seq < row.seq < seq and _is_beside(row.entry, led[-1].entry)]
    return [*led[-1:], *beside]


def _is_beside(other: Entry, first: Entry) -> bool:
    """Whether a row tells of the same event, and opens no state."""
    opens = any(isinstance(fact, StateOpened) for fact in other.facts)
    return not opens and (other.event, other.wall) == (first.event, first.wall)
