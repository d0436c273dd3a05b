"""A model of the world outside the core: what really lives, what was ordered and not done yet, what was not heard yet.

It is honest and unreliable. An exit record or a fence's word is given only when the tree is really gone; but orders
are obeyed late, twice or never, words arrive late, twice or never, shims die and leave their trees behind, and some
processes outlive SIGKILL for a while.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from phoenixd.core.actions import (
    Action,
    Deliver,
    Fence,
    InterruptTurn,
    Kill,
    LookAtScreen,
    LookForFile,
    MeasureWork,
    ObserveTerminal,
    Release,
    SeeAttendance,
    Spawn,
    Terminate,
)
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.fleet import TerminalSeen
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    Delivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.core.events.work import FileLooked, WorkMeasured

TERMINAL = "terminal"
"""The lane and the mailbox of what concerns no single agent."""


@dataclass(slots=True)
class Process:
    """A run's tree. guarded: its shim lives and takes orders about it. headless: only descendants are left."""

    agent: str
    incarnation: int
    run_id: str
    pid: int
    guarded: bool = True
    ignores_term: bool = False
    outlives_kill: bool = False
    headless: bool = False


@dataclass(slots=True)
class Luck:
    """How the next thing that is tried turns out."""

    start_code: int | None = None
    terminal_alive: bool = True
    screen: str = "unknown"
    work: str | None = "git:1"
    ignores_term: bool = False
    attended: bool | None = False


@dataclass(slots=True)
class Outside:
    """All that the core cannot see."""

    processes: dict[str, list[Process]] = field(default_factory=lambda: defaultdict(list))
    lanes: dict[str, deque[Action]] = field(default_factory=lambda: defaultdict(deque))
    mail: dict[str, deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    records: dict[str, AgentExited] = field(default_factory=dict)
    pids: int = 100

    def living(self, agent: str) -> Process | None:
        return self.processes[agent][-1] if self.processes[agent] else None

    def submit(self, action: Action) -> None:
        match action:
            case (
                MeasureWork()
                | LookForFile()
                | Spawn()
                | Terminate()
                | Kill()
                | Fence()
                | Release()
                | Deliver()
                | LookAtScreen()
                | InterruptTurn()
                | SeeAttendance()
            ):
                self.lanes[action.agent].append(action)
            case ObserveTerminal():
                self.lanes[TERMINAL].append(action)

    def forget(self) -> None:
        """The daemon died: what it had not done is not done, what it had not heard is not heard."""
        self.lanes.clear()
        self.mail.clear()

    def perform(self, action: Action, agent: Agent | None, luck: Luck) -> None:
        """Do what an action says, as performer and shim would; `agent` is the agent as it is decided now."""
        match action:
            case Spawn():
                self._spawn(action, agent, luck)
            case Terminate():
                process = self._under_shim(action.agent, action.incarnation)
                if process is not None and not process.ignores_term:
                    self.die(process, 143)
            case Kill():
                process = self._under_shim(action.agent, action.incarnation)
                if process is not None:
                    self._kill(process)
            case Fence():
                self._fence(action)
            case Release():
                assert not self.processes[action.agent], "an agent was let go while it lived"
            case LookAtScreen():
                self.mail[action.agent].append(ScreenSeen(action.agent, action.incarnation, luck.screen))
            case InterruptTurn():
                self.mail[action.agent].append(ScreenSeen(action.agent, action.incarnation, luck.screen, "escape"))
            case SeeAttendance():
                self.mail[action.agent].append(AttendanceSeen(action.agent, action.incarnation, luck.attended))
            case LookForFile():
                exists = luck.work is not None
                self.mail[action.agent].append(FileLooked(action.agent, action.number, action.turn, exists))
            case MeasureWork():
                measured = WorkMeasured(action.agent, action.number, action.at_end, luck.work)
                self.mail[action.agent].append(measured)
            case Deliver():
                word = Delivered(action.agent, action.incarnation, action.message_id, "typed")
                self.mail[action.agent].append(word)
            case ObserveTerminal():
                self.mail[TERMINAL].append(TerminalSeen(luck.terminal_alive))

    def _spawn(self, action: Spawn, agent: Agent | None, luck: Luck) -> None:
        if agent is None or agent.run is None or agent.run.incarnation != action.incarnation:
            return
        present = self.living(action.agent)
        if present is not None and present.incarnation == action.incarnation:
            self._refuse(action, 0, "busy")
        elif present is not None and present.guarded:
            self.die(present, None, 9)
            self._refuse(action, 0, "another run was alive under the shim")
        elif not isinstance(agent.state, Starting):
            self._refuse(action, 0, "it was no longer wanted")
        elif luck.start_code is not None:
            self._refuse(action, luck.start_code, "it cannot be started")
        else:
            self.pids += 1
            process = Process(action.agent, action.incarnation, action.run_id, self.pids)
            process.ignores_term = luck.ignores_term
            self.processes[action.agent].append(process)
            started = AgentStarted(action.agent, action.incarnation, action.run_id, self.pids, self.pids)
            self.mail[action.agent].append(started)

    def _refuse(self, action: Spawn, code: int, why: str) -> None:
        self.mail[action.agent].append(StartFailed(action.agent, action.incarnation, code, why))

    def _under_shim(self, agent: str, incarnation: int) -> Process | None:
        process = self.living(agent)
        return process if process is not None and process.guarded and process.incarnation == incarnation else None

    def _kill(self, process: Process) -> None:
        if process.outlives_kill:
            self.mail[process.agent].append(TreeLingers(process.agent, process.incarnation, (process.pid,)))
        else:
            self.die(process, None, 9)

    def _fence(self, action: Fence) -> None:
        for process in [one for one in self.processes[action.agent] if one.run_id == action.run_id]:
            if process.guarded or process.outlives_kill:
                self._kill(process)
                return
            self.processes[action.agent].remove(process)
        record = self.records.get(action.agent)
        known = record is not None and record.run_id == action.run_id
        self.mail[action.agent].append(record if record and known else TreeGone(action.agent, action.incarnation))

    def die(self, process: Process, code: int | None, signal: int | None = None, cause: str = "exit") -> None:
        """End a tree. Its shim leaves a record and tells; without a shim only the kernel tells of the child."""
        self.processes[process.agent].remove(process)
        if not process.guarded:
            self.mail[process.agent].append(AgentVanished(process.agent, process.incarnation))
            return
        record = AgentExited(process.agent, process.incarnation, process.run_id, code, signal, cause)
        self.records[process.agent] = record
        self.mail[process.agent].append(record)

    def lose_head(self, process: Process) -> None:
        """The agent itself dies; its descendants live on for a while, and so the shim has not told its end yet."""
        process.headless = True
        self.mail[process.agent].append(AgentVanished(process.agent, process.incarnation))

    def lose_shim(self, process: Process) -> None:
        process.guarded = False
        self.mail[process.agent].append(ShimLost(process.agent, process.incarnation))

    def reconcile(self, agent: Agent) -> Event | None:
        """What is found out about an agent's run at daemon start, or when a lost link is back."""
        run, process = agent.run, self.living(agent.name)
        if run is None:
            return None
        if process is not None and process.guarded and not process.headless and process.run_id == run.run_id:
            return RunAdopted(agent.name, run.incarnation, process.pid, process.pid)
        record = self.records.get(agent.name)
        if record is not None and record.run_id == run.run_id and process is None:
            return record
        return RunMissing(agent.name, run.incarnation)
