"""All agents at once: as text for people, and in JSON as the feed has them, whole or what changed since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from phoenixd.api import representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.feed.ledger import Json, subject_of
from phoenixd.api.feed.live import Feed
from phoenixd.api.handlers.past import written_of
from phoenixd.api.history import running_again
from phoenixd.api.pages import status as text
from phoenixd.api.problems import Problem
from phoenixd.core import projection
from phoenixd.core.decision import Refusal
from phoenixd.core.glance import Seen, glances, whole
from phoenixd.core.selection import Selector, choose

CURSOR = re.compile(r"([0-9a-f]{16})-([0-9]{1,18})-([0-9]{1,18})")


async def list_agents(ask: Ask) -> Reply:
    selector = ask.selector()
    if ask.wants_text or ask.feed is None:
        return await _page(ask, selector)
    await ask.service.look_at_terminals()
    await ask.feed.begin()
    ask.feed.refresh(everyone=True)
    if ask.arguments["look"]:
        await ask.chronicle.look(ask.caller.uid, ask.service.now().wall)
    body = _rows(ask, ask.feed, selector) if ask.arguments["after"] is None else _changed(ask, ask.feed, selector)
    return Reply(body, said(""), etag=f'"{ask.feed.cursor}"')


async def follow_feed(ask: Ask) -> Reply:
    """The same in one document, for who does not follow."""
    assert ask.feed is not None
    feed, selector = ask.feed, ask.selector()
    await ask.service.look_at_terminals()
    await feed.begin()
    feed.refresh(everyone=True)
    agents = _taken(feed.ledger.bodies("agent"), selector)
    names = {body["name"] for body in agents}
    items, alerts = (
        [body for body in feed.ledger.bodies(kind) if selector is None or body["agent"] in names]
        for kind in ("item", "alert")
    )
    body = {"as_of": feed.as_of, "cursor": feed.cursor, "agents": agents, "items": items, "alerts": alerts}
    return Reply(body, said(""), etag=f'"{feed.cursor}"')


async def _page(ask: Ask, selector: Selector | None) -> Reply:
    service, now = ask.service, ask.service.now()
    fleet, everyone = service.fleet(), bool(ask.arguments["all"])
    known = ask.feed.glances if ask.feed is not None else None
    is_glance = ask.wants_text and selector is None and not everyone
    rows: Sequence[Seen] = glances(fleet, now, service.sight, known) if is_glance else _rows_of(ask, selector)
    start = await ask.chronicle.last_look(ask.caller.uid, now.wall)
    names = written_of(ask, frozenset(row.name for row in rows)) if selector is not None else None
    digest = await (ask.chronicle.digest(start) if names is None else ask.chronicle.digest_of(start, names))
    # A look at some agents has not shown what happened to the others.
    if ask.arguments["look"] and selector is None:
        await ask.chronicle.look(ask.caller.uid, now.wall)
    row = whole(fleet, now, service.sight)
    return Reply(
        lambda: representation.status(map(row, rows), service.facts(), service.loops),
        lambda here: text.status(
            rows,
            service.facts(),
            digest,
            here,
            everyone=everyone,
            stale=service.stale_loops(one.name for one in rows),
            whole=row,
            running_again=running_again(digest, service.fleet()),
        ),
    )


def _rows_of(ask: Ask, selector: Selector | None) -> Sequence[projection.Row]:
    """The rows of the agents that were asked for."""
    service = ask.service
    rows = projection.project(service.fleet(), service.now(), service.sight)
    if selector is None:
        return rows
    names = _chosen(selector, [representation.agent(row, service.loops(row.name)) for row in rows])
    return [row for row in rows if row.name in names]


def _rows(ask: Ask, feed: Feed, selector: Selector | None) -> Json:
    bodies = _sorted(feed.ledger.bodies("agent"))
    if selector is not None:
        names = _chosen(selector, bodies)
        bodies = [body for body in bodies if body["name"] in names]
    return {"agents": bodies, "daemon": representation.daemon(ask.service.facts())}


def _changed(ask: Ask, feed: Feed, selector: Selector | None) -> Json:
    """What changed after a cursor that an earlier answer gave; all, where that is not known."""
    words = str(ask.arguments["after"])
    found = CURSOR.fullmatch(words)
    if words and found is None:
        said_wrong = "after is no cursor: it is what an answer called so, or empty to begin"
        raise Problem("invalid", said_wrong, "GET /v1/agents?after=")
    changes = feed.changes(int(found[3])) if found is not None and found[1] == feed.boot else None
    if changes is None:
        bodies, gone = feed.ledger.bodies("agent"), []
    else:
        told = [change for change in changes if change.event in ("agent", "gone")]
        bodies = [change.body for change in told if change.event == "agent"]
        gone = [change.key for change in told if change.event == "gone"]
    taken = _taken(bodies, selector)
    kept = {body["name"] for body in taken}
    gone += [body["name"] for body in bodies if body["name"] not in kept] if changes is not None else []
    return {
        "agents": taken,
        "daemon": representation.daemon(ask.service.facts()),
        "as_of": feed.as_of,
        "cursor": feed.cursor,
        "whole": changes is None,
        "gone": sorted(gone),
    }


def _taken(bodies: Sequence[Json], selector: Selector | None) -> list[Json]:
    return _sorted(body for body in bodies if selector is None or selector.takes(subject_of(body)))


def _sorted(bodies: Iterable[Json]) -> list[Json]:
    return sorted(bodies, key=lambda body: str(body["name"]))


def _chosen(selector: Selector, bodies: Sequence[Json]) -> frozenset[str]:
    """The agents that a person means; nothing is refused, with how many there are."""
    found = choose(selector, map(subject_of, bodies))
    if isinstance(found, Refusal):
        raise Problem("not_found" if found.code == "not_found" else "invalid", found.message, found.remedy)
    return frozenset(found)
