"""Notices what changes, for all followers together; where none follows and none asks, a turn costs a set of names."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from phoenixd.api import representation
from phoenixd.api.feed.ledger import Change, Json, Ledger
from phoenixd.api.feed.notes import Notes
from phoenixd.api.row import alert, document, row_of
from phoenixd.api.service import Service
from phoenixd.core import projection
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.facts import AnswerJudged, Asked, AskingOver, Ordered
from phoenixd.core.fleet import Fleet
from phoenixd.core.glance import Known
from phoenixd.core.inbox import items_of
from phoenixd.core.seat import finding, names
from phoenixd.ports.journal import Entry, StoredEntry

LEAST_GATHER = 0.005
EACH_GATHER = 0.002
MOST_GATHER = 0.25
"""Seconds for which news gather: some for each other follower before they are told, so that many cost no more than few;
and between two tellings. A follower that is alone is told at once of what comes after a quiet moment."""

AUDITS = 8
"""Looks in which every agent is looked at once, also where nothing was heard: papers grow, and hooks do not come."""

MOST_CLOSERS = 512


class Feed:
    """The ledger of a living service. boot: of this daemon, by which a client knows that volatile things began anew."""

    def __init__(self, service: Service) -> None:
        self.boot = secrets.token_hex(8)
        self.ledger = Ledger()
        self.notes = Notes(service.journal, lambda agent: _shown(service.fleet(), agent))
        self.followers = 0
        self.glances: Known = {}
        """What the looks at the whole fleet have found."""
        self._service = service
        self._dirty: set[str] = set()
        self._closers: OrderedDict[int, tuple[str | None, str]] = OrderedDict()
        """How items were closed that may stand in the ledger: by whom, and by what."""
        self._items: dict[str, dict[str, InboxItem]] = {}
        self._alerts: dict[str, set[str]] = {}
        self._is_known = False
        self._news = asyncio.Event()
        self._audited = 0
        self._audit_due = 0.0
        self._looking: asyncio.Task[None] | None = None
        self.began_at_row = 0
        """The newest row when this boot began to tell: ids above it were given by this boot."""
        service.attend(self)

    @property
    def as_of(self) -> Json:
        """What the ledger stands for: this boot, the newest row, the newest change."""
        return {"boot": self.boot, "row": self.ledger.row, "change": self.ledger.number}

    @property
    def cursor(self) -> str:
        """The same in one word."""
        return f"{self.boot}-{self.ledger.row}-{self.ledger.number}"

    def turned(self, entries: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        """A turn was saved, or is late with that."""
        for stored in entries:
            if stored.entry.facts:
                self._note_ends(stored.entry)
            if stored.entry.agent is not None:
                self._dirty.add(stored.entry.agent)
        for agent in changed:
            self._dirty.add(agent.name)
        self.saved(entries[-1].seq if entries else 0)

    def seen(self, agent: str) -> None:
        """Something else is seen of this agent now."""
        self._dirty.add(agent)
        self._wake()

    def saved(self, newest: int) -> None:
        """The journal has this row."""
        self.ledger.saved(newest)
        self._wake()

    async def begin(self) -> None:
        """Know everything once, before the first answer."""
        if not self._is_known:
            rows = await self._service.journal.read(newest=True, limit=1)
            self.ledger.saved(rows[-1].seq if rows else 0)
            self.began_at_row = self.began_at_row or self.ledger.row
            self.refresh(everyone=True)

    def refresh(self, *, everyone: bool = False) -> None:
        """Bring the ledger up to what is known now. everyone: also the agents that nothing was heard of."""
        fleet, dirty, before = self._service.fleet(), self._dirty, self.ledger.number
        self._dirty = set()
        if everyone or not self._is_known:
            self._is_known = True
            dirty = {*fleet.agents, *self.ledger.keys("agent")}
        dirty = {row for name in dirty for row in _rows(fleet, name)}
        if dirty:
            cases = projection.open_cases(fleet)
            for name in sorted(dirty):
                self._look_at(fleet, name, cases)
        self._note_alerts("", None, fleet.alerts)
        if self.ledger.number > before:
            self._wake()

    def audit(self, every: float) -> None:
        """Look at some agents that nothing was heard of, and at others the next time, once in `every` seconds."""
        now = asyncio.get_running_loop().time()
        if now < self._audit_due:
            return
        self._audit_due = now + every
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._service.look_at_terminals())
        known = sorted(self.ledger.keys("agent"))
        share = -(-len(known) // AUDITS)
        if share:
            begin = self._audited * share
            self._dirty.update(known[begin : begin + share])
            self._audited = (self._audited + 1) % AUDITS
        self.refresh()

    async def news(self, after: int, row: int, patience: float, looked: float = 0.0) -> bool:
        """Wait until there is something after that change, or a row after that one, and until more has gathered.

        looked: when the follower looked last, in the loop's time.
        """
        try:
            async with asyncio.timeout(patience):
                while not self._dirty and self.ledger.number <= after and self.ledger.row <= row:
                    if self._news.is_set():
                        self._news = asyncio.Event()
                    await self._news.wait()
        except TimeoutError:
            return False
        rest = looked + LEAST_GATHER - asyncio.get_running_loop().time()
        gather = min(MOST_GATHER, max(rest, EACH_GATHER * (self.followers - 1)))
        if gather > 0:
            await asyncio.sleep(gather)
        return True

    def changes(self, after: int) -> list[Change] | None:
        """What changed after that change; None where that is not known any more, so that all has to be told."""
        if after > self.ledger.number or after < self.ledger.forgotten:
            return None
        return self.ledger.after(after)

    def _wake(self) -> None:
        if self.followers:
            self._news.set()

    def _look_at(self, fleet: Fleet, name: str, cases: dict[str, str]) -> None:
        agent = finding.meant(fleet, name)
        if agent is None or not finding.is_listed(fleet, agent):
            self._forget(name)
            return
        service = self._service
        row = projection.row_of(fleet, agent, service.now(), service.sight(agent), cases)
        self.ledger.note("agent", row.name, row.name, document(row_of(row, service.loops(row.name))))
        self._note_items(row.name, {str(item.id): item for item in items_of(fleet, agent)})
        self._note_alerts(row.name, row.name, row.alerts)

    def _forget(self, name: str) -> None:
        self._note_items(name, {})
        self._note_alerts(name, name, ())
        self.ledger.drop("agent", name, {"name": name, "removed": True})

    def _note_items(self, name: str, items: dict[str, InboxItem]) -> None:
        known = self._items.get(name, {})
        for key, item in items.items():
            if known.get(key) != item:
                self.ledger.note("item", key, name, representation.item(item))
        for key in known.keys() - items.keys():
            by, how = self._closers.pop(int(key), (None, ""))
            self.ledger.drop("item", key, {"id": int(key), "agent": name, "by": by, "how": how})
        if items:
            self._items[name] = items
        else:
            self._items.pop(name, None)

    def _note_alerts(self, owner: str, agent: str | None, alerts: Sequence[StandingAlert]) -> None:
        known = self._alerts.get(owner, set())
        keys = {str(one.id) for one in alerts}
        for one in alerts:
            self.ledger.note("alert", str(one.id), agent, {**alert(one), "agent": agent, "over": False})
        for key in known - keys:
            told = self.ledger.body("alert", key)
            if told is not None:
                self.ledger.drop("alert", key, {**told, "over": True})
        if keys:
            self._alerts[owner] = keys
        else:
            self._alerts.pop(owner, None)

    def _note_ends(self, entry: Entry) -> None:
        answered = entry.detail.get("item")
        for fact in entry.facts:
            if isinstance(fact, AskingOver):
                by = next(_orderers(entry), None) or self._closers.get(fact.item, (None, ""))[0]
                self._closers[fact.item] = by, entry.reason
            elif isinstance(fact, Asked):
                # It is open: what was told of its end was taken back.
                self._closers.pop(fact.item, None)
            elif isinstance(fact, Ordered) and fact.verb == "answer" and fact.taken and isinstance(answered, int):
                # What comes of an answer closes the item, and names nobody.
                self._closers.setdefault(answered, (fact.by, ""))
            elif isinstance(fact, AnswerJudged):
                self._note_verdict(fact, entry.reason)
        while len(self._closers) > MOST_CLOSERS:
            self._closers.popitem(last=False)

    def _note_verdict(self, fact: AnswerJudged, reason: str) -> None:
        """An answer that came too late ended nothing; where its screen had closed the item, the verdict says how."""
        by, how = self._closers.pop(fact.item, (None, ""))
        if how or (fact.taken and by is not None):
            self._closers[fact.item] = by if fact.taken else None, reason if how else ""
        self.ledger.retell("item", str(fact.item), {"how": reason} if fact.taken else {"how": reason, "by": None})


def _orderers(entry: Entry) -> Iterator[str]:
    for fact in entry.facts:
        if isinstance(fact, Ordered):
            yield fact.by


def _shown(fleet: Fleet, name: str) -> str:
    """The name of the row that an agent stands in, or stood in until it was removed."""
    seat = finding.of(fleet, name)
    if seat is not None:
        return seat.name
    read = names.read(name) if name not in fleet.agents else None
    return read[0] if read is not None else name


def _rows(fleet: Fleet, name: str) -> tuple[str, ...]:
    """The names of all rows that tell of an agent: beside a seat's those of what a lost handoff left over."""
    row = _shown(fleet, name)
    seat = fleet.seats.get(row)
    if seat is None:
        return (row,) if row == name else (row, name)
    beside = (seat.generation - 1, seat.generation + 1)
    return (row, *(f"{row}-g{number}" for number in beside if number))
