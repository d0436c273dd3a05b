"""Mutes, alerts that were seen, and how far an operator has looked."""

from __future__ import annotations

import math

from phoenixd.api import representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.commands import act_of, order
from phoenixd.api.handlers.feeds import CURSOR
from phoenixd.api.pages.layout import Page
from phoenixd.api.problems import Problem
from phoenixd.api.times import rfc3339
from phoenixd.config.duration import format_duration
from phoenixd.core.durations import LENGTHS, MAX_DURATION, SHORTEST_MUTE
from phoenixd.core.events.fleet import AlertAcknowledged
from phoenixd.core.events.orders import MuteRequested, UnmuteRequested
from phoenixd.core.mutes.state import standing

LONGEST_ROW = 18
"""Digits of a row's number at most."""


async def mute_agent(ask: Ask) -> Reply:
    ask.agent()
    seconds = float(ask.arguments["for"])
    if not SHORTEST_MUTE <= seconds <= MAX_DURATION:
        raise Problem("invalid", LENGTHS, f"phoenixctl mute {ask.name} --for 1h")
    await order(ask, MuteRequested(ask.name, seconds, ask.caller.name, act_of(ask)))
    now = ask.service.now().wall
    until = Page(now, zone=ask.zone).start(now + seconds)
    words = f"{ask.name} is muted for {format_duration(seconds)}, until {until}: its alerts stand, and nobody is told"
    return _outcome(ask, f"{words}. See: phoenixctl status {ask.name}")


async def unmute_agent(ask: Ask) -> Reply:
    agent, fleet, now = ask.agent(), ask.service.fleet(), ask.service.now()
    is_muted = standing(fleet.mutes, agent.spec, now) is not None
    held = sum(one.held for one in agent.alerts)
    await order(ask, UnmuteRequested(ask.name, ask.caller.name, act_of(ask)))
    if not is_muted:
        return _outcome(ask, f"{ask.name} is not muted")
    told = f"; told now: {held} that {'was' if held == 1 else 'were'} held back" if held else ""
    return _outcome(ask, f"{ask.name} is not muted any more{told}")


async def ack_alert(ask: Ask) -> Reply:
    word = str(ask.arguments["id"])
    if not word.isdecimal():
        raise Problem("not_found", f"{word} is no alert: each has a number", "phoenixctl inbox")
    await order(ask, AlertAcknowledged(int(word), ask.caller.name))
    message = f"#{int(word)} is acknowledged: it stands, and is shown apart"
    return Reply({"message": message, "done": True}, said(message))


async def looked(ask: Ask) -> Reply:
    now, words = ask.service.now().wall, ask.arguments["upto"]
    row, wall = await _newest(ask, now) if words is None else await _row(ask, str(words))
    await ask.chronicle.saw(ask.caller.uid, wall)
    seen = await ask.chronicle.last_look(ask.caller.uid, now)
    body = {"uid": ask.caller.uid, "row": row, "at": rfc3339(seen)}
    then = "What happens from now on: phoenixctl since last"
    return Reply(body, lambda here: f"seen up to {here.clock(seen)}. {here.reaching(then)}\n")


async def _newest(ask: Ask, now: float) -> tuple[int, float]:
    rows = await ask.service.journal.read(newest=True, limit=1)
    return (rows[-1].seq if rows else 0), now


async def _row(ask: Ask, words: str) -> tuple[int, float]:
    """A row's number, and from when on the rows are that come after it; none of those is ever left out."""
    cursor = CURSOR.fullmatch(words)
    number = cursor[2] if cursor is not None else words
    if not (number.isascii() and number.isdecimal() and len(number) <= LONGEST_ROW):
        why = f"{words[:40]!r} is neither the number of an event nor the cursor of an answer"
        raise Problem("invalid", why, "phoenixctl looked")
    rows = await ask.service.journal.read(after=max(0, int(number) - 1), limit=2)
    if not rows or rows[0].seq != int(number):
        raise Problem("invalid", f"the journal has no row {number}", "phoenixctl looked")
    wall = rows[0].entry.wall
    is_alone = len(rows) < 2 or rows[1].entry.wall > wall
    return int(number), math.nextafter(wall, math.inf) if is_alone else wall


def _outcome(ask: Ask, message: str) -> Reply:
    row = ask.row_if_any()
    told = representation.agent(row, ask.service.loops(ask.name)) if row is not None else None
    return Reply({"agent": told, "done": True, "message": message}, said(message))
