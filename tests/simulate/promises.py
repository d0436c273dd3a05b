"""What must hold at every instant of a simulation, whatever happens; a breach ends it with the story so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Starting
from phoenixd.core.fleet import Fleet
from phoenixd.ports.journal import StoredEntry

if TYPE_CHECKING:
    from tests.simulate.host import Host

STORY = 40
"""Journal entries that a breach is told with."""


class Broken(BaseException):
    """A promise of the design does not hold. No handler for faults may swallow it."""


Facts = tuple[int, str, str]


def facts_of(agent: Agent) -> Facts:
    """What of an agent changes only together with a decision, which is saved before anything comes of it."""
    return agent.incarnation, agent.state.name, agent.desired


class Promises:
    """Watches orders, starts, acknowledgements and every saved turn."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stopped: dict[str, int] = {}
        """Agents that are to stay down until an operator says otherwise, with the last incarnation that may begin."""
        self._ordered_down: set[str] = set()
        """Those of them whose stop was acknowledged."""
        self._asked_up: Counter[str] = Counter()
        """How often each was asked to run."""
        self._story: deque[str] = deque(maxlen=STORY)
        self.checks = 0
        self.breaches: list[Broken] = []

    def operator_asks(self, agent: str, wants_running: bool) -> int:
        """From here to the answer nothing is promised but what both orders allow. Returns the order's place."""
        self.tell(f"operator asks to {'start' if wants_running else 'stop'} {agent}")
        agent = self._host.seats.seat_of(agent)
        if wants_running:
            self._stopped.pop(agent, None)
            self._ordered_down.discard(agent)
            self._asked_up[agent] += 1
        return self._asked_up[agent]

    def operator_withdraws(self, agent: str) -> None:
        """A stop binds no longer than its agent is declared."""
        self.operator_asks(agent, wants_running=True)

    def operator_was_answered(self, agent: str, wants_running: bool, last_incarnation: int, place: int) -> None:
        """A stop binds unless a start was asked for after it: while the journal dawdles, both wait for an answer."""
        self.tell(f"operator was answered: {'start' if wants_running else 'stop'} {agent}")
        agent = self._host.seats.seat_of(agent)
        if not wants_running and place == self._asked_up[agent]:
            self._stopped[agent] = last_incarnation
            self._ordered_down.add(agent)

    def is_stopped(self, agent: str) -> bool:
        """Whether an acknowledged stop stands."""
        return self._host.seats.seat_of(agent) in self._ordered_down

    def ended_on_purpose(self, agent: str, incarnation: int) -> None:
        """P53: a resident that ended with 0, long after its start and with nobody ending it, stays down."""
        if self._host.journal.facts.get(agent) == (incarnation, "running", Desired.RUNNING):
            self.tell(f"{agent} #{incarnation} ended on purpose")
            self._stopped.setdefault(agent, incarnation)

    def start_ordered(self, agent: str, incarnation: int) -> None:
        """Promise 3: a deliberate stop stays stopped, over restarts and reboots."""
        allowed = incarnation <= self._stopped.get(self._host.seats.seat_of(agent), incarnation)
        self.hold(allowed, f"{agent} is started again as #{incarnation}, and nobody asked for it")
        durable = self._host.journal.facts.get(agent)
        saved = durable is not None and durable[0] >= incarnation
        self.hold(saved, f"{agent} #{incarnation} is started before that was saved; the journal knows {durable}")
        self._host.seats.start_ordered(agent)

    def executed(self, agent: str, run_id: str) -> None:
        """Promise 2: one live incarnation per agent; a new one only after the old tree is gone."""
        others = sorted(
            {p.run_id for p in self._host.processes.values() if p.agent == agent and p.run_id not in ("", run_id)}
        )
        self.hold(not others, f"{agent} runs {run_id} beside what is left of {others}")
        self._host.seats.executed(agent)

    def prompted(self, agent: str, limited_until: float) -> None:
        """Nothing is asked of an agent before the reset time that its limit named."""
        self.hold(self._host.now >= limited_until, f"{agent} is prompted, and its limit ends at {limited_until:.0f}")

    def hook_acknowledged(self, agent: str, mark: str) -> None:
        """Promise 1: no acknowledged event is lost; the shim forgets it from here on."""
        self.hold(mark in self._host.journal.marks, f"{agent}'s hook {mark} is acknowledged, and not in the journal")

    def armed(self, agent: str, id: str, is_spent: bool) -> None:
        """A daemon that was told by the shim's hello that an answer was given never arms it again."""
        self.hold(not is_spent, f"{agent}'s answer {id} is armed again, and its shim had said that it was given")

    def turn_kept(self, agent: str, times: int) -> None:
        """A turn's end is held up once, never more, whatever was armed meanwhile."""
        self.hold(times <= 1, f"{agent}'s turn was not let end {times} times")

    def turn_saved(
        self, fleet: Fleet, entries: Sequence[StoredEntry], changed: Sequence[Agent], is_behind: bool
    ) -> None:
        """Promises 1 and 6 after every turn: orders stand, decisions have reasons, and what is believed is saved."""
        for stored in entries:
            entry = stored.entry
            self.tell(f"{entry.agent} #{entry.incarnation} {entry.event} -> {entry.state}: {entry.reason}")
            self.hold(entry.state is None or bool(entry.reason), f"{entry.agent} became {entry.state} without a reason")
        for agent in changed:
            forgotten = agent.desired is Desired.RUNNING and self.is_stopped(agent.name)
            self.hold(not forgotten, f"{agent.name}'s acknowledged stop is forgotten")
        for name, agent in fleet.agents.items():
            durable = self._host.journal.facts.get(name)
            known = is_behind or durable == facts_of(agent)
            self.hold(known, f"{name} is {facts_of(agent)}, and the journal says {durable}")
        starting = sum(
            isinstance(agent.state, Starting) and agent.state.run.exec_at is None for agent in fleet.agents.values()
        )
        self.hold(starting <= fleet.limits.max_starting, f"{starting} agents start at once")

    def restored(self, fleet: Fleet) -> None:
        """After a daemon's death: what was acknowledged before it is still so."""
        for name in sorted(self._ordered_down):
            seat = fleet.seats.get(name)
            agent = fleet.agents.get(seat.holder if seat is not None else name)
            self.hold(
                agent is not None and agent.desired is Desired.STOPPED, f"{name}'s acknowledged stop is lost by a crash"
            )

    def healed(self, fleet: Fleet) -> None:
        """At peace: each agent that is wanted runs, nothing else does, and no process is left over."""
        runs = {agent.run.run_id: name for name, agent in fleet.agents.items() if agent.run is not None}
        for process in self._host.processes.values():
            owned = process.run_id == "" or runs.get(process.run_id) == process.agent
            self.hold(owned, f"pid {process.identity.pid} of {process.agent} is left over from {process.run_id}")

    def tell(self, line: str) -> None:
        self._story.append(f"{self._host.now:12.3f} {line}")

    def story(self) -> str:
        return "\n".join(self._story)

    def hold(self, holds: bool, what: str) -> None:
        """Count a check, and break off where it fails."""
        self.checks += 1
        if holds:
            return
        breach = Broken(f"{what}\n{self.story()}")
        self.breaches.append(breach)
        raise breach
