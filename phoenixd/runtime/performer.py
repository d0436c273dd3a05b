"""Actions become driver calls: a lane per agent, ordered within, concurrent across; outcomes come back as events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
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
    CleanUp,
    CollectTask,
    Deliver,
    Disarm,
    DismissDialog,
    Fence,
    InterruptTurn,
    Kill,
    LookAtCall,
    LookAtScreen,
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
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.causes import Obstacle
from phoenixd.core.events.aftermath import AttendanceSeen, ReportJudged
from phoenixd.core.events.evidence import CallWorkSeen, IncidentRecorded, ScreenSeen
from phoenixd.core.events.fleet import TerminalSeen
from phoenixd.core.events.handoffs import AddendumWritten, PackageFailed, PapersFailed
from phoenixd.core.events.resonance import PlantingFailed
from phoenixd.core.events.runs import HoldAnswered, NotDelivered, StartFailed, TreeGone, TreeLingers
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.events.work import FileLooked, WorkMeasured
from phoenixd.core.session import MENU, SCREEN_DIALOGS
from phoenixd.core.tasks.state import JudgedReport, Task, Tasks
from phoenixd.core.unproven import weighed
from phoenixd.errors import LaunchFailed, PhoenixdError, ResumeRefused, SessionInUse, ShimFailed, TerminalFailed
from phoenixd.ports import Outside, Sink
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime.answers import Answerer
from phoenixd.runtime.arming import order
from phoenixd.runtime.clearance import was_touched
from phoenixd.runtime.cut_answers import answer_cut
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.leftovers import cleaned_up
from phoenixd.runtime.messages import Messenger

INCIDENT_LINES = 100
INCIDENT_LOOK = 1.0

REFUSAL_LATE = 3.0
"""Seconds by which a transcript may be behind the end of a turn."""
REFUSAL_NEWS = 10.0
"""Seconds after the end of a turn in which it may yet turn out to have been refused."""

INTERRUPTED_WITHIN, INTERRUPT_LOOKS = 25.0, 0.3
"""Seconds for which a screen is looked at after Escape, and between two looks."""

SHIM_TIMEOUT = 10.0
"""Seconds in which a new pane's shim has to listen."""

