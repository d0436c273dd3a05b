"""A fleet in virtual time, as the situations of the corpus need it: agents that act by scripts, a clock, a host.

It answers what the decisions ask of the outside (a start, an end, a look at the screen, a measurement) at once.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from phoenixd.core.actions import (
    Action,
    Alert,
    Deliver,
    Fence,
    Kill,
    LookAtCall,
    LookAtScreen,
    MeasureWork,
    RecordIncident,
    Spawn,
    Terminate,
)
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import Running, Starting, Stopping
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import CallWorkSeen, EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Rebooted, Tick
from phoenixd.core.events.orders import AgentDeclared, StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, RunAdopted, TreeGone
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.fleet import Fleet
from phoenixd.core.hooks import Hook
from phoenixd.core.moment import Moment
from phoenixd.core.restart import HUNG, OVERTIME
from phoenixd.core.spec import AgentSpec
from phoenixd.core.step import step
from phoenixd.core.turn import liveness
from phoenixd.documents.hooks import hook_event
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.harness import HARNESSES
from tests.core.story import EPOCH
from tests.journaled import dump_agent, load_agent

TURN = 15.0
ENDS = {HUNG: "hung", OVERTIME: "overtime"}
SIGTERM, SIGKILL = 15, 9
TICKS = 100

Act = Callable[[], None]


class World:
    """Agents, their processes and the host, on one virtual clock. `elapsed` counts awake seconds since the begin."""

    def __init__(self, specs: Iterable[AgentSpec], begins: Callable[[str, Run], None], wall: float = EPOCH) -> None:
        self.monotonic, self.wall = 1000.0, wall
        self.began = self.monotonic
        self.clock = self._clock(0.0)
        self.fleet = Fleet()
        self.begins = begins
        self.journal: dict[str, str] = {}
        self.down_until: float | None = None
        self.screens: dict[str, str] = {}
        self.work: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        """When the newest call of each agent began, in clock ticks."""
        self.did: defaultdict[str, list[tuple[int, tuple[float, float]]]] = defaultdict(list)
        """Of each agent what its processes did, seconds of CPU and bytes, with the clock ticks at which they began."""
        self.modes: defaultdict[str, list[str]] = defaultdict(list)
        self.ends: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        self.alerts: Counter[str] = Counter()
        self._queue: list[tuple[float, int, Act]] = []
        self._number = 0
        for spec in specs:
            self.tell(AgentDeclared(spec))
        for name in self.fleet.agents:
            self.tell(StartRequested(name))

    # --- Time

    @property
    def elapsed(self) -> float:
        return self.monotonic - self.began

    @property
    def ticks(self) -> int:
        return int(self.elapsed * TICKS) + 1

    @property
    def now(self) -> Moment:
        moment = self.clock.now()
        self._number += 1
        chance = (self._number * 0.618034) % 1
        return replace(moment, chance=chance, nonce=str(self._number))

    def at(self, elapsed: float, act: Act) -> None:
        """Let something happen at that second; in order where several happen at once."""
        self._number += 1
        heapq.heappush(self._queue, (self.began + elapsed, self._number, act))

    def soon(self, act: Act) -> None:
        self.at(self.elapsed, act)

    def play(self, until: float) -> None:
        """Let time pass until that second, with what happens in it and a Tick at each deadline."""
        end, rings = self.began + until, 0
        while True:
            due = None if self.down_until is not None else next_deadline(self.fleet, self.now)
            # A microsecond more, for two clocks of different bases never add up to the last bit.
            at_due = end + 1 if due is None else self.monotonic + max(0.0, due - self.clock.now().at) + 1e-6
            at_act = self._queue[0][0] if self._queue else end + 1
            following = min(at_due, at_act)
            if following > end:
                break
            rings = rings + 1 if following <= self.monotonic else 0
            assert rings < 1000, "the alarm rings for ever"
            self._pass_over(following - self.monotonic)
            if at_act <= at_due:
                heapq.heappop(self._queue)[2]()
            else:
                self.tell(Tick())
        self._pass_over(end - self.monotonic)

    def _pass_over(self, seconds: float) -> None:
        while seconds > 0:
            turn = min(TURN, seconds)
            seconds -= turn
            self.monotonic, self.wall = self.monotonic + turn, self.wall + turn
            if self.down_until is None:
                self.clock.now()

    def _clock(self, base: float) -> SupervisedClock:
        return SupervisedClock(base, monotonic=lambda: self.monotonic, wall=lambda: self.wall)

    # --- The daemon

    def tell(self, event: Event) -> None:
        result = step(self.fleet, event, self.now)
        self.fleet = result.fleet
        for decision in result.decisions:
            if decision.agent is not None and decision.is_worth_keeping:
                name = decision.agent.name
                self.journal[name] = dump_agent(self.fleet.agents[name])
        for decision in result.decisions:
            for action in decision.actions:
                self._do(action)

    def daemon_down(self, lasts: float) -> None:
        """The daemon dies; the next one begins with what was journaled, and adopts what lives."""
        base = self.clock.now().at
        self.down_until = self.elapsed + lasts

        def back() -> None:
            self.down_until, self.clock = None, self._clock(base)
            self.fleet = replace(self.fleet, agents={name: load_agent(text) for name, text in self.journal.items()})
            for name, agent in self.fleet.agents.items():
                if agent.run is not None and agent.run.pid is not None and agent.run.start_time is not None:
                    self.tell(RunAdopted(name, agent.run.incarnation, agent.run.pid, agent.run.start_time))

        self.at(self.down_until, back)

    def watched(self, act: Act) -> Act:
        """What a daemon that is down hears of only once the next one is there."""

        def when_up() -> None:
            if self.down_until is None:
                act()
            else:
                self.at(self.down_until, when_up)

        return when_up

    def _do(self, action: Action) -> None:
        match action:
            case Spawn(agent=name, mode=mode):
                self.modes[name].append(mode.value)
                self.soon(self.watched(lambda: self._start(name, action.incarnation)))
            case Terminate(agent=name):
                self._note_end(name)
                self.soon(lambda: self.dies(name, action.incarnation, signal=SIGTERM))
            case Kill(agent=name):
                self.soon(lambda: self.dies(name, action.incarnation, signal=SIGKILL))
            case Fence(agent=name):
                self.soon(lambda: self.tell(TreeGone(name, action.incarnation)))
            case LookAtScreen(agent=name):
                self.soon(lambda: self.tell(ScreenSeen(name, action.incarnation, self.screen(name))))
            case LookAtCall(agent=name, ticks=ticks):
                did = [done for began, done in self.did[name] if began >= ticks]
                cpu, io = sum(done[0] for done in did), int(sum(done[1] for done in did))
                self.soon(lambda: self.tell(CallWorkSeen(name, action.incarnation, ticks, cpu, io, len(did))))
            case MeasureWork(agent=name):
                work = f"git:{self.work[name]}"
                self.soon(lambda: self.tell(WorkMeasured(name, action.number, action.at_end, work)))
            case Deliver(agent=name):
                self.soon(lambda: self._delivered(name, action))
            case Alert(kind=kind):
                # The alert of an outage names whose it is behind a colon.
                self.alerts["quarantine" if kind == "quarantined" else kind.partition(":")[0]] += 1
            case RecordIncident() | _:
                pass

    def _note_end(self, name: str) -> None:
        state = self.fleet.agents[name].state
        if isinstance(state, Stopping) and state.code in ENDS:
            self.ends[name].append((self.elapsed, ENDS[state.code]))

    # --- Agents

    def agent(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def lives(self, name: str, incarnation: int) -> bool:
        run = self.agent(name).run if name in self.fleet.agents else None
        return run is not None and run.incarnation == incarnation

    def _start(self, name: str, incarnation: int) -> None:
        run = self.agent(name).run
        if run is None or run.incarnation != incarnation:
            return
        self.tell(AgentStarted(name, incarnation, run.run_id, 100 + incarnation, 1000 + incarnation))
        self.begins(name, run)

    def greets(self, name: str) -> None:
        """The hooks of a start that goes well."""
        agent, run = self.agent(name), self.agent(name).run
        if run is None or not agent.spec.has_hooks:
            return
        self.say(name, "session-start", source="resume" if run.mode.value == "resume" else "startup")
        if liveness.was_told(run, agent.spec):
            self.say(name, "prompt-submit", prompt=agent.spec.prompt or "Go on.")

    def say(self, name: str, kind: str, **payload: Any) -> None:
        """One hook, as the shim passes it on."""
        agent = self.agent(name)
        if agent.run is None:
            return
        hook = hook_event(name, agent.run.incarnation, kind, {"session_id": agent.run.session_id, **payload})
        if kind == "tool-start":
            self.calls[name] = self.ticks
            limit = HARNESSES[agent.spec.harness].call_limit(agent.spec, hook.tool or "")
            hook = replace(hook, ticks=self.ticks, limit=limit)
        self.hear(hook)

    def works(self, name: str, cpu: float, io: float, in_call: bool) -> None:
        """Processes of a run do something: those of its newest call, or others that began before it."""
        self.did[name].append((self.calls[name] + (0 if in_call else -1), (cpu, io)))

    def hear(self, hook: Hook) -> None:
        self.tell(hook)

    def evidence(self, name: str, source: str, age: float | None = None) -> None:
        run = self.agent(name).run
        if run is not None:
            self.tell(EvidenceSeen(name, run.incarnation, source, age))

    def dies(
        self, name: str, incarnation: int, code: int | None = None, signal: int | None = None, **more: Any
    ) -> None:
        """The process of this incarnation ends, if it is the living one."""
        if self.lives(name, incarnation):
            run = self.agent(name).run
            assert run is not None
            self.tell(AgentExited(name, incarnation, run.run_id, code, signal, **more))

    def reboots(self) -> None:
        self.tell(Rebooted(f"boot-{self._number}"))

    def screen(self, name: str) -> str:
        """What a look at its terminal says now."""
        if name in self.screens:
            return self.screens[name]
        state = self.agent(name).state
        if not isinstance(state, Starting | Running):
            return "unknown"
        return "working" if state.activity.turn_open else "idle"

    def _delivered(self, name: str, action: Deliver) -> None:
        if self.lives(name, action.incarnation):
            self.say(name, "prompt-submit", prompt=action.text)
            self.tell(Delivered(name, action.incarnation, action.message_id, "hook"))
