"""A stretch of the journal added up: deaths and what became of them, and what operators did. Pure, and resumable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from phoenixd.core.agent import InboxItem
from phoenixd.core.restart import CLEAN_CODES
from phoenixd.ports import Entry, StoredEntry

ENDS = frozenset({"agentexited", "treegone", "startfailed"})
REQUESTS_TO_END = frozenset({"stoprequested", "restartrequested", "agentwithdrawn", "agentdeclared"})
"""A declaration ends a run when it changes what the run was started with."""


def event_key(name: str) -> str:
    """An event's name without case and punctuation, so that AgentExited and agent-exited are the same."""
    return name.replace("_", "").replace("-", "").lower()


def event_words(entry: Entry) -> str:
    """An event's name for people: "agent exited"; a hook is called by its kind."""
    kind = entry.detail.get("kind")
    if event_key(entry.event) == "hookseen" and isinstance(kind, str):
        return f"hook {kind}"
    if event_key(entry.event) in ("alertraised", "alertover"):
        return f"{entry.event.replace('_', ' ')}: {kind}"
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entry.event)
    return spaced.replace("_", " ").replace("-", " ").strip()


@dataclass(slots=True)
class Digest:
    """What happened after a wall time. Rows are fed in order; feeding more later continues the sum.

    complete: whether the row numbers had no gap. first_wall: the earliest row that the journal still has, where that
    is later than asked. deaths counts only ends that nobody asked for, and that were no end of a loop's iteration.
    """

    since: float
    last_seq: int = 0
    last_wall: float | None = None
    complete: bool = True
    events: int = 0
    deaths: int = 0
    healed: int = 0
    quarantined: int = 0
    ended: int = 0
    resumed: int = 0
    fresh: int = 0
    slowest: float | None = None
    outages: int = 0
    started: int = 0
    stopped: int = 0
    finished: int = 0
    iterations: int = 0
    sent: int = 0
    not_delivered: int = 0
    quarantined_agents: dict[str, int] = field(default_factory=dict)
    _pending: dict[str, list[float]] = field(default_factory=dict)
    _deliberate: set[str] = field(default_factory=set)
    _mode: dict[str, str] = field(default_factory=dict)
    _blind: bool = False

    def feed(self, rows: Iterable[StoredEntry]) -> None:
        """Add rows that follow the last one fed."""
        for row in rows:
            if self.last_seq and row.seq != self.last_seq + 1:
                self.complete = False
            self.last_seq = row.seq
            self.last_wall = row.entry.wall
            self.events += 1
            self._count(row.entry)

    @property
    def healing(self) -> int:
        """Deaths whose agent is neither back nor given up."""
        return sum(len(walls) for walls in self._pending.values())

    @property
    def healing_agents(self) -> dict[str, int]:
        """Those deaths by agent."""
        return {name: len(walls) for name, walls in self._pending.items()}

    def _count(self, entry: Entry) -> None:
        event = event_key(entry.event)
        # What a journal that failed for long could not take stands in it as a count.
        self.complete = self.complete and event != "entriesgivenup"
        if entry.agent is None:
            blind = event == "terminalseen" and not entry.detail.get("alive", False)
            self.outages += blind and not self._blind
            self._blind = blind
            return
        if entry.reason.startswith("refused"):
            return
        self._count_request(event, entry)
        if event in ENDS:
            self._count_end(event, entry)
        self._count_state(entry)

    def _count_request(self, event: str, entry: Entry) -> None:
        # The same request stands in a second row once its start is released; one that found it running changed nothing.
        self.started += event == "startrequested" and entry.state in ("backing_off", "stopping")
        self.stopped += event == "stoprequested"
        self.sent += event == "sendrequested"
        self.not_delivered += event == "notdelivered"
        agent = entry.agent or ""
        if event in REQUESTS_TO_END and entry.state == "stopping":
            self._deliberate.add(agent)
        if event == "agentwithdrawn":
            self.ended += len(self._pending.pop(agent, ()))

    def _count_end(self, event: str, entry: Entry) -> None:
        agent = entry.agent or ""
        if entry.state not in ("backing_off", "quarantined", "stopped"):
            # It ended in order to be removed; another agent may get its name.
            self._deliberate.discard(agent)
            return
        if agent in self._deliberate:
            self._deliberate.discard(agent)
        elif entry.state == "stopped":
            self.finished += 1
        elif entry.state == "backing_off" and _went_on(entry):
            self.iterations += 1
        elif event != "startfailed" or entry.state == "quarantined":
            self.deaths += 1
            self._pending.setdefault(agent, []).append(entry.wall)

    def _count_state(self, entry: Entry) -> None:
        agent = entry.agent or ""
        if entry.state == "starting":
            self._mode[agent] = "resume" if "resume" in entry.reason else "fresh"
        if agent not in self._pending or entry.state not in ("running", "quarantined", "stopped"):
            return
        walls = self._pending.pop(agent)
        if entry.state == "running":
            self.healed += len(walls)
            took = max(0.0, entry.wall - walls[0])
            self.slowest = took if self.slowest is None else max(took, self.slowest)
            if self._mode.get(agent) == "resume":
                self.resumed += len(walls)
            else:
                self.fresh += len(walls)
        elif entry.state == "quarantined":
            self.quarantined += len(walls)
            self.quarantined_agents[agent] = self.quarantined_agents.get(agent, 0) + len(walls)
        else:
            self.ended += len(walls)


def _went_on(entry: Entry) -> bool:
    """Whether a run ended as it should, and the next one follows by its kind or its policy."""
    if entry.reason.startswith("iteration ended"):
        return True
    return entry.detail.get("code") in CLEAN_CODES and "failed start" not in entry.reason


@dataclass(frozen=True, slots=True)
class Stretch:
    """A digest, when it was asked for, and what still waits. journal_begins: None when it reaches back far enough."""

    digest: Digest
    until: float
    waiting: tuple[InboxItem, ...] = ()
    journal_begins: float | None = None
