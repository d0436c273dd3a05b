"""A journal in memory that keeps its word as the one on disk does, and fails, dawdles and dies as that one can."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

import anyio

from phoenixd.core.agent import Agent
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.mutes.state import Mutes
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Tasks
from phoenixd.core.treatment.case import Cases
from phoenixd.documents.codec import decode, dump_snapshot, dump_spec, encode, load_snapshot
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch, KeptCase, KeptIncident, KeptLife, KeptMark, KeptTreatment, Saved, StoredEntry
from tests.simulate.host import Host
from tests.simulate.promises import Facts, facts_of

SPEC = 1
"""The number under which a snapshot says that its specification stands."""


class MemoryJournal:
    """Implements ports.Journal; it survives the daemon, as a disk does."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._snapshots: dict[str, tuple[str, str]] = {}
        """Each agent's specification, which seldom changes and is most of it, and the rest."""
        self._specs: dict[str, tuple[AgentSpec, str]] = {}
        """The newest specification of each agent, and how it is rendered."""
        self._remembered: dict[str, str] = {}
        self._retired: dict[str, int] = {}
        self._saved = Saved()
        self._tasks = "{}"
        self._seats = "[]"
        self._passed: tuple[Seat, ...] = ()
        self._written: Tasks | None = None
        self._cases = Cases()
        self._mutes: Mutes = {}
        self.kept_incidents: list[KeptIncident] = []
        self.kept_treatments: dict[tuple[str, int], KeptTreatment] = {}
        self._digest = sha256()
        self._limbo: Batch | None = None
        self.entries: list[StoredEntry] = []
        self.marks: set[str] = set()
        """tool_use_id of every hook that is durable: the simulated shims number their hooks with it."""
        self.facts: dict[str, Facts] = {}
        """What the durable snapshot says of each agent, in short."""
        self.fails_until = 0.0
        self.slow_until = 0.0
        self.commits = 0

    @property
    def digest(self) -> str:
        """A hash over every row that was ever made durable, in order."""
        return self._digest.hexdigest()[:16]

    def load(self) -> Saved:
        agents = tuple(load_snapshot(text, SPEC, spec) for _, (spec, text) in sorted(self._snapshots.items()))
        saved = self._saved
        boot_id = self._remembered.get("boot_id", "")
        retired = dict(self._retired)
        tasks = decode(Tasks, json.loads(self._tasks))
        seats = tuple(decode(Seat, one) for one in json.loads(self._seats))
        return Saved(
            saved.at, saved.wall, boot_id, agents, saved.next_item, saved.alerts, retired, saved.epoch, seats, tasks,
            cases=decode(Cases, json.loads(json.dumps(encode(self._cases)))), mutes=self._mutes,
        )  # fmt: skip

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        host, self._limbo = self._host, batch
        try:
            host.at_point("saving")
            if host.now < self.slow_until and not host.is_calm:
                host.seen["commit was late"] += 1
                await anyio.sleep(host.dice.uniform(2.5, 6.0))
            else:
                await anyio.sleep(host.dice.uniform(0.0002, 0.002))
            if host.now < self.fails_until and not host.is_calm:
                host.seen["commit failed"] += 1
                raise JournalFailed("the disk is full")
            seqs = self._apply(batch)
            self._limbo = None
            host.at_point("saved")
            return seqs
        except anyio.get_cancelled_exc_class():
            self.crash()
            raise

    def crash(self) -> None:
        """The writer dies: a batch under way, or one that failed before, comes to light whole or not at all."""
        if self._limbo is not None and self._host.dice.random() < 0.5:
            self._host.seen["unacknowledged batch survived"] += 1
            self._apply(self._limbo)
        self._limbo = None

    async def read(
        self,
        *,
        agent: str | None = None,
        after: int = 0,
        since_wall: float | None = None,
        limit: int = 1000,
        newest: bool = False,
        story: bool = False,
        before: int | None = None,
    ) -> list[StoredEntry]:
        found = [
            stored
            for stored in self.entries[after:]
            if agent in (None, stored.entry.agent)
            and (before is None or stored.seq < before)
            and (since_wall is None or stored.entry.wall >= since_wall)
            and (not story or stored.entry.weight == "story")
        ]
        return found[-limit:] if newest else found[:limit]

    async def remember(self, key: str, value: str) -> None:
        await anyio.sleep(0.001)
        self._remembered[key] = value

    async def handoffs(self, seat: str, limit: int) -> list[Handoff]:
        told = [fact.handoff for one in self.entries for fact in one.entry.facts if isinstance(fact, HandoffEnded)]
        newest = {one.id: one for one in told if one.seat == seat}
        return list(reversed(newest.values()))[:limit]

    async def lives(self, names: Sequence[str], limit: int) -> list[KeptLife]:
        return []

    async def usage(self, names: Sequence[str], since: float | None, limit: int) -> list[UsageSample]:
        return []

    async def marks(self, names: Sequence[str], limit: int) -> list[KeptMark]:
        return []

    async def treatments(self) -> list[KeptTreatment]:
        return list(self.kept_treatments.values())

    async def case(self, case_id: str) -> KeptCase | None:
        incidents = tuple(one for one in self.kept_incidents if one.case_id == case_id)
        treatments = tuple(one for one in self.kept_treatments.values() if one.case_id == case_id)
        return KeptCase(case_id, incidents, treatments) if incidents or treatments else None

    async def recall(self, key: str) -> str | None:
        return self._remembered.get(key)

    def release_reserve(self) -> bool:
        return False

    async def shortage(self) -> str | None:
        return None

    def _apply(self, batch: Batch) -> tuple[int, ...]:
        self.commits += 1
        first = len(self.entries) + 1
        for seq, entry in enumerate(batch.entries, first):
            self.entries.append(StoredEntry(seq, entry))
            if (mark := entry.detail.get("tool_use_id")) is not None:
                self.marks.add(mark)
            row = (seq, entry.at, entry.agent, entry.incarnation, entry.event, entry.detail, entry.state, entry.reason)
            self._digest.update(json.dumps([*row, entry.readings, entry.actions], default=str).encode())
        for agent in batch.changed:
            self._keep(agent)
        for name, last in batch.removed:
            self._retired[name] = last
            self._snapshots.pop(name, None)
            self.facts.pop(name, None)
        if batch.tasks is not self._written:
            self._written, self._tasks = batch.tasks, json.dumps(encode(batch.tasks))
        if batch.seats != self._passed:
            self._passed, self._seats = batch.seats, json.dumps(encode(batch.seats))
        if batch.seats or self._passed:
            self._host.seats.saved(batch.seats, batch.entries, self._snapshots)
        self._cases, self._mutes = batch.cases, batch.mutes
        self.kept_incidents += batch.incidents
        self.kept_treatments |= {(one.case_id, one.number): one for one in batch.treatments}
        self._saved = Saved(batch.at, batch.wall, next_item=batch.next_item, alerts=batch.alerts, epoch=batch.epoch)
        return tuple(range(first, len(self.entries) + 1))

    def _keep(self, agent: Agent) -> None:
        spec, rendered = self._specs.get(agent.name, (None, ""))
        if spec is not agent.spec:
            rendered = dump_spec(agent.spec)
            self._specs[agent.name] = agent.spec, rendered
            self._digest.update(rendered.encode())
        text = dump_snapshot(agent, SPEC)
        self._snapshots[agent.name] = rendered, text
        self.facts[agent.name] = facts_of(agent)
        self._digest.update(text.encode())
