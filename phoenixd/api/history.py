"""A stretch of the journal added up: deaths and what became of them, and what operators did. Pure, and resumable.

Only typed facts are counted, never the words of a reason. A death is healed when the next run was productive; a run
that dies before that is another death of the same story, which is healed as one. What became of the deaths of a story
that is open is what their agent is now: docs/reference/since.md has the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from phoenixd.api.by_hand import ByHand
from phoenixd.api.event_names import event_key
from phoenixd.api.spells import Spells
from phoenixd.api.terminal_ends import TerminalEnds
from phoenixd.core import condition
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import InboxItem, StandingAlert
from phoenixd.core.causes import signal_name
from phoenixd.core.facts import (
    AnswerFellShort,
    Fact,
    Ordered,
    RunBegan,
    RunEnded,
    RunProductive,
    TaskFailed,
    Verb,
    WatchBegan,
)
from phoenixd.core.fleet import Fleet
from phoenixd.ports.journal import Entry, StoredEntry

RUNS_KNOWN = 4
"""Runs of an agent whose mode is remembered, until it is known whether they were productive."""
OF_AN_END = frozenset({"agentexited", "treegone"})
"""Rows that tell the end of a run by a fact, in all but an older version's. Such an event may be heard by others."""
NO_ORDER = frozenset({"breakercorrupt"})
"""Rows with an order that nobody gave: what is damaged ends like one."""
QUARANTINED, STOPPED = "quarantined", "stopped"
DOWN = frozenset({QUARANTINED, STOPPED})
"""States that an agent leaves on somebody's order alone."""


@dataclass(frozen=True, slots=True)
class Unwatched:
    """A time without a daemon (wall). ended: by what the one before was told to end; empty where it was killed.

    Of one that was killed, or died, `begins` is when it was heard last.
    """

    begins: float
    until: float
    ended: str = ""


