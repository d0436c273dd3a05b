"""Where an action waits its turn, and what is told of one that came to nothing."""

from __future__ import annotations

from typing import assert_never

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
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen, DirectoryLooked
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.events.handoffs import AddendumWritten, PackageChecked, PackageFailed, PapersFailed
from phoenixd.core.events.resonance import PlantingFailed
from phoenixd.core.events.runs import HoldAnswered, NotDelivered, StartFailed
from phoenixd.core.events.work import FileLooked, WorkMeasured


def lane_of(action: Action) -> str:
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
        case LookForDirectory(agent=agent):
            return f"{agent} directory"
        case UpdatePapers(agent=agent) | WritePackage(agent=agent) | RecordSessions(agent=agent):
            return f"{agent} project"
        case WriteAddendum(agent=agent) | CheckPackage(agent=agent):
            return f"{agent} project"
        case ExamineCase(agent=agent):
            # Behind the record of the failure, which sees the pane as it was.
            return agent
        case Spawn() | Terminate() | Kill() | Fence() | CleanUp() | RecordIncident() | Release() | TakeSession():
            return action.agent
        case _:
            assert_never(action)


def came_to_nothing(action: Action, why: str) -> Event | None:
    """The outcome of an action that came to nothing, where somebody waits for one."""
    match action:
        case Spawn(agent=agent, incarnation=incarnation):
            return StartFailed(agent, incarnation, 0, why)
        case Deliver(agent=agent, incarnation=incarnation):
            return NotDelivered(agent, incarnation, action.message_id, why)
        case LookForFile(agent=agent):
            return FileLooked(agent, action.number, action.turn, None)
        case LookForDirectory(agent=agent, incarnation=incarnation):
            return DirectoryLooked(agent, incarnation, action.directory, None)
        case AnswerHold(agent=agent, incarnation=incarnation):
            return HoldAnswered(agent, incarnation, action.hold, False, why, still_held=True)
        case MeasureWork(agent=agent):
            return WorkMeasured(agent, action.number, action.at_end, None, why, turn=action.turn)
        case SeeAttendance(agent=agent, incarnation=incarnation):
            return AttendanceSeen(agent, incarnation, None)
        case UpdatePapers(agent=agent):
            return PapersFailed(agent, action.handoff, why)
        case PlantCodes(agent=agent, incarnation=incarnation):
            return PlantingFailed(agent, incarnation, why)
        case WritePackage(agent=agent):
            return PackageFailed(agent, action.handoff, why)
        case CheckPackage(agent=agent):
            return PackageChecked(agent, action.handoff, action.package, missing=f"the project cannot be read: {why}")
        case WriteAddendum(agent=agent):
            return AddendumWritten(agent, action.handoff, why=why)
        case ExamineCase(agent=agent, incarnation=incarnation):
            return CaseExamined(agent, incarnation, action.case, action.number, problem=why)
        case _:
            return None
