"""Alerts on their way to the operator: a log line each, and the routes that are configured.

`tell` only puts a message into each route's outbox, so a route that hangs delays nothing but itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Protocol

import anyio
import structlog

from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.alerts import needs_person_kind, next_command
from phoenixd.core.unheard import Numbered, Unheard
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact
from phoenixd.documents.times import timestamp

VERSION = 1
TEXT_LIMIT = 1000
BURST, REFILL = 20, 180.0
"""Alerts of one agent that are sent at once, and seconds until there may be one more. An agent asks as often as it
likes, and a person who is told of everything is told of nothing."""
LAST_WORD = " (this agent raises many alerts: more are held back for a while, see phoenixctl inbox)"
MOST_HELD_BACK = 1000

log = structlog.get_logger("phoenixd.notify")


@dataclass(frozen=True, slots=True)
class Message:
    """One word to the operator, as every route sends it: a line of JSON.

    tells: the alerts that are told with it, by the names that they bear and their numbers. The end of one tells none.
    """

    id: int
    state: str
    kind: str
    body: bytes
    tells: tuple[Numbered, ...] = ()


Settled = Callable[[Message, str | None], None]
"""Hears that a message was told, or why it was not, for good."""
Judged = Callable[[str, str | None], None]
"""Hears of each message which route had it, and why it was not told by that, for good; None where it was."""


Heard = Callable[[str, tuple[Numbered, ...], str | None], None]
"""Hears which alerts a route has told with a message, or why it has not, for good."""
LeftOut = Callable[[str, tuple[Numbered, ...], str], None]
"""Hears which alerts a route is not to tell, and why."""


def unjudged(route: str, problem: str | None) -> None:
    """Nobody asks."""


class Route(Protocol):
    """One way to the operator. name: what it is called; mark: what tells it from another one of that name.

    settled: called with each message that was offered, once.
    """

    name: str
    mark: str
    settled: Settled

    @property
    def fails(self) -> bool:
        """Whether its newest message was not told, for good."""
        ...

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing waits for it, and nothing is being told."""
        ...

    def offer(self, message: Message) -> None:
        """Take a message to be sent; never waits."""
        ...

    async def run(self) -> None:
        """Send for ever; what fails is logged, never raised."""
        ...


