"""The host on which histories happen: shims are lost, processes escape and hide, and agents work until they are ended.

What a case calls an agent that escapes is a process that descends from it, for the kernel ends the shim's own child
together with the shim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from tests.blind.estate import AgeingJournal, Directories
from tests.simulate.host import Host, Process
from tests.simulate.program import Program
from tests.simulate.promises import Promises
from tests.simulate.shim import Run, Shim
from tests.simulate.virtual_loop import VirtualLoop

EXECUTES, ENDS = 0.01, 0.2
"""Seconds that an exec takes, and a polite end."""
BEATS = 60.0


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that the daemon did, or told. what: start, kill, or the kind of an alert; agent: "" for the fleet."""

    at: float
    what: str
    agent: str


class Stage(Host):
    """The host, and what is true of its processes, which the daemon is never told."""

    journal: AgeingJournal

    def __init__(self, loop: VirtualLoop, seed: str, *, leaf: bool) -> None:
        super().__init__(loop, seed)
        self.is_calm = self.is_plain = True
        self.promises = Witness(self)
        self.journal = AgeingJournal(self)
        self.files = Directories(exits=self.exit_records)
        self.leaf = leaf
        self.tables = 1
        self.told: dict[Shim, int] = {}
        self.orphans: dict[str, Process] = {}
        self.unmarked: set[int] = set()
        self.unreadable: set[int] = set()
        self.deeds: list[Deed] = []
        self.doubled: list[str] = []

    def did(self, what: str, agent: str | None) -> None:
        self.deeds.append(Deed(self.now, what, agent or ""))

    def alive(self, agent: str) -> list[Process]:
        """Every process of an agent's, hidden or not; its shim is none."""
        return [one for one in self.processes.values() if one.agent == agent and one.run_id]

    def is_seen(self, process: Process) -> bool:
        """Whether a process can be told to be of its run without a control group."""
        return process.identity.pid not in self.unmarked | self.unreadable

    def living_run(self, agent: str) -> Run | None:
        """The run that lives under the agent's shim."""
        shim = self.shims.get(agent)
        return shim.run if shim is not None and shim.run is not None and shim.run.how is None else None

    def ends_run(self, agent: str) -> None:
        """The daemon is about to end what lives under the agent's shim."""
        if self.living_run(agent) is not None:
            self.did("kill", agent)

    def restart_container(self) -> None:
        self.end_all()
        self.tables += 1


class Witness(Promises):
    """Sees two processes of one agent side by side. All else is judged by the verdicts of the case."""

    _host: Stage

    def executed(self, agent: str, run_id: str) -> None:
        if others := [one for one in self._host.alive(agent) if self._host.leaf or self._host.is_seen(one)]:
            pids = ", ".join(str(one.identity.pid) for one in others)
            self._host.doubled.append(f"{agent}: a run begins at {self._host.now:.1f} s beside process {pids}")

    def hold(self, holds: bool, what: str) -> None:
        """The promises of a world whose journal is never lost."""


class QuietProgram(Program):
    """An agent that works, and writes its heartbeat, until somebody ends it."""

    _host: Stage

    def __init__(self, host: Stage, agent: Agent, spawn: Spawn, epoch: int) -> None:
        super().__init__(host, agent, spawn)
        self.epoch = epoch

    @property
    def session_id(self) -> str:
        return self._spawn.session_id

    def exec_delay(self) -> float:
        return EXECUTES

    def refusal(self) -> dict[str, Any] | None:
        return None

    def begin(self, shim: Shim, run: Run) -> None:
        self._shim, self._run = shim, run
        child = run.child.identity
        self._host.did("start", shim.agent)
        self._host.files.runs[shim.agent] = {
            "incarnation": run.incarnation, "run_id": run.run_id, "session_id": self.session_id,
            "mode": self.mode.value, "child": {"pid": child.pid, "start_time": child.start_time},
            "began_wall": self._host.wall, "epoch": self.epoch, "boot_id": self._host.boot_id,
        }  # fmt: skip
        self._beat_on()

    def asked_to_end(self) -> None:
        if self._run.how is None:
            self._host.did("kill", self._agent.name)
            self._after(ENDS, lambda: self._shim.end(self._run, None, 15, "exit"))

    def prompt(self, text: str) -> None:
        """It works already."""

    def _beat_on(self) -> None:
        self._host.heartbeat(self._agent.name)
        self._after(BEATS, self._beat_on)