@dataclass(slots=True)
class Digest:
    """What happened after a wall time. Rows are fed in order; feeding more later continues the sum.

    complete: whether the row numbers had no gap. untyped_until: the last row of an end that an older version wrote,
    which is not counted. deaths are ends that nobody asked for, that were no end of a loop's iteration, and
    in which the terminal server had no part. Each is
    healed, repeated (the next run died before it was productive, and the story went on to be healed), returned (its
    agent was back, was not productive so far, and was stopped and started since), released (its agent was stopped or in
    quarantine before it was back, and was started since), quarantined, ended (its agent is stopped now, or was
    removed), or unhealed (its agent is to run). slowest: seconds from a death to productive work.
    """

    since: float
    last_seq: int = 0
    begins: float | None = None
    """When the journal began, where that was within the stretch: there was nothing before."""
    complete: bool = True
    untyped_until: float | None = None
    events: int = 0
    deaths: int = 0
    healed: int = 0
    repeated: int = 0
    returned: int = 0
    released: int = 0
    resumed: int = 0
    fresh: int = 0
    slowest: float | None = None
    outages: int = 0
    unwatched: list[Unwatched] = field(default_factory=list)
    """When no daemon watched, within the stretch."""
    orders: dict[Verb, int] = field(default_factory=dict)
    """What people ordered, and it was not refused. A start or a stop that changed nothing is none."""
    finished: int = 0
    iterations: int = 0
    cut_answers: int = 0
    cut_gone_on: int = 0
    """Of these, those after which the CLI asked for the rest by itself."""
    not_delivered: int = 0
    finished_by: dict[str, int] = field(default_factory=dict)
    """In which ways the agents ended that finished, as a clause, and how many did."""
    failed_starts: dict[str, int] = field(default_factory=dict)
    """Starts that failed, by agent; they are no deaths."""
    unstarted: set[str] = field(default_factory=set)
    """Of these agents those that could not be started so far: no run of them has lived since, and they are there."""
    failed_tasks: dict[str, str] = field(default_factory=dict)
    """Tasks that failed for good, and why each did."""
    healed_agents: dict[str, int] = field(default_factory=dict)
    """Deaths that were healed, those that were repeated before among them, by agent."""
    spells: Spells = field(default_factory=Spells)
    """What began and ended: limits, quarantines, handoffs, reboots."""
    terminals: TerminalEnds = field(default_factory=TerminalEnds)
    """Ends of the terminal server. The runs that fell with one are no deaths of their agents."""
    fell: frozenset[tuple[str, int]] = frozenset()
    """Runs that fell with it, as told by other rows than those that are fed."""
    by_hand: ByHand = field(default_factory=ByHand)
    """What people ordered and answered, by name."""
    ran_on: set[str] = field(default_factory=set)
    """The agents that the newest daemon found alive when it began."""
    _begun: set[str] = field(default_factory=set)
    """Agents with a run that this daemon began. It is adopted as well, where somebody looks at it again."""
    _stories: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """The deaths of each agent's open story, oldest first: which run, and when (wall)."""
    _died: dict[str, int] = field(default_factory=dict)
    """Deaths by agent."""
    _over: dict[str, Literal["back", "started"]] = field(default_factory=dict)
    """How the newest story of an agent ended: it was back by itself, or somebody started it."""
    _removed: dict[str, list[list[tuple[int, float]]]] = field(default_factory=dict)
    """The open stories of agents that were removed, of each removal one, the newest last."""
    _states: dict[str, str] = field(default_factory=dict)
    """The newest state of each agent."""
    _modes: dict[str, dict[int, Mode]] = field(default_factory=dict)
    """How each agent's newest runs began."""
    _lived: dict[str, int] = field(default_factory=dict)
    """The newest run of each agent that was executed."""
    _blind: bool = False

    def feed(self, rows: Iterable[StoredEntry]) -> None:
        """Add rows that follow the last one fed."""
        for row in rows:
            if self.last_seq and row.seq != self.last_seq + 1:
                self.complete = False
            if row.seq == 1:
                self.begins = row.entry.wall
            self.last_seq = row.seq
            self.events += 1
            self._count(row.entry)

    @property
    def died_agents(self) -> list[str]:
        """Those that died, however often."""
        return sorted(self._died)

    @property
    def back_agents(self) -> set[str]:
        """Of these the ones that were back by themselves after their last death, as far as that story is over."""
        return self._ended_by("back")

    @property
    def started_agents(self) -> set[str]:
        """Of these the ones that were down, and that somebody started since."""
        return self._ended_by("started")

    def _ended_by(self, how: str) -> set[str]:
        return {name for name in self._died if name not in self._stories and self._over.get(name) == how}

    @property
    def unhealed_agents(self) -> dict[str, int]:
        """Deaths that are not healed yet, by agent: no run since was productive, and the agent is to run."""
        return {name: len(deaths) for name, deaths in self._stories.items() if self._states.get(name) not in DOWN}

    @property
    def unhealed(self) -> int:
        """How many these are."""
        return sum(self.unhealed_agents.values())

    @property
    def quarantined_agents(self) -> dict[str, int]:
        """Deaths of agents that are in quarantine now, by agent."""
        return self._of(QUARANTINED)

    @property
    def stopped_agents(self) -> dict[str, int]:
        """Deaths of agents that are stopped now, by agent."""
        return self._of(STOPPED)

    @property
    def quarantined(self) -> int:
        """How many these are."""
        return sum(self.quarantined_agents.values())

    @property
    def removed(self) -> int:
        """Deaths of agents that were removed before they were healed, and are not there again by an undo."""
        return sum(len(story) for stories in self._removed.values() for story in stories)

    @property
    def ended(self) -> int:
        """Deaths of agents that are stopped now, or were removed."""
        return self.removed + sum(self.stopped_agents.values())

    def _of(self, state: str) -> dict[str, int]:
        return {name: len(deaths) for name, deaths in self._stories.items() if self._states.get(name) == state}

    def _count(self, entry: Entry) -> None:
        event = event_key(entry.event)
        # What a journal that failed for long could not take stands in it as a count.
        self.complete = self.complete and event != "entriesgivenup"
        self.spells.hear(entry, event)
        if entry.agent is None:
            if event == "terminalended":
                # That it does not answer yet is the same cause.
                self._blind = True
                self._take_back(self.terminals.begin(entry.wall))
            elif event == "terminalseen":
                blind = not entry.detail.get("alive", False)
                self.outages += blind and not self._blind
                self._blind = blind
            for fact in entry.facts:
                if isinstance(fact, Ordered):
                    self._count_order(fact)
                elif isinstance(fact, TaskFailed):
                    self.failed_tasks[fact.task] = fact.why
                elif isinstance(fact, WatchBegan):
                    self.unwatched.append(Unwatched(min(fact.since, entry.wall), entry.wall, fact.ended))
                    self.ran_on.clear()
                    self._begun.clear()
            return
        if event in OF_AN_END and entry.state is not None and not entry.is_weighed:
            self.untyped_until = entry.wall
        self.not_delivered += event == "notdelivered"
        if event == "runadopted" and self.unwatched and entry.agent not in self._begun:
            self.ran_on.add(entry.agent)
        if event == "agentstarted":
            self.unstarted.discard(entry.agent)
            self._begun.add(entry.agent)
            self._lived[entry.agent] = entry.incarnation
        if event == "agentdeclared" and entry.detail.get("is_undo"):
            self._is_back(entry.agent)
        if entry.state is not None:
            self._is_now(entry.agent, entry.state)
        for fact in entry.facts:
            self._count_fact(entry.agent, fact, entry)
        self.terminals.hear(entry.agent, entry, event)
        self.by_hand.hear(entry.agent, entry)

    def _take_back(self, fell: Mapping[str, int]) -> None:
        """These runs fell with the terminal server, which is told after their ends."""
        for agent, incarnation in fell.items():
            story = self._stories.get(agent, [])
            kept = [death for death in story if death[0] != incarnation]
            fewer = len(story) - len(kept)
            self.deaths -= fewer
            if fewer == self._died.get(agent):
                del self._died[agent]
            elif fewer:
                self._died[agent] -= fewer
            if kept:
                self._stories[agent] = kept
            else:
                self._stories.pop(agent, None)

    def _is_now(self, agent: str, state: str) -> None:
        if self._states.get(agent) in DOWN and state not in DOWN:
            self._release(agent)
        self._states[agent] = state

    def _release(self, agent: str) -> None:
        """Somebody started it, so its next run heals nothing. Its last death tells whether it was back by itself."""
        story = self._stories.pop(agent, [])
        if not story:
            return
        newest, _ = story[-1]
        if self._lived.get(agent, 0) > newest:
            self.returned += len(story)
            self._over[agent] = "back"
        else:
            self.released += len(story)
            self._over[agent] = "started"

    def _count_fact(self, agent: str, fact: Fact, entry: Entry) -> None:
        match fact:
            case RunBegan():
                newest = list(self._modes.get(agent, {}).items())[1 - RUNS_KNOWN :]
                self._modes[agent] = {**dict(newest), fact.incarnation: fact.mode}
            case RunProductive(incarnation=incarnation):
                self._heal(agent, incarnation, entry.wall)
            case RunEnded():
                self._count_end(agent, fact, entry.wall)
            case Ordered() if event_key(entry.event) not in NO_ORDER:
                self._count_order(fact)
                if fact.taken and fact.verb == "remove":
                    self._removed.setdefault(agent, []).append([])
                    self._forget(agent)
            case AnswerFellShort(went_on=went_on):
                self.cut_answers += 1
                self.cut_gone_on += went_on
            case _:
                pass  # Nothing that is counted.

    def _count_order(self, order: Ordered) -> None:
        if order.taken and (order.moved or order.verb not in ("start", "stop")):
            self.orders[order.verb] = self.orders.get(order.verb, 0) + 1

    def _count_end(self, agent: str, end: RunEnded, wall: float) -> None:
        self.iterations += end.meaning == "iteration"
        if end.meaning == "finished":
            self.finished += 1
            how = _way(end)
            self.finished_by[how] = self.finished_by.get(how, 0) + 1
        fell = self.terminals.takes(agent, end, wall) or (agent, end.incarnation) in self.fell
        if end.meaning == "death" and not fell:
            self.deaths += 1
            self._died[agent] = self._died.get(agent, 0) + 1
            self._stories.setdefault(agent, []).append((end.incarnation, wall))
        elif end.meaning == "unstarted":
            self.failed_starts[agent] = self.failed_starts.get(agent, 0) + 1
            self.unstarted.add(agent)
        if end.then == "remove":
            self._forget(agent)

    def _forget(self, agent: str) -> None:
        """It is removed: another one of its name has had none of this."""
        self.unstarted.discard(agent)
        self._over.pop(agent, None)
        self._states.pop(agent, None)
        self._removed.setdefault(agent, [[]])[-1].extend(self._stories.pop(agent, ()))

    def _is_back(self, agent: str) -> None:
        """Its newest removal was taken back: its deaths are those of an agent that is there."""
        if stories := self._removed.get(agent):
            self._stories[agent] = stories.pop()
        if not stories:
            self._removed.pop(agent, None)

    def _heal(self, agent: str, incarnation: int, wall: float) -> None:
        deaths = self._stories.pop(agent, [])
        # What a run has achieved may be known after its own death only, which it does not heal.
        story = [when for number, when in deaths if number < incarnation]
        if later := [death for death in deaths if death[0] >= incarnation]:
            self._stories[agent] = later
        if not story:
            return
        mode = self._modes.get(agent, {}).get(incarnation)
        self.healed += 1
        self._over[agent] = "back"
        self.repeated += len(story) - 1
        self.healed_agents[agent] = self.healed_agents.get(agent, 0) + len(story)
        self.resumed += mode is Mode.RESUME
        self.fresh += mode is Mode.FRESH
        took = max(0.0, wall - story[-1])
        self.slowest = took if self.slowest is None else max(took, self.slowest)


