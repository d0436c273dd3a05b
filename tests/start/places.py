"""Papers and a starter in directories of their own, and agents in the states that a start meets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.actions import Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import LastExit, Mode, Run, Session
from phoenixd.core.agent.state import BackingOff, Desired, Running, Starting, Stopped
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.documents.workspace import GitSummary
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.memory.papers import Papers
from phoenixd.ports.journal import Entry
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.start.programs import Programs
from phoenixd.start.starter import Starter
from phoenixd.start.variables import Variables

NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC).timestamp()
RUN_ID = "11111111-2222-4333-8444-555555555555"
SESSION_ID = f"99999999-2222-4333-8444-{os.getpid():012x}"
"""Of this run's tests alone: a process that another run starts with it would be found in the same session."""


@dataclass
class HandClock:
    """Time that stands until a test moves it."""

    wall: float = NOW
    slept: list[float] = field(default_factory=list)
    stands_still: bool = False
    """Whether all sleeps last for ever."""

    def now(self) -> Moment:
        return Moment(self.wall, self.wall, 0.5, "nonce")

    def at(self) -> float:
        return self.wall

    async def sleep_until(self, at: float) -> None:
        if self.stands_still:
            await anyio.sleep_forever()
        self.slept.append(at)
        self.wall = max(self.wall, at)


@dataclass
class Git:
    """Stands in for the git driver, and counts how often it is asked."""

    summary: GitSummary | None = None
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def __call__(self, directory: str, limit: float) -> GitSummary | None:
        self.asked.append((directory, limit))
        return self.summary


class Room:
    """Directories, a clock and what a daemon has for agent `a`."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None, **settings: Any) -> None:
        self.work = root / "work"
        self.work.mkdir(exist_ok=True)
        self.directories = Directories(None, root / "state", root / "run")
        self.home = root / "home"
        self.home.mkdir(exist_ok=True)
        self.environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **(environ or {})}
        self.settings = ConfigurationTable.model_validate(settings)
        self.clock = HandClock()
        self.git = Git()
        self.options: dict[str, Any] = {}
        self.papers = self.restarted()

    def restarted(self) -> Papers:
        """A new daemon's papers and starter over the same directories. options: those of its papers."""
        self.programs = Programs(self.directories.state, plain_files)
        self.variables = Variables(self.environ, plain_files)
        self.transcripts = TranscriptFiles(self.variables.transcript_of)
        self.papers = Papers(
            directories=self.directories,
            settings=self.settings,
            clock=self.clock,
            files=plain_files,
            git=self.git,
            secrets_of=self.variables.secrets,
            base=self.variables.base,
            session_of=self.transcripts.facts_now,
            **self.options,
        )
        self.starter = Starter(
            directories=self.directories,
            create_leaf=None,
            clock=self.clock,
            files=plain_files,
            programs=self.programs,
            variables=self.variables,
            publication=self.papers.publication,
            **{name: value for name, value in self.options.items() if name in ("agents", "tell")},
        )
        return self.papers

    @property
    def state(self) -> Path:
        return self.directories.agent_state("a")

    def spec(self, **changes: Any) -> AgentSpec:
        return replace(AgentSpec("a", ("agent", "--flag"), str(self.work), prompt="Do it."), **changes)

    def agent(self, spec: AgentSpec | None = None, **changes: Any) -> Agent:
        return replace(Agent(spec or self.spec(), Desired.STOPPED, Stopped(), NOW, "declared"), **changes)

    def starting(self, agent: Agent, mode: Mode = Mode.FRESH, prompt: PromptKind = PromptKind.GOAL) -> Agent:
        run = Run(agent.incarnation + 1, RUN_ID, mode, SESSION_ID, prompt, self.clock.wall, self.clock.wall)
        state = Starting(run, Activity(False, self.clock.wall, self.clock.wall), self.clock.wall + 60)
        session = agent.session or Session(SESSION_ID, NOW, NOW)
        changes = {"state": state, "incarnation": run.incarnation, "session": session, "desired": Desired.RUNNING}
        return replace(agent, **changes)  # type: ignore[arg-type]

    def running(self, agent: Agent, *, turn_open: bool = True) -> Agent:
        state = self.starting(agent).state
        assert isinstance(state, Starting)
        run = replace(state.run, session_seen=True, evidence=True, pid=1, start_time=1)
        activity = Activity(turn_open, self.clock.wall, self.clock.wall)
        return replace(self.starting(agent), state=Running(run, activity))

    def crashed(self, agent: Agent) -> Agent:
        last = LastExit(agent.incarnation, None, 9, "exit", 60.0, self.clock.wall)
        return replace(agent, state=BackingOff(0.0, Mode.RESUME, PromptKind.CONTINUE), last_exit=last)

    async def order(
        self, agent: Agent, mode: Mode = Mode.FRESH, prompt: PromptKind = PromptKind.GOAL
    ) -> dict[str, Any]:
        """Write an order for the agent's next run, and what is published behind it; return the order's content."""
        order = await self.bare_order(agent, mode, prompt)
        await self.papers.publish(self.starting(agent, mode, prompt), [])
        return order

    async def bare_order(
        self, agent: Agent, mode: Mode = Mode.FRESH, prompt: PromptKind = PromptKind.GOAL
    ) -> dict[str, Any]:
        """Write an order for the agent's next run alone, and return its content."""
        starting = self.starting(agent, mode, prompt)
        spawn = Spawn("a", starting.incarnation, starting.run.run_id if starting.run else "", mode, SESSION_ID, prompt)
        shim = ShimHello("a", ProcessIdentity("boot", 1, 1), 1, "0.1.0", 40001, None, None)
        path = await self.starter.write_order(starting, spawn, shim)
        content: dict[str, Any] = json.loads(Path(path).read_bytes())
        return content

    def write_down(self, agent: Agent, line: bytes) -> None:
        """Add a line to the transcript that the agent's session writes."""
        path = self.variables.transcript_of(agent)
        assert path is not None
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("ab") as file:
            file.write(line)

    def document(self, name: str = "state.json") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / name).read_bytes())
        return found

    def text(self, name: str) -> str:
        return (self.state / name).read_text()


def entry(event: str, state: str = "running", reason: str = "", incarnation: int = 1, **detail: Any) -> Entry:
    return Entry(NOW, NOW, "a", incarnation, event, detail, state, reason)
