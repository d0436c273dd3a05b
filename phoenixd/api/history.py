"""A stretch of the journal added up: deaths and what became of them, and what operators did. Pure, and resumable.

Only typed facts are counted, never the words of a reason. A death is healed when the next run was productive; a run
that dies before that is another death of the same story, which is healed, or given up, as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from phoenixd.core import condition
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.facts import AnswerFellShort, Fact, Ordered, PutInQuarantine, RunBegan, RunEnded, RunProductive
from phoenixd.core.fleet import Fleet
from phoenixd.ports.journal import Entry, StoredEntry

RUNS_KNOWN = 4
"""Runs of an agent of which the mode is remembered, until it is known whether they were productive."""
OF_AN_END = frozenset({"agentexited", "treegone"})
"""Rows that have had a fact since there are facts; one with a state and without any is an older version's."""


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

    complete: whether the row numbers had no gap. untyped_until: the last row of an end that an older version wrote,
    which is not counted. deaths are ends that nobody asked for and that were no end of a loop's iteration; each is
    healed, repeated (the next run died before it was productive, and the story went on to be healed), quarantined,
    ended (nobody wants the agent to run any more) or not healed yet (healing). slowest: seconds from a death to
    productive work.
    """

    since: float
    last_seq: int = 0
    last_wall: float | None = None
    begins: float | None = None
    """When the journal began, where that was within the stretch: there was nothing before."""
    complete: bool = True
    untyped_until: float | None = None
    events: int = 0
    deaths: int = 0
    healed: int = 0
    repeated: int = 0
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
    cut_answers: int = 0
    cut_gone_on: int = 0
    """Of these, those after which the CLI asked for the rest by itself."""
    not_delivered: int = 0
    quarantined_agents: dict[str, int] = field(default_factory=dict)
    finished_by: dict[str, int] = field(default_factory=dict)
    """In which ways the agents ended that finished, as a clause, and how many did."""
    unstarted: dict[str, int] = field(default_factory=dict)
    """Starts that failed, by agent: no deaths, and forgotten once a run of it lives, or it is removed."""
    _stories: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """The deaths of each agent's open story, oldest first: which run, and when (wall)."""
    _modes: dict[str, dict[int, Mode]] = field(default_factory=dict)
    """How each agent's newest runs began."""
    _blind: bool = False

    def feed(self, rows: Iterable[StoredEntry]) -> None:
        """Add rows that follow the last one fed."""
        for row in rows:
            if self.last_seq and row.seq != self.last_seq + 1:
                self.complete = False
            if row.seq == 1:
                self.begins = row.entry.wall
            self.last_seq = row.seq
            self.last_wall = row.entry.wall
            self.events += 1
            self._count(row.entry)

    @property
    def healing(self) -> int:
        """Deaths that are not healed yet: no run since was productive, and the agent is not given up."""
        return sum(len(deaths) for deaths in self._stories.values())

    @property
    def healing_agents(self) -> dict[str, int]:
        """Those deaths by agent."""
        return {name: len(deaths) for name, deaths in self._stories.items()}

    def _count(self, entry: Entry) -> None:
        event = event_key(entry.event)
        # What a journal that failed for long could not take stands in it as a count.
        self.complete = self.complete and event != "entriesgivenup"
        if entry.agent is None:
            blind = event == "terminalseen" and not entry.detail.get("alive", False)
            self.outages += blind and not self._blind
            self._blind = blind
            return
        if event in OF_AN_END and entry.state is not None and not entry.facts:
            self.untyped_until = entry.wall
        self.not_delivered += event == "notdelivered"
        if event == "agentstarted":
            self.unstarted.pop(entry.agent, None)
        for fact in entry.facts:
            self._count_fact(entry.agent, fact, entry)

    def _count_fact(self, agent: str, fact: Fact, entry: Entry) -> None:
        match fact:
            case RunBegan():
                newest = list(self._modes.get(agent, {}).items())[1 - RUNS_KNOWN :]
                self._modes[agent] = {**dict(newest), fact.incarnation: fact.mode}
            case RunProductive(incarnation=incarnation):
                self._heal(agent, incarnation, entry.wall)
            case RunEnded():
                self._count_end(agent, fact, entry.wall)
            case PutInQuarantine():
                deaths = len(self._stories.pop(agent, ()))
                self.quarantined += deaths
                if deaths:
                    self.quarantined_agents[agent] = self.quarantined_agents.get(agent, 0) + deaths
            case Ordered(taken=True, verb=verb, moved=moved):
                self.started += verb == "start" and moved
                self.stopped += verb == "stop" and moved
                self.sent += verb == "send"
                # One that runs on until its iteration is over may still work; its end is told by the end itself.
                if verb == "remove" or (verb == "stop" and entry.state == "stopped"):
                    self.ended += len(self._stories.pop(agent, ()))
                if verb == "remove":
                    self._forget(agent)
            case AnswerFellShort(went_on=went_on):
                self.cut_answers += 1
                self.cut_gone_on += went_on
            case _:
                pass  # Nothing that is counted.

    def _count_end(self, agent: str, end: RunEnded, wall: float) -> None:
        self.iterations += end.meaning == "iteration"
        if end.meaning == "finished":
            self.finished += 1
            how = _way(end)
            self.finished_by[how] = self.finished_by.get(how, 0) + 1
        if end.meaning == "death":
            self.deaths += 1
            self._stories.setdefault(agent, []).append((end.incarnation, wall))
        elif end.meaning == "unstarted":
            self.unstarted[agent] = self.unstarted.get(agent, 0) + 1
        if end.then == "remove":
            self._forget(agent)
        if end.then in ("stay", "remove"):
            self.ended += len(self._stories.pop(agent, ()))

    def _forget(self, agent: str) -> None:
        """It is removed: another one of its name has had none of this."""
        self.unstarted.pop(agent, None)
        given_up = self.quarantined_agents.pop(agent, 0)
        self.quarantined -= given_up
        self.ended += given_up

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
        self.repeated += len(story) - 1
        self.resumed += mode is Mode.RESUME
        self.fresh += mode is Mode.FRESH
        took = max(0.0, wall - story[-1])
        self.slowest = took if self.slowest is None else max(took, self.slowest)


def _way(end: RunEnded) -> str:
    if end.signal is not None:
        return f"by signal {end.signal}"
    return f"with exit {end.code}" if end.code is not None else "in a way that nobody could know"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A digest, when it was asked for, and what still waits. journal_begins: None when it reaches back far enough.

    running_again: see there. seen: up to when its reader has said to have seen all, where that was said lately.
    """

    digest: Digest
    until: float
    waiting: tuple[InboxItem, ...] = ()
    journal_begins: float | None = None
    running_again: Mapping[str, str] = field(default_factory=dict)
    seen: float | None = None


def running_again(digest: Digest, fleet: Fleet) -> dict[str, str]:
    """Of the agents whose deaths are not healed yet those that run, and what each is at, in a word.

    The others are healing, or wait for something. An agent that rests achieves nothing, so its death stays unhealed.
    """
    agents = {name: fleet.agents.get(name) for name in digest.healing_agents}
    return {
        name: condition.activity_word(agent) or agent.state_name
        for name, agent in agents.items()
        if agent is not None and condition.runs_again(agent)
    }