def _way(end: RunEnded) -> str:
    if end.signal is not None:
        return f"by {signal_name(end.signal)}"
    return f"with exit {end.code}" if end.code is not None else "in a way that nobody could know"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A digest, when it was asked for, and what still waits. journal_begins: None when it reaches back far enough.

    alerts: those of no agent that need a person.

    running_again: see there. seen: up to when its reader has said to have seen all, where that was said lately.
    """

    digest: Digest
    until: float
    waiting: tuple[InboxItem, ...] = ()
    journal_begins: float | None = None
    running_again: Mapping[str, str] = field(default_factory=dict)
    seen: float | None = None
    alerts: tuple[StandingAlert, ...] = ()

    @property
    def back(self) -> list[str]:
        """Of the agents that died those that are back, be they productive since or not."""
        return sorted(self.digest.back_agents | self.running_again.keys())


def running_again(digest: Digest, fleet: Fleet) -> dict[str, str]:
    """Of the agents whose deaths are not healed yet those that run, and what each is at, in a word.

    The others are not back. An agent that rests achieves nothing, so its death stays unhealed.
    """
    agents = {name: fleet.agents.get(name) for name in digest.unhealed_agents}
    return {
        name: condition.activity_word(agent) or agent.state_name
        for name, agent in agents.items()
        if agent is not None and condition.runs_again(agent)
    }
