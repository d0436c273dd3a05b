"""What an agent did and used: its turns and its context; its screen; how what waited for a person ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Set

from phoenixd.api import representation
from phoenixd.api.closed_items import KEPT, ClosedItem, Closing
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages import past as pages
from phoenixd.api.pages.inbox import inbox as inbox_page
from phoenixd.api.pages.pane import pane_text
from phoenixd.api.problems import Problem
from phoenixd.api.times import parse_past, rfc3339
from phoenixd.core import selection
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.alerts import next_command
from phoenixd.core.fleet import Fleet
from phoenixd.core.inbox import inbox
from phoenixd.core.meter.reading import WORDING
from phoenixd.core.mutes.state import ends_at, standing
from phoenixd.core.projection import project
from phoenixd.core.seat.finding import shown, written_by
from phoenixd.core.selection import Selector, Subject
from phoenixd.core.subjects import subjects

PAGE_ROWS = 1000
MOST_PAGES = 50
"""Pages of rows in which is looked for what has ended: of a busier week the newest part."""
PANE_LINES = 200


async def list_items(ask: Ask) -> Reply:
    names, number = chosen(ask), ask.arguments["item"]
    several = {int(one) for one in str(ask.arguments["numbers"] or "").split(",") if one}
    wanted = {number} if number is not None else several
    if ask.arguments["state"] == "open":
        found = [one for one in open_items(ask, names) if not wanted or one.id in wanted]
        items = found[-int(ask.arguments["limit"]) :]
        _have_all(several - {one.id for one in found}, lambda one: not_waiting(ask.service.fleet(), one))
        body = {"state": "open", "items": [representation.item(one) for one in items], "closed": []}
        muted = muted_until(ask)
        return Reply(body, lambda here: inbox_page(items, here, muted=muted))
    closing = await _closed(ask, names, wanted, int(ask.arguments["limit"]))
    _have_all(wanted - closing.found.keys(), lambda one: _not_closed(ask, one))
    ended = [closing.found[one] for one in sorted(wanted)] or closing.newest(int(ask.arguments["limit"]))
    told = {"state": "closed", "items": [], "closed": [_closed_item(one) for one in ended]}
    return Reply(told, lambda here: pages.closed(ended, here) if number is None else pages.closed_one(ended[0], here))


def _have_all(missing: Set[int], why: Callable[[int], Problem]) -> None:
    if missing:
        raise why(min(missing))


def not_waiting(fleet: Fleet, number: int) -> Problem:
    """Why nothing is told of an open item."""
    of_nobody = next((one for one in fleet.alerts if one.id == number), None)
    if of_nobody is not None:
        why = f"#{number} is of no agent, and takes no answer: {of_nobody.kind}: {of_nobody.text}"
        return Problem("not_found", why, next_command(of_nobody.kind, None))
    if 0 < number < fleet.next_item:
        why = f"nothing waits under #{number}: it was answered, or is gone"
        return Problem("not_found", why, f"phoenixctl inbox {number} --closed")
    return Problem("not_found", f"nothing waits under #{number}: that number was never given", "phoenixctl inbox")


def _not_closed(ask: Ask, number: int) -> Problem:
    if any(one.id == number for one in inbox(ask.service.fleet())):
        return Problem("not_found", f"#{number} has not ended: it waits", f"phoenixctl inbox {number}")
    why = f"nothing that ended within 7 days has the number {number}"
    return Problem("not_found", why, "phoenixctl inbox --closed")


def open_items(ask: Ask, names: frozenset[str] | None) -> tuple[InboxItem, ...]:
    """What waits, of these agents or of all."""
    items = inbox(ask.service.fleet())
    return items if names is None else tuple(one for one in items if one.agent in names)


def muted_until(ask: Ask) -> dict[str, float]:
    """Of each agent that is muted, by the name that people know it by, until when (wall)."""
    fleet, now = ask.service.fleet(), ask.service.now()
    found = ((shown(fleet, one), standing(fleet.mutes, one.spec, now)) for one in fleet.agents.values())
    return {name: ends_at(mute, now) for name, mute in found if mute is not None}


def chosen(ask: Ask) -> frozenset[str] | None:
    """The agents that `select` takes now; None for all. A name that is not there, and nothing at all, are refused."""
    selector = ask.selector()
    if selector is None:
        return None
    return frozenset(ask.choose(selector, subjects(project(ask.service.fleet(), ask.service.now()))))


def nameable(ask: Ask, selector: Selector) -> list[Subject]:
    """Whom a selector can mean in the journal: all agents, and generations that it names, also those that are gone."""
    fleet = ask.service.fleet()
    known = subjects(project(fleet, ask.service.now()))
    there = {one.name for one in known}
    named = (name for name in selector.names if name not in there and written_by(fleet, name) is not None)
    return [*known, *map(selection.named, named)]


def rows_of(ask: Ask) -> tuple[str, ...] | None:
    """Under which names the journal has what is told of those that `select` takes; of a generation its own rows."""
    selector = ask.typed()
    if selector is None:
        return None
    return written_of(ask, frozenset(ask.choose(selector, nameable(ask, selector))))


def written_of(ask: Ask, names: frozenset[str] | None) -> tuple[str, ...] | None:
    """Under which names the journal has what is told of these agents; None for all."""
    if names is None:
        return None
    found: list[str] = []
    for name in sorted(names):
        written = written_by(ask.service.fleet(), name) or name
        found += (written,) if isinstance(written, str) else written
    return tuple(found)


async def has_ended(ask: Ask, number: int) -> Problem | None:
    """Why an answer to what has ended comes too late: by whom and how that ended. None where that is not known."""
    if number >= ask.service.fleet().next_item:
        return None
    ended = (await _closed(ask, None, {number})).found.get(number)
    if ended is None:
        return None
    by = f"{ended.by} ended it" if ended.by is not None else "nobody answered it from afar"
    return Problem("conflict", f"#{number} waits no more; {by}: {ended.how}", f"phoenixctl inbox {number} --closed")


async def _closed(ask: Ask, names: frozenset[str] | None, numbers: Set[int], limit: int = 0) -> Closing:
    """What the rows tell, as far back as is asked for. numbers: the items that are asked for; empty for any `limit`."""
    closing, before, written = Closing(), None, written_of(ask, names)
    since = ask.service.now().wall - KEPT
    for _ in range(MOST_PAGES):
        rows = await ask.service.journal.read(
            agent=written, newest=True, limit=PAGE_ROWS, story=True, since_wall=since, before=before
        )
        closing.hear(rows)
        if len(rows) < PAGE_ROWS or _is_enough(closing, numbers, limit):
            break
        before = rows[0].seq
    return closing


def _is_enough(closing: Closing, numbers: Set[int], limit: int) -> bool:
    if not numbers:
        return len(closing.found) >= 4 * limit
    return all(one in closing.found and closing.found[one].opened is not None for one in numbers)


async def show_usage(ask: Ask) -> Reply:
    names = ask.written_by(ask.name)
    words, since = ask.arguments["since"], None
    if words is not None:
        try:
            since = parse_past(str(words), ask.service.now().wall, ask.zone)
        except ValueError as error:
            raise Problem("invalid", str(error), "GET /v1/agents/NAME/usage?since=8h") from None
    found = await ask.service.journal.usage(
        (names,) if isinstance(names, str) else names, since, int(ask.arguments["limit"])
    )
    samples = [
        {
            "at": rfc3339(one.wall), "agent": one.agent, "incarnation": one.incarnation, "session_id": one.session_id,
            "tokens": one.tokens, "limit": one.limit, "source": one.source,
        }
        for one in found
        if one.source != WORDING
    ]  # fmt: skip
    spent = [
        {"at": rfc3339(one.wall), "agent": one.agent, "handoff": one.session_id, "tokens": one.tokens}
        for one in found
        if one.source == WORDING
    ]
    return Reply({"name": ask.name, "samples": samples, "spent": spent}, said(""))


async def list_turns(ask: Ask) -> Reply:
    ask.agent()
    turns = await ask.service.turns(ask.name, int(ask.arguments["limit"]))
    told = [
        {
            "started": rfc3339(one.started), "ended": rfc3339(one.ended), "how": one.how, "prompt": one.prompt,
            "prompts": one.prompts, "tools": [{"name": name, "calls": calls} for name, calls in one.tools],
            "failed_calls": one.failed, "tokens": one.tokens, "output": one.output,
        }
        for one in turns
    ]  # fmt: skip
    return Reply({"name": ask.name, "turns": told}, lambda here: pages.turns(ask.name, turns, here))


async def read_screen(ask: Ask) -> Reply:
    ask.agent()
    lines, ansi = ask.arguments["lines"] or PANE_LINES, bool(ask.arguments["ansi"])
    captured = await ask.service.screen(ask.name, lines) if ansi else await ask.service.pane(ask.name, lines)
    # A thread, because ten thousand lines take their time, and nobody else is to wait for it.
    shown = captured if ansi else await asyncio.to_thread(pane_text, captured)
    return Reply({"name": ask.name, "ansi": ansi, "text": shown}, said(""))


def _closed_item(one: ClosedItem) -> representation.Json:
    return {
        "id": one.id,
        "agent": one.agent,
        "kind": one.kind,
        "text": one.text,
        "opened": rfc3339(one.opened),
        "closed": rfc3339(one.closed),
        "by": one.by,
        "how": one.how,
        "row": one.row,
    }
