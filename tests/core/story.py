"""A fleet in virtual time: tell it what happened, let time pass as the alarm would, and read what it decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from phoenixd.core.actions import Action, Alert, LookAtCall, LookAtScreen, MeasureWork, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import BackingOff, Running, Starting, State
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import CallWorkSeen, ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, TreeGone
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.step import step
from phoenixd.core.treatment.case import Kept
from phoenixd.documents.hooks import hook_of

A = TypeVar("A", bound=Action)
EPOCH = 1_800_000_000.0


def spec(name: str = "a", **changes: Any) -> AgentSpec:
    """A resident of the open contract; `harness="claude"` gives one that reports by hooks."""
    return replace(AgentSpec(name=name, argv=("agent", "--work"), cwd="/srv/shop"), **changes)


def claude(name: str = "a", **changes: Any) -> AgentSpec:
    return spec(name, **{"harness": "claude", "prompt": "Build the shop.", **changes})


class Story:
    """What happens to a fleet. All shortcuts speak of the first agent unless they are given a name."""

    def __init__(self, *specs: AgentSpec, limits: FleetLimits | None = None) -> None:
        self.fleet = Fleet(limits=limits or FleetLimits())
        self.at, self.wall, self.chance = 0.0, EPOCH, 0.5
        self.decisions: list[Decision] = []
        self.kept: list[Kept] = []
        self.told = 0
        self.screen: str | None = "working"
        """What a look at a silent run's screen finds; None: the look is not answered."""
        self.work: str | None = "new"
        """What a loop's work looks like when it is measured; see `measured`."""
        self.spent: tuple[float, int] | None = (0.0, 0)
        """CPU seconds and bytes that the open call's processes have used in their lives; None: no look is answered."""
        for declared in specs or (spec(),):
            self.tell(AgentDeclared(declared))
        self.decisions.clear()

    @property
    def now(self) -> Moment:
        return Moment(self.at, self.wall, self.chance, nonce=str(self.told))

    @property
    def agent(self) -> Agent:
        return next(iter(self.fleet.agents.values()))

    @property
    def state(self) -> State:
        return self.agent.state

    @property
    def run(self) -> Run:
        run = self.agent.run
        assert run is not None, f"nothing runs: {self.agent.state}"
        return run

    @property
    def actions(self) -> list[Action]:
        return [action for decision in self.decisions for action in decision.actions]

    @property
    def reasons(self) -> list[str]:
        return [decision.reason for decision in self.decisions if decision.reason]

    def of(self, kind: type[A]) -> list[A]:
        """The actions of one kind so far."""
        return [action for action in self.actions if isinstance(action, kind)]

    def alerts(self) -> list[str]:
        return [alert.kind for alert in self.of(Alert)]

    def tell(self, event: Event) -> Refusal | None:
        """Let one event happen now."""
        self.told += 1
        result = step(self.fleet, event, self.now)
        self.fleet = result.fleet
        self.decisions.extend(result.decisions)
        self.kept.extend(result.kept)
        for action in (action for decision in result.decisions for action in decision.actions):
            if isinstance(action, MeasureWork):
                self.measured(action)
            if isinstance(action, LookAtCall) and self.spent is not None:
                self.worked(action)
            if not isinstance(action, LookAtScreen) or self.screen is None:
                continue
            if isinstance(self.fleet.agents[action.agent].state, Running):
                self.tell(ScreenSeen(action.agent, action.incarnation, self.screen))
        return result.refusal

    def measured(self, action: MeasureWork) -> None:
        """Answer a measurement of the work: "new" is other work each time, "late" no answer at all."""
        if self.work == "late":
            return
        found = f"git:{self.told}" if self.work == "new" else self.work
        note = "" if found else "git is slow"
        self.tell(WorkMeasured(action.agent, action.number, action.at_end, found, note, turn=action.turn))

    def worked(self, action: LookAtCall) -> None:
        """Answer a look at the open call's processes."""
        assert self.spent is not None
        self.tell(CallWorkSeen(action.agent, action.incarnation, action.ticks, *self.spent, processes=2))

    def wait(self, seconds: float) -> None:
        """Let time pass, with a Tick at each deadline, as the alarm gives it."""
        until = self.at + seconds
        for _ in range(10_000):
            due = next_deadline(self.fleet, self.now)
            if due is None or due > until:
                break
            self.pass_over(max(0.0, due - self.at))
            self.tell(Tick())
        else:
            raise AssertionError("the alarm rings for ever")
        self.pass_over(max(0.0, until - self.at))

    def pass_over(self, seconds: float) -> None:
        """Let time pass without a Tick."""
        self.at, self.wall = self.at + seconds, self.wall + seconds

    def start(self, **details: Any) -> Refusal | None:
        return self.tell(StartRequested(self.agent.name, **details))

    def stop(self, **details: Any) -> Refusal | None:
        return self.tell(StopRequested(self.agent.name, **details))

    def restart(self, **details: Any) -> Refusal | None:
        return self.tell(RestartRequested(self.agent.name, **details))

    def started(self, pid: int = 100) -> None:
        """exec succeeded."""
        self.tell(AgentStarted(self.agent.name, self.run.incarnation, self.run.run_id, pid, pid * 10))

    def exited(self, code: int | None = None, signal: int | None = None, **details: Any) -> None:
        """The living run ended."""
        self.tell(AgentExited(self.agent.name, self.run.incarnation, self.run.run_id, code, signal, **details))

    def tree_gone(self) -> None:
        self.tell(TreeGone(self.agent.name, self.run.incarnation))

    def hook(self, kind: str, **details: Any) -> None:
        self.tell(hook_of(self.agent.name, self.run.incarnation, kind, **details))

    def runs(self, **hook: Any) -> Story:
        """Bring the agent from wherever it is down to running."""
        if self.agent.run is None:
            self.start()
        self.started()
        if self.agent.spec.has_hooks:
            self.hook("session-start", session_id=self.run.session_id, source="startup", **hook)
        return self

    def works(self) -> Story:
        """Bring the agent to running, in the middle of the turn that it was started with."""
        self.runs()
        self.hook("prompt-submit", text="Build the shop.")
        return self

    def lives(self, seconds: float, code: int | None = None, signal: int | None = None) -> Story:
        """One whole run, whatever starts it; hooks and work included where the harness has them."""
        if self.agent.spec.has_hooks:
            self.works()
        else:
            self.runs()
        self.pass_over(seconds)
        self.exited(code, signal)
        return self

    def respawned(self) -> Story:
        """Let time pass until the next start is ordered."""
        if isinstance(self.state, BackingOff):
            self.wait(self.state.until - self.at)
        assert isinstance(self.state, Starting), self.agent.reason
        return self

    @property
    def spawn(self) -> Spawn:
        """The newest order to start."""
        return self.of(Spawn)[-1]


def all_work(*specs: AgentSpec) -> Story:
    """Each agent is in the middle of its first turn."""
    story = Story(*specs, limits=FleetLimits(max_starting=9))
    for name in story.fleet.agents:
        story.tell(StartRequested(name))
        run = story.fleet.agents[name].run
        assert run is not None
        story.tell(AgentStarted(name, 1, run.run_id, 100, 1000))
        story.tell(hook_of(name, 1, "session-start", session_id=run.session_id, source="startup"))
        story.tell(hook_of(name, 1, "prompt-submit", text="Build the shop."))
    return story
