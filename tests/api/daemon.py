"""A daemon in memory: the real core decides, and a performer that always succeeds answers its actions."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from phoenixd.api.finding import Finding
from phoenixd.api.rights import Seated
from phoenixd.api.service import Attendant
from phoenixd.api.values import (
    BriefPage,
    Change,
    Dismiss,
    Facts,
    LoopCounts,
    LoopsRead,
    MarkerFace,
    MemoryFace,
    Planned,
    RebuiltMarker,
    Rechecked,
)
from phoenixd.core.actions import (
    Action,
    AnswerHold,
    CollectTask,
    Deliver,
    Kill,
    MeasureWork,
    PlantCodes,
    Spawn,
    Terminate,
)
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event, is_journaled
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.handoffs import PackageWritten, PapersUpdated
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    HandoffRequested,
    SendRequested,
    StartRequested,
    UndoRequested,
)
from phoenixd.core.events.resonance import CodesPlanted
from phoenixd.core.events.runs import AgentExited, AgentStarted, Delivered, HoldAnswered, NotDelivered, StartFailed
from phoenixd.core.events.tasks import TaskCollected, TaskRequested
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.facts import HandoffEnded, RunProductive, StateOpened
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.hooks import Hook, PromptSubmitted
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.moment import Moment
from phoenixd.core.seat.state import project_of
from phoenixd.core.sight import NOTHING, Sight
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.step import step
from phoenixd.core.tasks.state import Outcome
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.hooks import hook_of
from phoenixd.documents.log_lines import LogLine, merged
from phoenixd.documents.project.memory import Provenance, SharedFile
from phoenixd.documents.project.package import Doubts
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.redact import redact, redact_json
from phoenixd.documents.resolved import Resolved
from phoenixd.documents.resonance.marker import mint
from phoenixd.documents.state import OpenLoop
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.errors import BadProject
from phoenixd.planting import Marker, Planting
from phoenixd.ports.journal import (
    Batch,
    Entry,
    KeptCase,
    KeptIncident,
    KeptLife,
    KeptMark,
    KeptTreatment,
    Saved,
    StoredEntry,
)
from phoenixd.ports.processes import Leftovers
from phoenixd.runtime import cases
from phoenixd.runtime.describe import describe_actions

FIXTURE_EPOCH = 1_795_200_000.0


class MemoryJournal:
    """Journal of ports.py in a list."""

    def __init__(self) -> None:
        self.rows: list[StoredEntry] = []
        self.facts: dict[str, str] = {}
        self.kept_incidents: list[KeptIncident] = []
        self.kept_treatments: dict[tuple[str, int], KeptTreatment] = {}

    def load(self) -> Saved:
        return Saved()

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        return tuple(self.append(entry) for entry in batch.entries)

    def append(self, entry: Entry) -> int:
        self.rows.append(StoredEntry(len(self.rows) + 1, entry))
        return len(self.rows)

    async def read(
        self,
        *,
        agent: str | Sequence[str] | None = None,
        after: int = 0,
        since_wall: float | None = None,
        limit: int = 1000,
        newest: bool = False,
        story: bool = False,
        before: int | None = None,
    ) -> list[StoredEntry]:
        rows = [
            row
            for row in self.rows[after:]
            if (before is None or row.seq < before)
            and (agent is None or row.entry.agent in ((agent,) if isinstance(agent, str) else agent))
            and (since_wall is None or row.entry.wall >= since_wall)
            and (not story or row.entry.weight == "story")
        ]
        return rows[-limit:] if newest else rows[:limit]

    async def treatments(self) -> list[KeptTreatment]:
        return list(self.kept_treatments.values())

    async def case(self, case_id: str) -> KeptCase | None:
        incidents = tuple(one for one in self.kept_incidents if one.case_id == case_id)
        treatments = tuple(one for one in self.kept_treatments.values() if one.case_id == case_id)
        return KeptCase(case_id, incidents, treatments) if incidents or treatments else None

    async def remember(self, key: str, value: str) -> None:
        self.facts[key] = value

    async def handoffs(self, seat: str, limit: int) -> list[Handoff]:
        told = [fact.handoff for row in self.rows for fact in row.entry.facts if isinstance(fact, HandoffEnded)]
        newest = {one.id: one for one in told if one.seat == seat}
        return list(reversed(newest.values()))[:limit]

    async def lives(self, names: Sequence[str], limit: int) -> list[KeptLife]:
        return [KeptLife(names[0] if isinstance(names, tuple) else names, 1, "r", "s", "fresh", FIXTURE_EPOCH)][:limit]

    samples: list[UsageSample] = []  # noqa: RUF012 - a test sets its own

    async def usage(self, names: Sequence[str], since: float | None, limit: int) -> list[UsageSample]:
        return [one for one in self.samples if one.agent in names and one.wall >= (since or 0.0)][-limit:]

    async def marks(self, names: Sequence[str], limit: int) -> list[KeptMark]:
        return []

    async def recall(self, key: str) -> str | None:
        return self.facts.get(key)


@dataclass
class SpokenLog:
    """LogReader of the API over what a FakeDaemon's agents said."""

    daemon: FakeDaemon
    given: dict[str, int] = field(default_factory=dict)

    async def newest(self, names: Sequence[str], most: int, since: float | None, now: float) -> list[LogLine]:
        return merged(self._lines(names, most, since), most, now)

    async def added(self, names: Sequence[str], since: float, most: int) -> tuple[list[LogLine], bool]:
        return self._lines(names, most, since), False

    def resume(self, places: Mapping[str, str]) -> None:
        self.given.update({name: int(place, 16) for name, place in places.items()})

    def places(self) -> dict[str, str]:
        return {name: f"{number:x}" for name, number in self.given.items()}

    def _lines(self, names: Sequence[str], most: int, since: float | None) -> list[LogLine]:
        found: list[LogLine] = []
        for name in names:
            known = [line for line in self.daemon.spoken if line.agent == name]
            if name in self.given:
                found += known[self.given[name] :]
            else:
                found += [line for line in known if since is None or (line.at or 0.0) >= since][-most:]
            self.given[name] = len(known)
        return found


