"""The daemon's smaller ports over the simulated host: processes, launching, records, evidence, alerts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from phoenixd.core.actions import (
    Alert,
    CheckPackage,
    Reassure,
    RecordIncident,
    RecordSessions,
    Spawn,
    UpdatePapers,
    WriteAddendum,
    WritePackage,
)
from phoenixd.core.agent import Agent
from phoenixd.core.boot import Boot
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.handoffs import (
    AddendumWritten,
    PackageChecked,
    PackageFailed,
    PackageWritten,
    PapersFailed,
    PapersUpdated,
)
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.core.work import Survey
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.errors import LaunchFailed, PhoenixdError
from phoenixd.harness.prompts import Prompt
from phoenixd.ports.evidence import AnswerGiven
from phoenixd.ports.journal import Entry
from phoenixd.ports.processes import Fenced, Leftovers, ProcessIdentity, WorkDone
from phoenixd.ports.shims import ShimCommand, ShimHello
from phoenixd.ports.work import WorkReading
from tests.simulate.host import Host, Life
from tests.simulate.orchestrator import OPENING, Orchestrator
from tests.simulate.program import Program


class SimulatedProcesses:
    """Implements ports.ProcessTable."""

    def __init__(self, host: Host, life: Life) -> None:
        self._host = host
        self._life = life
        self._watched: dict[ProcessIdentity, Callable[[], None]] = {}

    def boot_id(self) -> str:
        return self._host.boot_id

    def boot(self) -> Boot:
        return Boot(self._host.boot_id)

    def watch(self, identity: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        process = self._host.find(identity)
        if process is None:
            return False

        def died() -> None:
            if not self._life.is_over:
                self._watched.pop(identity)()

        if identity not in self._watched:
            process.watchers.append(died)
        self._watched[identity] = on_death  # A second watch replaces the first.
        return True

    def identity_of(self, pid: int) -> ProcessIdentity | None:
        found = self._host.processes.get(pid)
        return found.identity if found is not None else None

    def is_alive(self, identity: ProcessIdentity) -> bool:
        return self._host.find(identity) is not None

    def is_below(self, identity: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        # Simulated shims tell the truth.
        return self._host.find(identity) is not None or None

    async def work_since(self, agent: str, incarnation: int, child: ProcessIdentity, ticks: int) -> WorkDone:
        # Simulated calls end by themselves; what hangs does nothing.
        return WorkDone()

    async def fence(self, agent: str, incarnation: int, run_id: str, child: ProcessIdentity | None) -> Fenced:
        killed = []
        for process in self._host.tree(run_id):
            killed.append(f"{process.identity.pid} agent")
            self._host.kill(process)
        await anyio.sleep(self._host.dice.uniform(0.001, 0.3))
        remaining = tuple(process.identity.pid for process in self._host.tree(run_id))
        self._host.seen["fence left processes"] += bool(remaining)
        return Fenced(tuple(killed), remaining)


class SimulatedLauncher:
    """Implements ports.Starter, Papers and Screens; an order is a program that has not begun."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._orders: dict[str, Program] = {}

    def order(self, name: str) -> Program:
        return self._orders.pop(name)

    async def shim_command(self, agent: str) -> ShimCommand:
        return ShimCommand(("shim", agent))

    async def begun_elsewhere(self, shim: ProcessIdentity) -> str | None:
        return None

    async def prepare(self, agent: Agent, spawn: Spawn, hello: ShimHello, epoch: int) -> None:
        """No order: a program that was made and never begun would be one more that the host knows of."""

    def tidy(self, agent: str, incarnation: int) -> None:
        """A simulated run leaves nothing behind it but processes."""

    async def write_order(self, agent: Agent, spawn: Spawn, hello: ShimHello) -> str:
        await anyio.sleep(self._host.dice.uniform(0.001, 0.01))
        if self._host.happens(0.01):
            self._host.seen["order could not be written"] += 1
            raise LaunchFailed("the order cannot be written: no space left on device")
        name = f"/run/{spawn.run_id}"
        program = Orchestrator if agent.spec.seat else Program
        self._orders[name] = program(self._host, agent, spawn)
        return name

    async def opening_words(self, agent: Agent) -> str:
        return agent.spec.prompt or "go on"

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await anyio.sleep(0.001)

    async def record_incident(self, agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        await anyio.sleep(self._host.dice.uniform(0.001, 3.0))
        self._host.seen["incident recorded"] += 1
        return len(screen.splitlines()), "{}"

    def classify(self, agent: Agent, screen: str) -> str:
        return screen or "unknown"

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        return False

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        return None

    def input_line(self, agent: Agent, screen: str) -> str | None:
        return None

    def left(self, agent: Agent, screen: str) -> bool:
        return False

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        return False

    def prompt(self, agent: Agent, text: str) -> Prompt:
        return Prompt(text, is_seen=False)


class SimulatedTranscripts:
    """Implements ports.Transcripts: nothing is ever put off, and nothing is written down."""

    async def end(self, agent: Agent) -> int:
        return 0

    async def ends(self, agent: Agent) -> dict[str, int]:
        return {}

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        return True

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        return ()

    async def facts(self, agent: Agent) -> None:
        return None

    def usage_now(self, agent: Agent) -> None:
        return None

    async def conversation(self, agent: Agent, budget: int = 0) -> None:
        return None


@dataclass(frozen=True, slots=True)
class SimulatedRecords:
    """Implements ports.Records."""

    host: Host

    def exit_record(self, agent: str) -> dict[str, Any] | None:
        return self.host.exit_records.get(agent)

    def run_record(self, agent: str) -> dict[str, Any] | None:
        return None


class SimulatedEvidence:
    """Implements ports.Evidence: heartbeats of the agents that are followed reach the sink."""

    def __init__(self, life: Life, sink: Callable[[Event], None]) -> None:
        self._life = life
        self._sink = sink
        self._followed: dict[str, int] = {}

    def follow(self, agent: Agent) -> None:
        self._followed[agent.name] = agent.incarnation

    def forget(self, agent: str) -> None:
        self._followed.pop(agent, None)

    def beat(self, agent: str) -> None:
        if not self._life.is_over and agent in self._followed:
            self._sink(EvidenceSeen(agent, self._followed[agent], "heartbeat file"))


class SimulatedWork:
    """Implements ports.Work: an iteration changes something or nothing, and sometimes nobody can tell."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._steps: dict[str, int] = {}

    async def measure(self, agent: Agent, since: Survey | None = None) -> WorkReading:
        await anyio.sleep(self._host.dice.uniform(0.01, 3.0))
        if self._host.happens(0.1):
            self._host.seen["work unknown"] += 1
            return WorkReading(None, "git is slow")
        changed = self._host.is_calm or self._host.dice.random() < 0.6
        self._steps[agent.name] = self._steps.get(agent.name, 0) + changed
        return WorkReading(f"git:{self._steps[agent.name]}")

    async def exists(self, directory: str, pattern: str) -> bool:
        return self._host.happens(0.5)

    async def can_enter(self, directory: str) -> bool | None:
        return self._host.happens(0.5)


class SimulatedCleaner:
    """Implements ports.Cleaner: the fence has left nothing over."""

    async def clean(self, agent: Agent, *, dry_run: bool = False) -> Leftovers:
        return Leftovers()


class SimulatedJobs:
    """Implements ports.Jobs: what a worker left says how it ended, and may be slow or impossible to keep."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def collect(self, agent: Agent, task: Task) -> Outcome:
        await anyio.sleep(self._host.dice.uniform(0.01, 5.0))
        if self._host.happens(0.1):
            self._host.seen["collection failed"] += 1
            raise PhoenixdError("the disk is full")
        end = agent.last_exit
        # A transcript ends as the worker did, also where nobody knows how its process ended.
        is_whole = (end is not None and end.code == 0) or self._host.finished[agent.name] > 0
        return Outcome("done" if is_whole else "open", report=f"/tasks/{task.id}/report.md")


class SimulatedNotifier:
    """Implements ports.Notifier."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def tell(self, word: Alert | Reassure) -> None:
        self._host.seen[f"alert: {word.kind}" if isinstance(word, Alert) else f"over: {word.kind}"] += 1
        if isinstance(word, Alert) and word.kind == "quarantined" and word.agent is not None:
            self._host.ledger.given_up(word.agent)


class SimulatedHandover:
    """Implements ports.Handover on a project whose files may be slow, or refuse; each package has another hash."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def update(self, action: UpdatePapers) -> PapersUpdated | PapersFailed:
        if await self._fails("papers were not updated"):
            return PapersFailed(action.agent, action.handoff, "the plan is held by somebody else")
        return PapersUpdated(action.agent, action.handoff)

    async def write(self, action: WritePackage) -> PackageWritten | PackageFailed:
        if await self._fails("no package was written"):
            return PackageFailed(action.agent, action.handoff, "the disk is full")
        made = self._host.project.write(action.agent)
        return PackageWritten(
            action.agent, action.handoff, made.hash, made.word, made.facts, OPENING, "session-1", "session-2"
        )

    async def check(self, action: CheckPackage) -> PackageChecked:
        lost = "phase-02-api/plan.md is not there" if await self._fails("a package was doubted") else ""
        return PackageChecked(action.agent, action.handoff, action.package, missing=lost)

    async def addendum(self, action: WriteAddendum) -> AddendumWritten:
        return AddendumWritten(action.agent, action.handoff)

    async def record(self, action: RecordSessions) -> None:
        """There are no files to say it in."""

    async def _fails(self, what: str) -> bool:
        await anyio.sleep(self._host.dice.uniform(0.01, 3.0))
        if self._host.happens(0.02):
            await anyio.sleep(150.0)
        failed = self._host.happens(0.1)
        self._host.seen[what] += failed
        return failed
