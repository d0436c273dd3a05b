"""Alerts on their way to the operator: a log line each, and the routes that are configured.

`tell` only puts a message into each route's outbox, so a route that hangs delays nothing but itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import structlog

from phoenixd.core.actions import Alert, Reassure
from phoenixd.core.alerts import needs_person_kind, next_command
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import redact
from phoenixd.documents.times import timestamp

VERSION = 1
TEXT_LIMIT = 1000

log = structlog.get_logger("phoenixd.notify")


@dataclass(frozen=True, slots=True)
class Message:
    """One word to the operator, as every route sends it: a line of JSON."""

    id: int
    state: str
    kind: str
    body: bytes


class Route(Protocol):
    """One way to the operator."""

    def offer(self, message: Message) -> None:
        """Take a message to be sent; never waits."""
        ...

    async def run(self) -> None:
        """Send for ever; what fails is logged, never raised."""
        ...


class Notifier:
    """Implements ports.Notifier. wall: the time at which an alert is found to be over."""

    def __init__(self, routes: Sequence[Route], wall: Callable[[], float]) -> None:
        self._routes = tuple(routes)
        self._wall = wall

    def tell(self, word: Alert | Reassure) -> None:
        told = describe(word, self._wall())
        event = "alert" if isinstance(word, Alert) else "alert_over"
        say = log.warning if isinstance(word, Alert) else log.info
        say(event, **{key: told[key] for key in ("id", "agent", "kind", "text", "why") if told[key]})
        message = Message(word.id, told["state"], word.kind, json.dumps(told).encode() + b"\n")
        for route in self._routes:
            route.offer(message)

    async def run(self) -> None:
        """Serve the routes for ever."""
        async with anyio.create_task_group() as tasks:
            for route in self._routes:
                tasks.start_soon(route.run)


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
        "next": next_command(word.kind, word.agent),
    }