@dataclass
class FakeDaemon:
    """Implements `Service`. `performs` False leaves every action unanswered, as a hung outside would."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    state: Fleet = field(default_factory=Fleet)
    wall_offset: float = 0.0
    stands_at: float | None = None
    """Wall time of a clock that only moves by hand; None for the real one."""
    performs: bool = True
    started_at: float = 1_764_000_000.0
    delivers: str | None = "prompt-submit"
    """Evidence of delivered texts; None lets every delivery fail."""
    outlives: bool = False
    """What is to end does not."""
    is_slow: bool = False
    """What became of an answer, or of a text, comes later."""
    terminal_first: bool = False
    """Whether every answer to a held request comes too late."""
    fails_with: int | None = None
    """Exit code of every start: 126 or 127."""
    tokens: dict[str, str] = field(default_factory=dict)
    removed: dict[str, AgentSpec] = field(default_factory=dict)
    not_back: dict[str, Refusal] = field(default_factory=dict)
    spoken: list[LogLine] = field(default_factory=list)
    """What all transcripts say."""
    shims: dict[int, str] = field(default_factory=dict)
    agents_cgroup: str | None = None
    agents_dir: str = ""
    panes: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    heartbeats: dict[str, Mapping[str, object]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = (Finding("ok", "tmux", "3.3a answers"),)
    changes: tuple[Change, ...] = ()
    leftovers: Leftovers = field(default_factory=Leftovers)
    degraded: str | None = None
    tmux: str | None = "3.3a"
    work: str | None = "git:1"
    """How every agent's work looks, whenever it is measured."""
    ended: bool = False
    dismissed: Dismiss = "none"
    tables: dict[str, dict[str, object]] = field(default_factory=dict)
    """What was added, as it was declared."""
    trees: dict[tuple[str, str], Tree] = field(default_factory=dict)
    briefs: dict[str, BriefPage] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    orders: list[Event] = field(default_factory=list)
    usage: dict[str, Event] = field(default_factory=dict)
    """What the next look at an agent's context says."""
    metered: list[str] = field(default_factory=list)
    open: dict[str, dict[str, OpenLoop]] = field(default_factory=dict)
    resolved: list[tuple[str, str, str]] = field(default_factory=list)
    """Agent, loop and reason of each loop that was closed."""
    _changed: set[asyncio.Event] = field(default_factory=set)
    _nonce: int = 0
    _seq: int = 0

    def fleet(self) -> Fleet:
        return self.state

    def now(self) -> Moment:
        self._nonce += 1
        if self.stands_at is not None:
            return Moment(self.stands_at - FIXTURE_EPOCH, self.stands_at, 0.5, f"nonce {self._nonce}")
        return Moment(time.monotonic(), time.time() + self.wall_offset, 0.5, f"nonce {self._nonce}")

    def pass_time(self, seconds: float) -> None:
        """Let a standing clock go on; deadlines that come with it are acted on."""
        assert self.stands_at is not None
        self.stands_at += seconds
        self.happen(Tick())

    def facts(self) -> Facts:
        return Facts(
            "0.1.0", 4242, self.started_at, self.tmux, "cgroup", self.degraded, self.state.alerts, halted=self.degraded
        )

    sights: dict[str, Sight] = field(default_factory=dict)
    """What is seen of agents, by their names."""

    def sight(self, agent: Agent) -> Sight:
        return self.sights.get(agent.name, NOTHING)

    attendants: list[Attendant] = field(default_factory=list)

    def attend(self, attendant: Attendant) -> None:
        self.attendants.append(attendant)

    def see(self, name: str, sight: Sight) -> None:
        """Something else is seen of an agent."""
        self.sights[name] = sight
        for attendant in self.attendants:
            attendant.seen(name)

    async def meter(self, agent: str) -> None:
        self.metered.append(agent)
        if (usage := self.usage.pop(agent, None)) is not None:
            self.happen(usage)

    async def look_at_terminals(self) -> None:
        return None

    def without_secrets(self, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = redact_json(body, redact)
        return found

    def loops(self, agent: str) -> LoopCounts:
        loops = self.open.get(agent, {}).values()
        return LoopCounts(len(loops), sum(loop.stale for loop in loops))

    read_loops: dict[str, LoopsRead] = field(default_factory=dict)

    def loops_read(self, agent: str) -> LoopsRead:
        return self.read_loops.get(agent, LoopsRead())

    def stale_loops(self, agents: Iterable[str]) -> Mapping[str, int]:
        return {name: count for name in agents if name in self.open and (count := self.loops(name).stale)}

    stale_days: int = 14
    changed_packages: frozenset[str] = frozenset()

    async def open_loops(self, agent: str) -> tuple[OpenLoop, ...]:
        return tuple(self.open.get(agent, {}).values())

    async def resolve(self, agent: str, loop_id: str, reason: str) -> Resolved:
        if loop_id in self.open.get(agent, {}):
            del self.open[agent][loop_id]
            self.resolved.append((agent, loop_id, reason))
            return "resolved"
        return "already" if any(made[:2] == (agent, loop_id) for made in self.resolved) else "unknown"

    def hand_out(self, prompt: str, asked_by: str = "", project: str = "") -> None:
        """A task of docs' own kind of worker."""
        spec = self.state.agents[asked_by or "docs"].spec
        self.happen(TaskRequested(spec, prompt, asked_by=asked_by, project=project))

    def default_argv(self, harness: str) -> tuple[str, ...]:
        return (harness,)

    def seated(self, name: str) -> Seated:
        agent = self.state.agents.get(name)
        if agent is None or agent.spec.kind is not Kind.ORCHESTRATOR:
            return Seated(name)
        return Seated(agent.spec.seat or name, project=project_of(agent.spec), workspace=agent.spec.cwd)

    def begin(self, agent: str, loop_id: str, text: str = "", added: str = "2026-11-20", item: int = 0) -> None:
        """Open a loop. item: what of the inbox it stands for."""
        of_inbox = {"kind": "inbox", "source": f"0123abcd: item {item}"} if item else {}
        old = added < "2026-11-07"
        loop = OpenLoop.model_validate(
            {"id": loop_id, "text": text or loop_id, "added": added, "stale": old, **of_inbox}
        )
        self.open.setdefault(agent, {})[loop_id] = loop

    async def brief(self, agent: str) -> BriefPage | None:
        return self.briefs.get(agent)

    async def check_brief(self, agent: str) -> tuple[Fault, ...]:
        return self.faults

    async def projects(self, workspace: str) -> tuple[str, ...]:
        return tuple(sorted(project for place, project in self.trees if place == workspace))

    async def project(self, workspace: str, project: str) -> Tree:
        return self.trees.get((workspace, project), Tree(project))

    memory: MemoryFace = field(default_factory=MemoryFace)
    """What projects share."""
    withdrawn: list[str] = field(default_factory=list)

    async def shared_memory(self, workspace: str, tree: Tree, agent: str | None) -> MemoryFace:
        return self.memory

    async def share_memory(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]:
        if path not in tree.memory:
            raise BadProject(f"{tree.project} has no memory file {path}", "phoenixctl memory list")
        source = Provenance(tree.project, "orchestrator-1", "2026-11-21T10:00:00Z", "ab" * 32)
        return SharedFile("abababababab-patterns.md", 100, source), True

    async def withdraw_memory(self, project: str) -> tuple[str, ...]:
        self.withdrawn.append(project)
        return ()

    async def generate_brief(self, agent: str) -> BriefPage:
        self.briefs[agent] = BriefPage(f"/state/agents/{agent}/brief.md", f"# {agent}\n", self.now().wall)
        return self.briefs[agent]

    faces: dict[str, MarkerFace] = field(default_factory=dict)
    rebuilt: RebuiltMarker | None = None

    async def marker(self, agent: str) -> MarkerFace:
        return self.faces.get(agent, MarkerFace(None, None, "/state/memory"))

    async def mint(self, phrase: str | None) -> Marker:
        return mint(lambda size: "1a2b3c"[: 2 * size], (), phrase)

    async def rebuild_marker(self, agent: str) -> RebuiltMarker | None:
        return self.rebuilt

    async def order(self, event: Event) -> Refusal | None:
        self.orders.append(event)
        await asyncio.sleep(0)
        return self.happen(event)

    def happen(self, event: Event) -> Refusal | None:
        """Step the fleet with an event, and with the answers to what that decides."""
        waiting: deque[Event] = deque([event])
        rows, before = len(self.journal.rows), self.state
        refusal: Refusal | None = None
        while waiting:
            event = waiting.popleft()
            now = self.now()
            found = step(self.state, event, now)
            self.state = found.fleet
            refusal = refusal or found.refusal
            self.journal.kept_incidents += cases.incidents(found.kept, lambda agent, text: redact(text))
            self.journal.kept_treatments |= {(one.case_id, one.number): one for one in cases.treatments(found.kept)}
            for decision in found.decisions:
                if decision.weight != "noise" and (decision.reason or is_journaled(event)):
                    self._note(event, decision, now)
                if self.performs:
                    waiting.extend(answer for action in decision.actions for answer in self._answers(action))
        for changed in self._changed:
            changed.set()
        agents = [agent for name, agent in self.state.agents.items() if before.agents.get(name) is not agent]
        for attendant in self.attendants:
            attendant.turned(self.journal.rows[rows:], agents)
        return refusal

    def declare(self, name: str, **keys: Any) -> None:
        """An agent, started unless `start=False`."""
        start = keys.pop("start", True)
        kind = Kind(keys.pop("kind", "resident"))
        spec = AgentSpec(name, keys.pop("argv", ("agent",)), keys.pop("cwd", "/srv"), kind, **keys)
        self.happen(AgentDeclared(spec, start))

    def hand_over(self, name: str) -> None:
        """Bring an orchestrator's handoff to where its successor is to acknowledge."""
        self.happen(HandoffRequested(name))
        handoff = self.fleet().seats[name].handoff
        assert handoff is not None
        self.happen(PapersUpdated(name, handoff.id))
        self.happen(PackageWritten(name, handoff.id, "p", "w"))

    def wait(self, name: str, tool: str = "Bash", text: str = "", held: bool = False) -> None:
        """Have a running agent ask a person for permission. held: the shim holds it for an answer."""
        self._seq += held
        self.hook(name, "permission-request", tool=tool, text=text, held=held, seq=self._seq if held else 0)

    def hook(self, name: str, kind: str, **keys: Any) -> None:
        self.happen(hook_of(name, self.state.agents[name].incarnation, kind, **keys))

    def report(self, name: str) -> None:
        """Have its program report by hooks, and its shim take armed answers."""
        self.hook(name, "session-start")
        state = self.state.agents[name].state
        assert isinstance(state, Running)
        self.change(name, state=replace(state, run=replace(state.run, link=2)))

    def die(self, name: str, code: int | None = 1, signal: int | None = None) -> None:
        """End a running agent's process."""
        run = self.state.agents[name].run
        assert run is not None
        self.happen(AgentExited(name, run.incarnation, run.run_id, code, signal))

    def produce(self, name: str, incarnation: int = 0) -> None:
        """Have a run show progress; 0 is the newest."""
        agent, now = self.state.agents[name], self.now()
        fact = RunProductive(incarnation or agent.incarnation)
        told = Decision(agent, reason="its turn ended well", weight="story", facts=(fact,))
        self._note(hook_of(name, agent.incarnation, "stop"), told, now)

    def change(self, name: str, **keys: Any) -> None:
        """Set fields of an agent behind the core's back, for fixtures."""
        agents = dict(self.state.agents)
        agents[name] = replace(agents[name], **keys)
        self.state = replace(self.state, agents=agents)

    def _note(self, event: Event, decision: Decision, now: Moment) -> None:
        agent = decision.agent
        detail = {
            slot: getattr(event, slot)
            for slot in (one.name for one in fields(event))
            if slot not in ("agent", "incarnation", "text", "spec")
        }
        if isinstance(event, SendRequested) or isinstance(event, PromptSubmitted):
            detail["text"] = event.text
        if isinstance(event, Hook):
            detail["kind"] = event.kind
        self.journal.append(
            Entry(
                now.at,
                now.wall,
                agent.name if agent else None,
                agent.incarnation if agent else 0,
                "HookSeen" if isinstance(event, Hook) else type(event).__name__,
                detail,
                agent.state.name if agent else None,
                decision.reason,
                decision.readings,
                describe_actions(decision.actions),
                decision.weight or "detail",
                (*decision.facts, StateOpened(agent.since_wall)) if agent and decision.opens else decision.facts,
            )
        )

    def _answers(self, action: Action) -> list[Event]:
        match action:
            case MeasureWork(agent=agent, number=number, at_end=at_end):
                return [WorkMeasured(agent, number, at_end, self.work)]
            case Spawn(agent=agent, incarnation=incarnation) if self.fails_with is not None:
                return [StartFailed(agent, incarnation, self.fails_with, "there is no such command")]
            case Spawn(agent=agent, incarnation=incarnation, run_id=run_id):
                return [AgentStarted(agent, incarnation, run_id, 1000 + incarnation, 5)]
            case CollectTask(task=task, run=run):
                return [TaskCollected(task, run, Outcome("done"))]
            case Terminate() | Kill() if self.outlives:
                return []
            case Terminate(agent=agent, incarnation=incarnation) | Kill(agent=agent, incarnation=incarnation):
                run = self.state.agents[agent].run
                assert run is not None
                return [AgentExited(agent, incarnation, run.run_id, None, 15)]
            case AnswerHold() | Deliver() if self.is_slow:
                return []
            case AnswerHold(agent=agent, incarnation=incarnation, hold=hold):
                why = "the terminal was first" if self.terminal_first else ""
                return [HoldAnswered(agent, incarnation, hold, not self.terminal_first, why)]
            case Deliver(agent=agent, incarnation=incarnation, message_id=message_id):
                if self.delivers is None:
                    return [NotDelivered(agent, incarnation, message_id, "a dialog is open")]
                return [Delivered(agent, incarnation, message_id, self.delivers)]
            case PlantCodes(agent=agent, incarnation=incarnation):
                planting = Planting(Marker("the orchard gate", "7f3a9c"), ("1a2b3c", "4d5e6f", "7a8b9c"))
                return [CodesPlanted(agent, incarnation, planting, 0.0, agent)]
            case _:
                return []

    turned: list[TurnRow] = field(default_factory=list)
    """The turns of every agent's transcript."""

    async def turns(self, name: str, most: int) -> list[TurnRow]:
        return self.turned[-most:]

    async def screen(self, name: str, lines: int) -> str:
        return self.panes.get(name, "")

    async def wait_for(self, predicate: Callable[[Fleet], bool], timeout: float) -> bool:
        return await self._until(lambda: predicate(self.state), timeout)

    async def wait_committed(self, after: int, timeout: float) -> bool:
        return await self._until(lambda: len(self.journal.rows) > after, timeout)

    @property
    def waiting(self) -> int:
        """How many wait for something to happen."""
        return len(self._changed)

    def delivered(self, name: str, message_id: str) -> Event:
        return Delivered(name, self.state.agents[name].incarnation, message_id, "prompt-submit")

    def start_requested(self, name: str) -> Event:
        return StartRequested(name)

    async def _until(self, condition: Callable[[], bool], timeout: float) -> bool:
        changed = asyncio.Event()
        self._changed.add(changed)
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await changed.wait()
                    changed.clear()
            return True
        except TimeoutError:
            return False
        finally:
            self._changed.discard(changed)

    async def add(self, name: str, table: Mapping[str, object]) -> Refusal | tuple[str, ...]:
        if name in self.state.agents:
            return Refusal("conflict", f"there is an agent {name} already", f"phoenixctl remove {name}")
        self.tables[name] = dict(table)
        argv = table.get("argv", ["claude"])
        assert isinstance(argv, list)
        self.happen(AgentDeclared(AgentSpec(name, tuple(argv), str(table.get("cwd", "/")))))
        return (f"{argv[0]} is not there yet",) if argv[0] == "missing" else ()

    async def remove(self, name: str, by: str = "operator", act: str = "") -> Refusal | None:
        agent = self.state.agents.get(name)
        if agent is not None:
            self.removed[name] = agent.spec
        return await self.order(AgentWithdrawn(name, by, act))

    async def bring_back(self, name: str, by: str, act: str) -> Refusal | None:
        if (refused := self.not_back.get(name)) is not None:
            return refused
        if name not in self.state.agents and name in self.removed:
            self.happen(AgentDeclared(self.removed.pop(name), is_undo=True))
        return await self.order(UndoRequested(name, act, by))

    async def plan(self) -> Planned:
        return Planned(self.changes)

    async def apply(self) -> Planned:
        done, self.changes = self.changes, ()
        return Planned(done)

    async def doctor(self, shell_path: str) -> tuple[Finding, ...]:
        return self.findings

    def size_next(self, name: str, columns: int, lines: int) -> None:
        self.sizes[name] = (columns, lines)

    async def pane(self, name: str, lines: int) -> str:
        return "\n".join(self.panes.get(name, "").split("\n")[-lines:])

    def log(self) -> SpokenLog:
        return SpokenLog(self)

    async def heartbeat(self, name: str) -> Mapping[str, object] | None:
        return self.heartbeats.get(name)

    async def past_handoffs(self, seat: str, most: int) -> list[Handoff]:
        return await self.journal.handoffs(seat, most)

    async def package_fault(self, seat: str) -> str | None:
        return "it was changed" if seat in self.changed_packages else None

    async def package_doubts(self, seat: str, quoted: str) -> Doubts:
        return Doubts(changed=seat in self.changed_packages)

    async def look_at_breaker(self, name: str) -> None:
        """Its file is as it was."""

    async def clean(self, name: str, dry_run: bool, by: str) -> Leftovers:
        return self.leftovers

    async def recheck(self) -> tuple[Rechecked, ...]:
        return tuple(
            Rechecked(name, f"{agent.state.name}, as it should be") for name, agent in self.state.agents.items()
        )

    def shut_down(self, dismiss: Dismiss = "none") -> None:
        self.ended, self.dismissed = True, dismiss

    def agent_of_token(self, token: str) -> str | None:
        return self.tokens.get(token)

    def shim_pids(self) -> Mapping[int, str]:
        return self.shims