MOST_TEXTS = 100
"""Texts that wait to be typed into one agent."""

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
        self._hearing = hearing
        self._messenger = messenger
        self._answerer = answerer
        self._lanes: dict[str, deque[Action]] = {}
        self._refused: dict[str, tuple[int, float | None]] = {}
        self._tasks: TaskGroup | None = None

    async def run(self) -> None:
        """Host the lanes for ever."""
        async with anyio.create_task_group() as self._tasks:
            for lane in tuple(self._lanes):
                self._tasks.start_soon(self._drive, lane)
            await anyio.sleep_forever()

    def submit(self, action: Action) -> None:
        """Put an action on its agent's lane; never waits."""
        lane = _lane_of(action)
        if lane in self._lanes:
            if isinstance(action, Deliver) and len(self._lanes[lane]) >= MOST_TEXTS:
                self._answer_for(action, f"{MOST_TEXTS} texts wait already")
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
        """Give the outcome of an action that came to nothing, where somebody waits for one."""
        if isinstance(action, Spawn):
            self._tell(StartFailed(action.agent, action.incarnation, 0, why))
        if isinstance(action, Deliver):
            self._tell(NotDelivered(action.agent, action.incarnation, action.message_id, why))
        if isinstance(action, LookForFile):
            self._tell(FileLooked(action.agent, action.number, action.turn, None))
        if isinstance(action, AnswerHold):
            self._tell(HoldAnswered(action.agent, action.incarnation, action.hold, False, why, still_held=True))
        if isinstance(action, MeasureWork):
            self._tell(WorkMeasured(action.agent, action.number, action.at_end, None, why, turn=action.turn))
        if isinstance(action, SeeAttendance):
            self._tell(AttendanceSeen(action.agent, action.incarnation, None))
        if isinstance(action, UpdatePapers):
            self._tell(PapersFailed(action.agent, action.handoff, why))
        if isinstance(action, PlantCodes):
            self._tell(PlantingFailed(action.agent, action.incarnation, why))
        if isinstance(action, WritePackage):
            self._tell(PackageFailed(action.agent, action.handoff, why))
        if isinstance(action, WriteAddendum):
            self._tell(AddendumWritten(action.agent, action.handoff, why=why))

    async def _perform(self, action: Action) -> None:
        shims = self._outside.shims
        match action:
            case MeasureWork():
                await self._measure(action)
            case LookForFile(agent=agent, number=number, turn=turn):
                exists = await self._outside.work.exists(action.directory, action.pattern)
                self._tell(FileLooked(agent, number, turn, exists))
            case Spawn():
                await self._spawn(action)
            case Terminate(agent=agent, incarnation=incarnation):
                await self._order(agent, lambda: shims.terminate(agent, incarnation))
            case Kill(agent=agent, incarnation=incarnation):
                await self._order(agent, lambda: shims.kill(agent, incarnation))
            case Fence():
                await self._fence(action)
            case Deliver():
                await self._deliver(action)
            case AnswerHold():
                await self._answer(action)
            case AttendHold():
                released = await self._answerer.attend(action)
                if released is not None:
                    self._tell(released)
            case ReleaseHold(agent=agent, incarnation=incarnation, hold=hold):
                await self._order(agent, lambda: shims.answer(agent, incarnation, hold, {}))
            case Arm():
                await self._arm(action)
            case Disarm(agent=agent, incarnation=incarnation, id=id):
                await self._order(agent, lambda: shims.disarm(agent, incarnation, id))
            case LookAtScreen():
                await self._look(action)
            case DismissDialog():
                await self._dismiss(action)
            case InterruptTurn():
                await self._interrupt(action)
            case SeeAttendance(agent=agent, incarnation=incarnation):
                attended = await self._outside.terminal.last_typed(agent) is not None
                self._tell(AttendanceSeen(agent, incarnation, attended))
            case LookAtCall():
                await self._look_at_call(action)
            case CollectTask():
                await self._collect(action)
            case PlantCodes() | ReadSeed():
                await self._mark(action)
            case CleanUp():
                await self._clean(action, f"after run {action.incarnation}")
            case RecordIncident():
                await self._keep_incident(action)
            case Release():
                await self._release(action)
            case TakeSession(agent=agent, seat=seat, generation=generation):
                await self._outside.terminal.take_session(agent, seat, generation)
            case UpdatePapers():
                self._tell(await self._outside.handover.update(action))
            case WritePackage():
                self._tell(await self._outside.handover.write(action))
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

    async def _spawn(self, action: Spawn) -> None:
        agent = self._find(action.agent)
        if agent is None or agent.run is None or agent.run.incarnation != action.incarnation:
            return
        try:
            hello = await self._ready_shim(action.agent)
            if hello.run is not None:
                self._outside.shims.kill(action.agent, hello.run.incarnation)
                raise ShimFailed(
                    f"incarnation {hello.run.incarnation} is still alive under the shim; it is being ended"
                )
            if agent.spec.cleanup.is_set:
                await self._clean(action, f"before run {action.incarnation}")
            order = await self._outside.starter.write_order(agent, action, hello)
            if not self._is_wanted(action):
                return
            self._outside.shims.start(action.agent, order, action.incarnation, action.run_id)
        except LaunchFailed as failure:
            obstacle = _obstacle(failure)
            self._tell(StartFailed(action.agent, action.incarnation, failure.code, failure.message, obstacle))
        except (TerminalFailed, ShimFailed) as failure:
            self._tell(StartFailed(action.agent, action.incarnation, 0, failure.message))

    def _is_wanted(self, action: Spawn) -> bool:
        """Whether the decision still stands; a stop that came meanwhile is answered here."""
        agent = self._find(action.agent)
        if agent is not None and isinstance(agent.state, Starting) and agent.incarnation == action.incarnation:
            return True
        self._tell(StartFailed(action.agent, action.incarnation, 0, "it was no longer wanted"))
        return False

    async def _ready_shim(self, agent: str) -> ShimHello:
        """Return the living shim's hello, in a new pane if there is none."""
        hello = await self._outside.shims.connect(agent)
        if hello is not None:
            self._hearing.watch_shim(hello)
            return hello
        if not await self._outside.terminal.observe() and not await self._outside.terminal.revive():
            raise TerminalFailed("the tmux server does not answer", "phoenixctl doctor")
        command = await self._outside.starter.shim_command(agent)
        await self._outside.terminal.open_pane(agent, command.argv)
        clock = self._outside.clock
        give_up, pause = clock.now().at + SHIM_TIMEOUT, 0.002
        while hello is None:
            if clock.now().at > give_up:
                raise ShimFailed(f"the shim of {agent} does not listen after {SHIM_TIMEOUT:.0f} s")
            # A socket that begins to listen announces itself by no event that a connecting side could wait for.
            await clock.sleep_until(clock.now().at + pause)
            pause = min(0.1, pause * 1.5)
            hello = await self._outside.shims.connect(agent)
        self._hearing.watch_shim(hello)
        return hello

    async def _order(self, agent: str, give: Callable[[], None]) -> None:
        """Give a shim an order, reconnecting once; a shim that is gone is reported by its own death."""
        try:
            give()
        except ShimFailed:
            if await self._outside.shims.connect(agent) is not None:
                give()

    async def _fence(self, action: Fence) -> None:
        child = None
        if action.pid is not None and action.start_time is not None:
            child = ProcessIdentity(self._outside.processes.boot_id(), action.pid, action.start_time)
        fenced = await self._outside.processes.fence(action.agent, action.incarnation, action.run_id, child)
        if fenced.remaining:
            self._tell(TreeLingers(action.agent, action.incarnation, fenced.remaining))
            return
        ended = self._hearing.recorded_end(action.agent, action.incarnation, action.run_id)
        begun = child is not None or self._hearing.was_begun(action.agent, action.run_id)
        gone = TreeGone(action.agent, action.incarnation, fenced.killed, fenced.unproven, fenced.unread)
        self._tell(weighed(gone, ended, begun=begun))

    async def _deliver(self, action: Deliver) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        if action.opening:
            words = await self._outside.papers.opening_words(agent)
            await self._messenger.wait_until_drawn(action.agent)
            action = replace(action, text=words)
        self._tell(await self._messenger.deliver(agent, action))

    async def _answer(self, action: AnswerHold) -> None:
        agent = self._find(action.agent)
        if agent is not None:
            self._tell(await self._answerer.answer(agent, action))

    async def _arm(self, action: Arm) -> None:
        """Told when the lane comes to it; what a lost link swallows is armed again when the run is met again."""
        agent = self._find(action.agent)
        if agent is None or agent.incarnation != action.incarnation:
            return
        told = order(agent.spec, action.answer, self._outside.clock.at())
        if told is not None:
            await self._order(action.agent, lambda: self._outside.shims.arm(action.agent, action.incarnation, told))

    async def _look(self, action: LookAtScreen) -> None:
        agent = self._find(action.agent)
        if agent is None:
            return
        screen = await self._outside.terminal.capture(action.agent)
        verdict = self._outside.screens.classify(agent, screen)
        if isinstance(agent.state, Running) and _may_be_refused(agent.state, verdict, self._outside.clock.now().at):
            await self._look_for_refusal(agent)
        attended = False
        if verdict == MENU:
            typed = await self._outside.terminal.last_typed(action.agent)
            attended = was_touched(typed, self._outside.clock.now().wall)
        self._tell(ScreenSeen(action.agent, action.incarnation, verdict, attended=attended))

    async def _dismiss(self, action: DismissDialog) -> None:
        """Press Escape on that very dialog; whether it went, the next look tells."""
        agent = self._find(action.agent)
        if agent is None or agent.incarnation != action.incarnation:
            return
        verdict = self._outside.screens.classify(agent, await self._outside.terminal.capture(action.agent))
        if SCREEN_DIALOGS.get(verdict) == action.dialog and self._outside.screens.dismisses(agent, verdict):
            await self._outside.terminal.press_escape(action.agent)

    async def _interrupt(self, action: InterruptTurn) -> None:
        """Press Escape on an open turn, and never on a dialog, which it would answer.

        A screen that looks idle although the turn is open, as while some CLI draws an answer, cannot tell its end.
        """
        agent = self._find(action.agent)
        if agent is None or not _has_open_turn(agent, action.incarnation):
            return
        clock = self._outside.clock
        first = verdict = await self._screen_of(agent)
        now = self._find(action.agent)
        if now is None or not _has_open_turn(now, action.incarnation):
            return  # It ended meanwhile, and a person may write at the prompt.
        if first in ("working", "idle"):
            await self._outside.terminal.press_escape(action.agent)
        if first == "idle":
            return
        give_up, before = clock.now().at + INTERRUPTED_WITHIN, ""
        # A frame of before may still be drawn: two in a row count.
        while first == "working" and (verdict == first or verdict != before) and clock.now().at < give_up:
            await clock.sleep_until(clock.now().at + INTERRUPT_LOOKS)
            before, verdict = verdict, await self._screen_of(agent)
        self._tell(ScreenSeen(action.agent, action.incarnation, verdict, "escape"))

    async def _screen_of(self, agent: Agent) -> str:
        return self._outside.screens.classify(agent, await self._outside.terminal.capture(agent.name))

    async def _look_at_call(self, action: LookAtCall) -> None:
        agent = self._find(action.agent)
        run = agent.run if agent is not None else None
        if run is None or run.incarnation != action.incarnation or run.pid is None or run.start_time is None:
            return
        processes = self._outside.processes
        child = ProcessIdentity(processes.boot_id(), run.pid, run.start_time)
        found = await processes.work_since(action.agent, action.incarnation, child, action.ticks)
        self._tell(
            CallWorkSeen(
                action.agent, action.incarnation, action.ticks, found.cpu, found.io, found.processes, found.unread
            )
        )

    async def _look_for_refusal(self, agent: Agent) -> None:
        """Some CLIs tell by no hook that the API refused their turn; their transcript does, some time after its end."""
        clock = self._outside.clock
        give_up = clock.now().at + REFUSAL_LATE
        while (facts := await self._outside.transcripts.facts(agent)) is not None:
            failed = self._outside.screens.failed_turn(agent, facts)
            when = facts.error.at if facts.error is not None else None
            if failed is not None and self._refused.get(agent.name) != (agent.incarnation, when):
                self._refused[agent.name] = (agent.incarnation, when)
                self._tell(failed)
                if (cut := answer_cut(agent, facts)) is not None:
                    self._tell(cut)
            if failed is not None or facts.newest_kind != "prompt" or clock.now().at >= give_up:
                return
            await clock.sleep_until(clock.now().at + REFUSAL_LATE / 10)

    async def _clean(self, action: CleanUp | Spawn, occasion: str) -> None:
        """Clean up by the agent's rules, and tell what was found; raises ShimFailed where no run may start."""
        agent = self._find(action.agent)
        if agent is None:
            return
        told = cleaned_up(agent, occasion, await self._outside.cleaner.clean(agent))
        if told is None:
            return
        self._tell(told)
        if told.foreign and isinstance(action, Spawn) and agent.spec.cleanup.foreign_port == "refuse":
            raise ShimFailed(f"{'; '.join(told.foreign)}, which is none of ours (cleanup.foreign_port)")

    async def _keep_incident(self, action: RecordIncident) -> None:
        """See what there is to see, for a second at most: the kill stands behind this. The disk may take its time."""
        agent = self._find(action.agent)
        if agent is None or self._tasks is None:
            return
        screen = ""
        try:
            # The screen of a run that is over is restored, and the next start stands behind this.
            if agent.run is not None and agent.run.incarnation == action.incarnation:
                with anyio.move_on_after(INCIDENT_LOOK):
                    screen = await self._outside.terminal.capture(action.agent, INCIDENT_LINES)
        except TerminalFailed as failure:
            log.warning("incident_without_screen", agent=action.agent, reason=failure.message)
        self._tasks.start_soon(self._write_incident, agent, action, screen)

    async def _write_incident(self, agent: Agent, action: RecordIncident, screen: str) -> None:
        incident = action.incident
        try:
            lines, record = await self._outside.papers.record_incident(agent, action, screen)
        except (PhoenixdError, OSError) as failure:
            log.warning("incident_not_written", agent=action.agent, file=incident.file, reason=str(failure))
            return
        self._tell(
            IncidentRecorded(
                action.agent,
                action.incarnation,
                incident.kind,
                incident.file,
                lines,
                incident.at_wall,
                record,
                incident.case,
            )
        )

    async def _release(self, action: Release) -> None:
        """Let an agent go with its shim and its pane; one of the same name may begin right after."""
        self._outside.evidence.forget(action.agent)
        hello = await self._outside.shims.connect(action.agent)
        if hello is None:
            await self._outside.terminal.close_pane(action.agent)
            return
        self._hearing.let_go(action.agent)
        self._outside.shims.quit(action.agent)
        await self._outside.terminal.close_pane(action.agent)
        clock = self._outside.clock
        give_up, pause = clock.now().at + SHIM_TIMEOUT, 0.002
        # What begins next would be ordered of a shim that is about to leave.
        while self._outside.processes.is_alive(hello.shim) and clock.now().at < give_up:
            await clock.sleep_until(clock.now().at + pause)
            pause = min(0.1, pause * 1.5)
        await clock.sleep_until(clock.now().at + 0.002)  # The end of its link is read meanwhile.

    async def _observe_terminal(self) -> None:
        terminal = self._outside.terminal
        try:
            alive = await terminal.observe() or await terminal.revive()
        except TerminalFailed as failure:
            log.warning("terminal_gone", reason=failure.message)
            alive = False
        self._tell(TerminalSeen(alive))


