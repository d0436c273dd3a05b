"""Actions become driver calls: a lane per agent, ordered within, concurrent across; outcomes come back as events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core.actions import (
    Action,
    Alert,
    AnswerHold,
    Arm,
    AttendHold,
    CheckPackage,
    CleanUp,
    CollectTask,
    Deliver,
    Disarm,
    DismissDialog,
    ExamineCase,
    Fence,
    InterruptTurn,
    Kill,
    LookAtCall,
    LookAtScreen,
    LookForDirectory,
    LookForFile,
    MeasureWork,
    ObserveTerminal,
    PlantCodes,
    ReadSeed,
    Reassure,
    RecordIncident,
    RecordSessions,
    Release,
    ReleaseHold,
    SeeAttendance,
    Spawn,
    TakeSession,
    Terminate,
    UpdatePapers,
    WriteAddendum,
    WritePackage,
)
from phoenixd.core.agent import Agent
from phoenixd.core.events.aftermath import AttendanceSeen, DirectoryLooked, ReportJudged
from phoenixd.core.events.fleet import TerminalSeen
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.events.work import FileLooked, WorkMeasured
from phoenixd.core.tasks.state import JudgedReport, Task, Tasks
from phoenixd.errors import PhoenixdError, TerminalFailed
from phoenixd.ports import Outside, Sink
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.examining import Examining
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.incidents import Incidents
from phoenixd.runtime.lanes import came_to_nothing, lane_of
from phoenixd.runtime.messages import Messenger
from phoenixd.runtime.run_orders import RunOrders
from phoenixd.runtime.screening import Screening

MOST_TEXTS = 100
"""Texts that wait to be typed into one agent."""

PREPARED_AT_ONCE = 2
"""Starts of one turn."""

log = structlog.get_logger()


class Performer:
    """Carries out actions. It may not refuse one: what cannot be done comes back as an event that says so."""

    def __init__(
        self,
        outside: Outside,
        find: Callable[[str], Agent | None],
        tell: Sink,
        hearing: Hearing,
        messenger: Messenger,
        answerer: Answerer,
        tasks: Callable[[], Tasks] = Tasks,
        judged: Callable[[Task, JudgedReport], ReportJudged | None] = lambda task, judged: None,
    ) -> None:
        self._tasks_now = tasks
        self._judged = judged
        self._outside = outside
        self._find = find
        self._tell = tell
        self._runs = RunOrders(outside, find, tell, hearing)
        self._screening = Screening(outside, find, tell)
        self.refusals = self._screening.refusals
        self._incidents = Incidents(outside, find, tell)
        self._examining = Examining(outside, find, tell, self._incidents.pane_of)
        self._messenger = messenger
        self._answerer = answerer
        self._lanes: dict[str, deque[Action]] = {}
        self._tasks: TaskGroup | None = None

    async def run(self) -> None:
        """Host the lanes for ever."""
        async with anyio.create_task_group() as self._tasks:
            for lane in tuple(self._lanes):
                self._tasks.start_soon(self._drive, lane)
            await anyio.sleep_forever()

    def prepare(self, actions: Sequence[Action], epoch: int) -> None:
        """Begin, while these are being saved with that epoch, what does no harm if they are not; never waits.

        Of many starts the first ones: more would only take the processors from the commit, for which all of them wait.
        """
        spawns = [action for action in actions if isinstance(action, Spawn) and lane_of(action) not in self._lanes]
        for spawn in spawns[:PREPARED_AT_ONCE]:
            if self._tasks is not None:
                self._tasks.start_soon(self._prepare, spawn, epoch)

    async def _prepare(self, spawn: Spawn, epoch: int) -> None:
        try:
            await self._runs.prepare(spawn, epoch)
        except Exception:
            # Whatever it is, the spawn itself meets it as well, and tells it.
            log.exception("not_prepared", agent=spawn.agent)

    def submit(self, action: Action) -> None:
        """Put an action on its agent's lane; never waits."""
        lane = lane_of(action)
        if lane in self._lanes:
            if isinstance(action, Deliver) and len(self._lanes[lane]) >= MOST_TEXTS:
                self._answer_for(action, f"{MOST_TEXTS} texts wait already")
                return
            if isinstance(action, LookAtScreen) and self._lanes[lane] and self._lanes[lane][-1] == action:
                # The one that waits sees the same, and a screen that does not answer is asked for again and again.
                return
            self._lanes[lane].append(action)
            return
        self._lanes[lane] = deque([action])
        if self._tasks is not None:
            self._tasks.start_soon(self._drive, lane)

    async def _drive(self, lane: str) -> None:
        """Perform a lane's actions in order until it is empty."""
        actions = self._lanes[lane]
        while actions:
            action = actions.popleft()
            try:
                await self._perform(action)
            except PhoenixdError as failure:
                log.warning("action_failed", lane=lane, action=type(action).__name__, reason=failure.message)
                self._answer_for(action, failure.message)
            except Exception as fault:
                log.exception("action_crashed", lane=lane, action=type(action).__name__)
                self._answer_for(action, f"a fault in phoenixd: {fault!r}")
        del self._lanes[lane]

    def _answer_for(self, action: Action, why: str) -> None:
        """Tell of an action that came to nothing, where somebody waits for its outcome."""
        event = came_to_nothing(action, why)
        if event is not None:
            self._tell(event)

    async def _perform(self, action: Action) -> None:
        shims = self._outside.shims
        match action:
            case MeasureWork():
                await self._measure(action)
            case LookForFile(agent=agent, number=number, turn=turn):
                exists = await self._outside.work.exists(action.directory, action.pattern)
                self._tell(FileLooked(agent, number, turn, exists))
            case LookForDirectory(agent=agent, incarnation=incarnation, directory=directory):
                is_open = await self._outside.work.can_enter(directory)
                self._tell(DirectoryLooked(agent, incarnation, directory, is_open))
            case Spawn():
                await self._runs.spawn(action)
            case Terminate(agent=agent, incarnation=incarnation):
                await self._runs.order(agent, lambda: shims.terminate(agent, incarnation))
            case Kill(agent=agent, incarnation=incarnation):
                await self._runs.order(agent, lambda: shims.kill(agent, incarnation))
            case Fence():
                await self._runs.fence(action)
            case Deliver():
                await self._deliver(action)
            case AnswerHold():
                await self._answer(action)
            case AttendHold():
                released = await self._answerer.attend(action)
                if released is not None:
                    self._tell(released)
            case ReleaseHold(agent=agent, incarnation=incarnation, hold=hold):
                await self._runs.order(agent, lambda: shims.answer(agent, incarnation, hold, {}))
            case Arm():
                await self._runs.arm(action)
            case Disarm(agent=agent, incarnation=incarnation, id=id):
                await self._runs.order(agent, lambda: shims.disarm(agent, incarnation, id))
            case LookAtScreen():
                await self._screening.look(action)
            case DismissDialog() | InterruptTurn():
                await self._screening.escape(action)
            case SeeAttendance(agent=agent, incarnation=incarnation):
                attended = await self._outside.terminal.last_typed(agent) is not None
                self._tell(AttendanceSeen(agent, incarnation, attended))
            case LookAtCall():
                await self._incidents.look_at_call(action)
            case CollectTask():
                await self._collect(action)
            case PlantCodes() | ReadSeed():
                await self._mark(action)
            case CleanUp():
                await self._runs.clean(action, f"after run {action.incarnation}")
            case RecordIncident():
                if self._tasks is not None:
                    await self._incidents.keep(action, self._tasks)
            case ExamineCase():
                if self._tasks is not None:
                    self._tasks.start_soon(self._examining.examine, action)
            case Release():
                await self._runs.release(action)
            case TakeSession(agent=agent, seat=seat, generation=generation):
                await self._outside.terminal.take_session(agent, seat, generation)
            case UpdatePapers():
                self._tell(await self._outside.handover.update(action))
            case WritePackage():
                self._tell(await self._outside.handover.write(action))
            case CheckPackage():
                self._tell(await self._outside.handover.check(action))
            case WriteAddendum():
                self._tell(await self._outside.handover.addendum(action))
            case RecordSessions():
                await self._outside.handover.record(action)
            case Alert() | Reassure():
                self._outside.notifier.tell(action)
            case ObserveTerminal():
                await self._observe_terminal()
            case _:
                assert_never(action)

    async def _collect(self, action: CollectTask) -> None:
        agent, task = self._find(action.agent), self._tasks_now().find(action.task)
        if agent is not None and task is not None and task.runs == action.run:
            outcome = await self._outside.jobs.collect(agent, task)
            # Before the end of the task: a daemon that is killed between the two collects and judges once more.
            event = self._judged(task, outcome.judged) if outcome.judged is not None else None
            if event is not None:
                self._tell(event)
            self._tell(TaskCollected(action.task, action.run, outcome))

    async def _mark(self, action: PlantCodes | ReadSeed) -> None:
        """Have the papers of an agent's marker written; whatever came of it is told."""
        agent, markers = self._find(action.agent), self._outside.markers
        if agent is None or agent.incarnation != action.incarnation:
            return
        if markers is None:
            self._answer_for(action, "no papers of markers are kept here")
        elif isinstance(action, PlantCodes):
            self._tell(await markers.plant(agent, action))
        else:
            self._tell(await markers.read_seed(agent, action))

    async def _measure(self, action: MeasureWork) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        found = await self._outside.work.measure(agent, action.since)
        measured = WorkMeasured(
            action.agent, action.number, action.at_end, found.fingerprint, found.note, found.done, found.tokens,
            found.survey, found.deeds, found.lost, found.shared, action.turn,
        )  # fmt: skip
        self._tell(measured)

    async def _deliver(self, action: Deliver) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        if action.opening:
            action = replace(action, text=await self._outside.papers.opening_words(agent))
        self._tell(await self._messenger.deliver(agent, action))

    async def _answer(self, action: AnswerHold) -> None:
        agent = self._find(action.agent)
        if agent is not None:
            self._tell(await self._answerer.answer(agent, action))

    async def _observe_terminal(self) -> None:
        terminal = self._outside.terminal
        try:
            alive = await terminal.revive()
        except TerminalFailed as failure:
            log.warning("terminal_gone", reason=failure.message)
            alive = False
        self._tell(TerminalSeen(alive))
