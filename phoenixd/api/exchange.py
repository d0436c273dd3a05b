"""A question and its answer, without HTTP: what handlers get, and what they return in JSON and in text."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Protocol

from phoenixd.api import exits, problems
from phoenixd.api.arguments import Arguments
from phoenixd.api.pages.layout import SET_IN, UNCUT, Page, page, page_columns, wrap
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Caller
from phoenixd.api.zones import zone_of
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Refusal
from phoenixd.core.moment import Moment
from phoenixd.core.projection import Row, row_of
from phoenixd.core.seat.finding import as_said, is_gone, meant, shown, was_removed, written_by
from phoenixd.core.selection import Selector, Subject, choose, given, renamed

if TYPE_CHECKING:
    from phoenixd.api.chronicle import Chronicle
    from phoenixd.api.feed.live import Feed
    from phoenixd.api.service import Service

NARROWEST = 20
_WIDTH = re.compile(rb"(?:^|&)width=([0-9]{2,4})(?:&|$)")


class Once(Protocol):
    """See idempotency.IdempotentReplies.once."""

    async def __call__(
        self,
        key: str,
        request: tuple[bytes, ...],
        act: Callable[[], Coroutine[None, None, Reply]],
        *,
        another: Problem | None = None,
    ) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """One question: who asks, what for, and whom to ask. key: the Idempotency-Key, if one came. feed: what changes.

    once: does what is asked once for a key and a request of this caller (see idempotency); None: as often as asked.
    """

    service: Service
    chronicle: Chronicle
    caller: Caller
    arguments: Arguments
    key: str | None = None
    feed: Feed | None = None
    known: str | None = None
    """The ETag of what the caller has already."""
    wants_text: bool = False
    once: Once | None = None

    @property
    def name(self) -> str:
        """The agent that it is about."""
        return str(self.arguments["name"])

    @property
    def zone(self) -> tzinfo | None:
        """By which the times are meant that it says, and those that it is told in words."""
        return zone_of(self.arguments.get("zone"))

    def agent(self) -> Agent:
        """That agent, of a seat the generation that holds it; raises not_found."""
        fleet = self.service.fleet()
        found = meant(fleet, self.name)
        if found is None:
            raise problems.absent(fleet, self.name, self.service.now(), self.known_names())
        return found

    def selector(self) -> Selector | None:
        """Which agents are meant, None for all; raises invalid. The generation that holds a seat stands for it."""
        found, fleet = self.typed(), self.service.fleet()
        return renamed(found, lambda name: as_said(fleet, name)) if found is not None else None

    def typed(self) -> Selector | None:
        """The selector as it was typed."""
        words = self.arguments.get("select")
        if words is None:
            return None
        found = given(str(words))
        if isinstance(found, Refusal):
            raise Problem("invalid", found.message, found.remedy)
        return found

    def choose(self, selector: Selector, known: Iterable[Subject]) -> tuple[str, ...]:
        """The agents that a person means; a name that is not there, and nothing at all, raise Problem."""
        found, fleet = choose(selector, known), self.service.fleet()
        if isinstance(found, Refusal):
            left = next((name for name in selector.names if is_gone(fleet, name) or was_removed(fleet, name)), None)
            raise problems.absent(fleet, left, self.service.now()) if left is not None else problems.of_refusal(found)
        return found

    def row(self) -> Row:
        """That agent as it is now."""
        return self._row(self.agent())

    def row_if_any(self) -> Row | None:
        found = meant(self.service.fleet(), self.name)
        return self._row(found) if found is not None else None

    def _row(self, agent: Agent) -> Row:
        return row_of(self.service.fleet(), agent, self.service.now(), self.service.sight(agent))

    def known_names(self) -> list[str]:
        """The agents that there are, by the names that people use."""
        fleet = self.service.fleet()
        return [shown(fleet, agent) for agent in fleet.agents.values()]

    def written_by(self, name: str) -> str | tuple[str, ...]:
        """Under which names the journal has what is told of an agent; raises not_found."""
        found = written_by(self.service.fleet(), name)
        if found is None:
            raise problems.no_agent(name, self.known_names())
        return found


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. exit: what phoenixctl exits with. afterwards: called once the answer is on its way.

    The body may be a function where it costs something to make, and people mostly ask for the text.
    """

    body: dict[str, Any] | Callable[[], dict[str, Any]]
    text: Callable[[Page], str]
    exit: int = exits.OK
    status: int = 200
    afterwards: Callable[[], None] | None = None
    etag: str | None = None
    """What the body is of, for a caller that asks again."""
    is_final: bool = True
    """Whether the same Idempotency-Key gets this answer again; else asking again does what is left to be done."""


def here(arguments: Arguments, now: Moment) -> Page:
    """The page that the caller reads from."""
    columns = page_columns(int(arguments.get("width") or 80))
    zone, socket = zone_of(arguments.get("zone")), str(arguments.get("socket") or "")
    return Page(now.wall, columns, zone, bool(arguments.get("colour")), socket)


def width_in(query: bytes) -> Arguments:
    """The width that a query names, whatever else stands in it; nothing where it names none."""
    found = _WIDTH.search(query)
    return {"width": int(found[1])} if found is not None and NARROWEST <= int(found[1]) <= UNCUT else {}


def said(*sentences: str) -> Callable[[Page], str]:
    """Plain sentences as text, one paragraph each."""
    return lambda here: page(
        line for sentence in sentences for line in wrap(here.reaching(sentence), here.width, SET_IN)
    )
