"""Situations of an agent in virtual time, told as a table: what happens at which minute, and what must come of it.

The clock is the daemon's own, on a monotonic and a wall time that the situation sets; hook inputs are read by the
daemon's own reader; a daemon that was down begins with what the journal had kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from phoenixd.core.actions import LookAtCall, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.runs import AgentExited, RunAdopted
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.hooks import hook_event
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.harness import HARNESSES
from tests.core.story import EPOCH, Story, claude
from tests.journaled import dump_agent, load_agent

MINUTE, HOUR, YEAR = 60.0, 3600.0, 365 * 86400.0
TURN = 15.0
TINY = 1e-6
"""How often the daemon reads its clock at least."""
EXACT = 0.2
"""Minutes by which an end may be late: a look at the screen comes first."""

Step = Callable[["Watched"], None]
Timed = tuple[float, Step]


@dataclass(frozen=True, slots=True)
class Situation:
    """One row. ends: minute and exit code of the end that must come; None: nobody may end it within `watched`.

    Minutes are those in which somebody could watch. begins_turn: the agent takes the prompt that it was started with.
    """

    name: str
    steps: tuple[Timed, ...]
    ends: tuple[float, int] | None = None
    alerts: tuple[str, ...] = ()
    specs: tuple[AgentSpec, ...] = (claude(),)
    begins_turn: bool = True
    watched: float = 6 * 60.0
    late: float = EXACT
    """Minutes by which the end may come later: an answered dialog is seen at the next look only."""

    def play(self) -> tuple[tuple[float, int | None] | None, tuple[str, ...], Watched]:
        """The minute and code of the first end, if there was one, and the alerts until then."""
        watched = Watched(*self.specs)
        watched.begin(self.begins_turn)
        for minute, step in sorted(self.steps, key=lambda timed: timed[0]):
            watched.wait_until(minute)
            if watched.ended is not None:
                break
            step(watched)
        watched.wait_until(self.watched)
        alerts = tuple(watched.alerts())
        if watched.ended is None:
            return None, alerts, watched
        watched.exited(143)
        last = watched.agent.last_exit
        return (watched.ended, last.code if last else None), alerts, watched


class Watched(Story):
    """A story on the daemon's clock. The first agent is the one that the row is about."""

    def __init__(self, *specs: AgentSpec) -> None:
        self.monotonic, self.wall_time = 1000.0, EPOCH
        self.clock = SupervisedClock(monotonic=lambda: self.monotonic, wall=lambda: self.wall_time)
        self.journal: dict[str, str] = {}
        self.began = 0.0
        self.ended: float | None = None
        self.burns, self.burnt, self.burns_since = (0.0, 0.0), (0.0, 0.0), 0.0
        super().__init__(*specs)

    @property
    def at(self) -> float:
        return self.clock.now().at

    @at.setter
    def at(self, value: float) -> None:
        """Time passes by the clock alone."""

    @property
    def now(self) -> Moment:
        return replace(self.clock.now(), chance=self.chance, nonce=str(self.told))

    @property
    def minute(self) -> float:
        return (self.at - self.began) / MINUTE

    def begin(self, begins_turn: bool) -> None:
        for spec in [agent.spec for agent in self.fleet.agents.values()]:
            self.named(spec.name)
            if begins_turn and spec.has_hooks:
                self.works()
            elif self.agent.run is None:
                self.start()
                self.started()
        self.named(next(iter(self.journal)))
        self.began = self.at

    def named(self, name: str) -> None:
        """Make this agent the one that shortcuts speak of."""
        agents = dict(self.fleet.agents)
        self.fleet = replace(self.fleet, agents={name: agents.pop(name), **agents})

    def tell(self, event: Event) -> Any:
        before = len(self.decisions)
        refusal = super().tell(event)
        for decision in self.decisions[before:]:
            if decision.agent is not None and decision.is_worth_keeping:
                self.journal[decision.agent.name] = dump_agent(self.fleet.agents[decision.agent.name])
        for decision in self.decisions[before:]:
            for action in decision.actions:
                if isinstance(action, Terminate):
                    self._terminated(action.agent)
        return refusal

    def _terminated(self, name: str) -> None:
        """The first agent's end is the end of the story; its neighbours end, and stay down."""
        if name == self.agent.name:
            self.ended = self.minute
            return
        run = self.fleet.agents[name].run
        if run is None:
            return
        self.tell(StopRequested(name))
        self.tell(AgentExited(name, run.incarnation, run.run_id, 143, None))

    def wait_until(self, minute: float) -> None:
        """Let time pass, with a Tick at each deadline, until that minute or the end of the agent."""
        until = self.began + minute * MINUTE
        while self.ended is None and (due := next_deadline(self.fleet, self.now)) is not None and due <= until:
            # A remainder too small for the clock to count would let no time pass at all.
            self.pass_over(max(due - self.at, TINY))
            self.tell(Tick())
        if self.ended is None:
            self.pass_over(until - self.at)

    def pass_over(self, seconds: float) -> None:
        while seconds > 0:
            turn = min(TURN, seconds)
            seconds -= turn
            self.monotonic, self.wall_time = self.monotonic + turn, self.wall_time + turn
            self.clock.now()

    def say(self, kind: str, name: str | None = None, **payload: Any) -> None:
        """One hook, as the shim passes it on."""
        agent = self.fleet.agents[name or self.agent.name]
        event = hook_event(agent.name, agent.incarnation, kind, {"session_id": self.run.session_id, **payload})
        if kind == "tool-start":
            limit = HARNESSES[agent.spec.harness].call_limit(agent.spec, event.tool or "")
            event = replace(event, ticks=int(self.at * 100), limit=limit)
        self.tell(event)

    def burn(self, cpu: float, mib: float) -> None:
        """From now on what the open call started uses so much in a minute, and nothing tells of it."""
        self.burnt, self.burns_since, self.burns = self.used, self.at, (cpu, mib)

    @property
    def used(self) -> tuple[float, float]:
        minutes = (self.at - self.burns_since) / MINUTE
        return self.burnt[0] + self.burns[0] * minutes, self.burnt[1] + self.burns[1] * minutes

    def worked(self, action: LookAtCall) -> None:
        cpu, mib = self.used
        self.spent = cpu, int(mib * 1024 * 1024)
        super().worked(action)

    def evidence(self, source: str, age: float | None = None) -> None:
        self.tell(EvidenceSeen(self.agent.name, self.agent.incarnation, source, age))

    def restart_daemon(self, down: float) -> None:
        """The daemon dies, and after `down` seconds the next one begins with what was journaled, and adopts."""
        self.monotonic, self.wall_time = self.monotonic + down, self.wall_time + down
        base = self.at_last_reading
        self.clock = SupervisedClock(base, monotonic=lambda: self.monotonic, wall=lambda: self.wall_time)
        restored: dict[str, Agent] = {name: load_agent(self.journal[name]) for name in self.fleet.agents}
        self.fleet = replace(self.fleet, agents=restored)
        for name, agent in restored.items():
            run = agent.run
            if run is not None and run.pid is not None and run.start_time is not None:
                self.tell(RunAdopted(name, run.incarnation, run.pid, run.start_time))

    @property
    def at_last_reading(self) -> float:
        return self.clock._at