def mark(*words: str) -> str:
    """What tells a way from another one, and tells nobody its address, which can be a secret."""
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Notifier:
    """Implements ports.Notifier. wall: the time at which an alert is found to be over."""

    def __init__(self, routes: Sequence[Route], wall: Callable[[], float]) -> None:
        self._routes = tuple(routes)
        self._wall = wall
        self.hear: Heard = lambda way, tells, problem: None
        self.leave_out: LeftOut = lambda way, tells, why: None
        self._offered: dict[str, set[int]] = {route.name: set() for route in routes}
        """The alerts that stand and were given to a route, by its name, but for those that it could not tell."""
        for route in self._routes:
            route.settled = partial(self._settled, route)
        self._budgets: dict[str, tuple[float, float]] = {}
        self._held_back: dict[int, str] = {}
        """The agents of alerts that were raised too soon after many others of the same agent, by their numbers."""
        self._spared: dict[int, tuple[Route, ...]] = {}
        """The routes that are not told of an alert that they themselves are about, by its number."""

    def tell(self, word: Alert | Reassure) -> None:
        now = self._wall()
        told = describe(word, now)
        event = "alert" if isinstance(word, Alert) else "alert_over"
        say = log.warning if isinstance(word, Alert) else log.info
        muted = {"muted": True} if word.held else {}
        say(event, **{key: told[key] for key in ("id", "agent", "kind", "text", "why") if told[key]}, **muted)
        tells = ((word.agent, word.id),) if isinstance(word, Alert) else ()
        if not self._is_sent(word, told, now):
            return
        spared = self._spares(word)
        for route in self._routes:
            if route not in spared:
                self._offer(route, word, told, tells)
            elif tells:
                self.leave_out(route.name, tells, "it is about that very way")
        if isinstance(word, Reassure):
            for offered in self._offered.values():
                offered.discard(word.id)

    @property
    def ways(self) -> dict[str, str]:
        """The name and the mark of each route."""
        return {route.name: route.mark for route in self._routes}

    def offered(self, way: str) -> Collection[int]:
        """The numbers of the alerts that this way was given, and may have told by now, or that are held back as yet."""
        return self._offered[way] | self._held_back.keys()

    def let_go(self) -> bool:
        """Hold one alert of each agent back no longer that may be sent one more by now; whether there was any."""
        now = self._wall()
        free = [number for number, agent in self._held_back.items() if self._takes_place(agent, now) is not None]
        for number in free:
            del self._held_back[number]
        return bool(free)

    def is_at_rest(self, way: str) -> bool:
        """Whether nothing waits for this way, and nothing is being told by it."""
        return all(route.is_at_rest for route in self._routes if route.name == way)

    def tell_late(self, way: str, late: Unheard) -> None:
        """Tell one way what stands and waits for it."""
        now, last = self._wall(), len(late.alerts) - 1
        for route in self._routes:
            if route.name != way:
                continue
            for place, word in enumerate(late.alerts):
                tells = ((word.agent, word.id), *(late.counted if place == last else ()))
                self._offer(route, word, describe(word, now), tells)
            log.info("alerts_told_late", route=way, count=len(late.alerts), more=len(late.counted))

    def _offer(self, route: Route, word: Alert | Reassure, told: dict[str, Any], tells: tuple[Numbered, ...]) -> None:
        self._offered[route.name].update(number for _, number in tells)
        route.offer(Message(word.id, told["state"], word.kind, json.dumps(told).encode() + b"\n", tells))

    def _settled(self, route: Route, message: Message, problem: str | None) -> None:
        if problem is not None:
            self._offered[route.name].difference_update(number for _, number in message.tells)
        self.hear(route.name, message.tells, problem)

    def _spares(self, word: Alert | Reassure) -> tuple[Route, ...]:
        """Of what cannot be told by a route, that route is told neither the beginning nor the end."""
        if isinstance(word, Reassure):
            return self._spared.pop(word.id, ())
        if word.kind != NOT_TOLD:
            return ()
        self._spared[word.id] = tuple(route for route in self._routes if route.fails)
        return self._spared[word.id]

    def _is_sent(self, word: Alert | Reassure, told: dict[str, Any], now: float) -> bool:
        """Whether the operator is to hear of it; the log does in any case. The end of what was sent is sent too."""
        if word.held:
            return False
        if isinstance(word, Reassure):
            return self._held_back.pop(word.id, None) is None
        if word.agent is None:
            return True
        left = self._takes_place(word.agent, now)
        if left is None:
            self._held_back[word.id] = word.agent
            if len(self._held_back) > MOST_HELD_BACK:
                del self._held_back[next(iter(self._held_back))]
            return False
        if left < 1:
            told["text"] += LAST_WORD
        return True

    def _takes_place(self, agent: str, now: float) -> float | None:
        """Count one more alert of an agent; how many more there may be then. None where it is one too many."""
        left, at = self._budgets.get(agent, (float(BURST), now))
        left = min(float(BURST), left + max(0.0, now - at) / REFILL)
        is_free = left >= 1
        self._budgets[agent] = left - 1 if is_free else left, now
        return left - 1 if is_free else None

    async def run(self) -> None:
        """Serve the routes for ever."""
        async with anyio.create_task_group() as tasks:
            for route in self._routes:
                tasks.start_soon(route.run)


def _answer(word: Alert | Reassure) -> int:
    """The number by which it can be answered from afar."""
    return word.id if isinstance(word, Alert) and word.answerable else 0


def describe(word: Alert | Reassure, now: float) -> dict[str, Any]:
    """The JSON object that routes send. Texts can be an agent's words: one line, without secrets and control bytes."""
    is_over = isinstance(word, Reassure)
    return {
        "version": VERSION,
        "id": word.id,
        "state": "over" if is_over else "raised",
        "agent": word.agent,
        "kind": word.kind,
        "text": one_line(redact(word.text), TEXT_LIMIT),
        "needs_you": needs_person_kind(word.kind),
        "raised_at": timestamp(word.raised_wall),
        "over_at": timestamp(now) if is_over else None,
        "why": one_line(redact(word.why), TEXT_LIMIT) if isinstance(word, Reassure) else "",
        "next": next_command(word.kind, word.agent, _answer(word), word.about if isinstance(word, Alert) else ()),
    }