def _has_open_turn(agent: Agent, incarnation: int) -> bool:
    """Whether this run is at a turn, and asks nobody anything."""
    state = agent.state
    if agent.incarnation != incarnation or not isinstance(state, Running):
        return False
    return state.activity.turn_open and state.activity.waiting is None


def _may_be_refused(state: Running, verdict: str, at: float) -> bool:
    """Whether this look may find the end of a turn of which no hook told; an old one was told when it was new."""
    if state.activity.turn_open:
        return verdict == "idle"
    return at - state.activity.evidence_at <= REFUSAL_NEWS


def _obstacle(failure: LaunchFailed) -> Obstacle:
    match failure:
        case ResumeRefused():
            return "resume refused"
        case SessionInUse():
            return "session in use"
        case _:
            return "other"


def _lane_of(action: Action) -> str:
    """Alerts and looks at the terminal have lanes of their own, so that nothing slow stands before a kill."""
    match action:
        case Alert() | Reassure():
            return "alert"
        case ObserveTerminal():
            return "terminal"
        case Deliver(agent=agent):
            return f"{agent} messages"
        case AttendHold(agent=agent, hold=hold):
            return f"{agent} attendance {hold}"
        case AnswerHold(agent=agent) | ReleaseHold(agent=agent):
            return f"{agent} answers"
        case Arm(agent=agent) | Disarm(agent=agent):
            return f"{agent} armed"
        case LookAtScreen(agent=agent) | SeeAttendance(agent=agent) | DismissDialog(agent=agent):
            return f"{agent} screen"
        case InterruptTurn(agent=agent):
            return f"{agent} screen"
        case LookAtCall(agent=agent):
            return f"{agent} call"
        case CollectTask(task=task):
            return f"task {task}"
        case PlantCodes(agent=agent, why="start" | "restoration"):
            # The spawn stands behind it: no session is there without its anchor.
            return agent
        case PlantCodes(agent=agent) | ReadSeed(agent=agent):
            return f"{agent} marker"
        case MeasureWork(agent=agent) | LookForFile(agent=agent):
            return f"{agent} work"
        case UpdatePapers(agent=agent) | WritePackage(agent=agent) | RecordSessions(agent=agent):
            return f"{agent} project"
        case WriteAddendum(agent=agent):
            return f"{agent} project"
        case Spawn() | Terminate() | Kill() | Fence() | CleanUp() | RecordIncident() | Release() | TakeSession():
            return action.agent
        case _:
            assert_never(action)