# Steps.


def prompt(text: str = "Go on.") -> Step:
    return lambda watched: watched.say("prompt-submit", prompt=text)


def stop(kind: str = "stop", **payload: Any) -> Step:
    return lambda watched: watched.say(kind, **payload)


def hook(kind: str, **payload: Any) -> Step:
    return lambda watched: watched.say(kind, **payload)


def begins(tool: str, call: str = "t1", minutes: float | None = None, sub: bool = False, **more: Any) -> Step:
    """PreToolUse; minutes: the timeout that the call declares, as Claude Code writes it."""
    given = {"command": "make"} if minutes is None else {"command": "make", "timeout": int(minutes * 60_000)}
    whose = {"agent_id": "explorer"} if sub else {}
    return lambda watched: watched.say(
        "tool-start", tool_name=tool, tool_use_id=call, tool_input=given, **whose, **more
    )


def ends(tool: str, call: str = "t1", sub: bool = False, kind: str = "tool-end", name: str | None = None) -> Step:
    whose = {"agent_id": "explorer"} if sub else {}
    return lambda watched: watched.say(kind, name, tool_name=tool, tool_use_id=call, **whose)


def asks(tool: str = "Bash", sub: bool = False) -> Step:
    whose = {"agent_id": "explorer"} if sub else {}
    return lambda watched: (
        _look(watched, "permission"),
        watched.say("permission-request", tool_name=tool, tool_input={"command": "make deploy"}, **whose),
    )[0]


def allows() -> Step:
    """A person says yes: no hook tells of it, the dialog leaves the screen."""
    return lambda watched: _look(watched, "working")


def sees(verdict: str) -> Step:
    """From now on a look at its screen says this."""
    return lambda watched: _look(watched, verdict)


def shows(verdict: str) -> Step:
    """A look at the screen of a run that has not told of itself says this."""
    return lambda watched: watched.tell(ScreenSeen(watched.agent.name, watched.agent.incarnation, verdict))


def grows() -> Step:
    """The transcript becomes longer."""
    return lambda watched: watched.evidence("transcript")


def beats(age: float | None = 0.0) -> Step:
    """Some hand writes a heartbeat; age: how old it says it is, in minutes."""
    return lambda watched: watched.evidence("heartbeat", None if age is None else age * MINUTE)


def burns(cpu: float = 0.0, mib: float = 0.0) -> Step:
    """From now on the processes of the open call use `cpu` seconds of CPU, and MiB of storage, in a minute."""
    return lambda watched: watched.burn(cpu, mib)


def suspends(seconds: float) -> Step:
    """The host sleeps: CLOCK_MONOTONIC stands still."""

    def step(watched: Watched) -> None:
        watched.wall_time += seconds

    return step


def freezes(seconds: float) -> Step:
    """The daemon is stopped, or its virtual machine is: time goes on, and nobody reads it."""

    def step(watched: Watched) -> None:
        watched.monotonic += seconds
        watched.wall_time += seconds
        watched.clock.now()

    return step


def sets_clock(seconds: float) -> Step:
    """Somebody sets the wall clock."""
    return suspends(seconds)


def daemon_down(seconds: float) -> Step:
    return lambda watched: watched.restart_daemon(seconds)


def rechecks() -> Step:
    """`phoenixctl watchdog --once`, by cron."""

    def step(watched: Watched) -> None:
        run = watched.run
        watched.tell(RunAdopted(watched.agent.name, run.incarnation, run.pid or 0, run.start_time or 0, False))

    return step


def every(minutes: float, until: float, *steps: Step, since: float = 0.0) -> Iterator[Timed]:
    """The same again at each interval, `until` included."""
    count = int((until - since) / minutes)
    for number in range(1, count + 1):
        for step in steps:
            yield since + number * minutes, step


def timed(*parts: Timed | Iterable[Timed]) -> tuple[Timed, ...]:
    """Single steps and series in one table cell."""
    found: list[Timed] = []
    for part in parts:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], int | float):
            found.append((float(part[0]), part[1]))  # type: ignore[arg-type]
        else:
            found.extend(part)  # type: ignore[arg-type]
    return tuple(found)


def _look(watched: Watched, verdict: str) -> None:
    watched.screen = verdict
