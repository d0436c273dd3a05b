"""The names under which the journal keeps events and actions, fixed apart from the names of their classes.

Rows that an older version wrote are read by these names, by us and by scripts. So a class may be renamed, and its row
here stays as it is; a name that was ever given means the same for ever, and two classes may share one.
States, facts and the like have theirs in a `name` of their own, see documents/codec.py.
"""

from __future__ import annotations

from typing import Any, get_args

from phoenixd.core import actions, hooks
from phoenixd.core.actions import Action
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen, CleanedUp, DirectoryLooked, ReportJudged
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.events.evidence import (
    AnswerCut,
    CallWorkSeen,
    EvidenceSeen,
    FailureStatusSeen,
    IncidentRecorded,
    KeysRead,
    ScreenSeen,
    UsageSeen,
)
from phoenixd.core.events.fleet import (
    AlertAcknowledged,
    AlertsTold,
    EpochBegun,
    JournalBehind,
    LimitsDeclared,
    Rebooted,
    RecoveryConfirmed,
    SavingHalted,
    SavingResumed,
    StateEdited,
    TerminalEnded,
    TerminalSeen,
    Tick,
    TroubleGone,
    TroubleSeen,
    WaysBegun,
)
from phoenixd.core.events.handoffs import (
    AckFileSeen,
    AddendumWritten,
    HandoffAcked,
    PackageChecked,
    PackageFailed,
    PackageWritten,
    PapersFailed,
    PapersUpdated,
)
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    AnswerRequested,
    BreakerCorrupt,
    BreakerEdited,
    BreakerReset,
    HandoffRequested,
    MuteRequested,
    RestartRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
    UndoRequested,
    UnmuteRequested,
)
from phoenixd.core.events.resonance import (
    AnchorSeen,
    CheckRequested,
    CodesPlanted,
    CodesSeen,
    FooterSeen,
    PlantingFailed,
    RestorationRequested,
    SeedRead,
)
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    ArmedUsed,
    Delivered,
    HoldAnswered,
    HoldReleased,
    HooksRefused,
    LinkLost,
    NotDelivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.core.events.tasks import TaskCancelRequested, TaskCollected, TaskRequested
from phoenixd.core.events.work import FileLooked, MeasurementLost, WorkMeasured

EVENT_NAMES: dict[type[Any], str] = {
    AgentDeclared: "agent_declared",
    AgentWithdrawn: "agent_withdrawn",
    StartRequested: "start_requested",
    StopRequested: "stop_requested",
    UndoRequested: "undo_requested",
    RestartRequested: "restart_requested",
    MuteRequested: "mute_requested",
    UnmuteRequested: "unmute_requested",
    AlertAcknowledged: "alert_acknowledged",
    AlertsTold: "alerts_told",
    WaysBegun: "ways_begun",
    SendRequested: "send_requested",
    AnswerRequested: "answer_requested",
    BreakerReset: "breaker_reset",
    BreakerEdited: "breaker_edited",
    BreakerCorrupt: "breaker_corrupt",
    AgentStarted: "agent_started",
    StartFailed: "start_failed",
    DirectoryLooked: "directory_looked",
    AgentExited: "agent_exited",
    AgentVanished: "agent_vanished",
    ShimLost: "shim_lost",
    TreeGone: "tree_gone",
    TreeLingers: "tree_lingers",
    # The row's `kind` says which hook it was.
    **dict.fromkeys(get_args(hooks.HookEvent), "hook_seen"),
    EvidenceSeen: "evidence_seen",
    UsageSeen: "usage_seen",
    AnswerCut: "answer_cut",
    FailureStatusSeen: "failure_status_seen",
    ScreenSeen: "screen_seen",
    CallWorkSeen: "call_work_seen",
    KeysRead: "keys_read",
    IncidentRecorded: "incident_recorded",
    RunAdopted: "run_adopted",
    RunMissing: "run_missing",
    LinkLost: "link_lost",
    HooksRefused: "hooks_refused",
    Delivered: "delivered",
    NotDelivered: "not_delivered",
    HandoffRequested: "handoff_requested",
    RollbackRequested: "rollback_requested",
    HandoffAcked: "handoff_acked",
    PapersUpdated: "papers_updated",
    PapersFailed: "papers_failed",
    PackageWritten: "package_written",
    PackageFailed: "package_failed",
    PackageChecked: "package_checked",
    AckFileSeen: "ack_file_seen",
    AddendumWritten: "addendum_written",
    TaskRequested: "task_requested",
    TaskCancelRequested: "task_cancel_requested",
    TaskCollected: "task_collected",
    HoldAnswered: "hold_answered",
    HoldReleased: "hold_released",
    ArmedUsed: "armed_used",
    CodesPlanted: "codes_planted",
    PlantingFailed: "planting_failed",
    AnchorSeen: "anchor_seen",
    CodesSeen: "codes_seen",
    FooterSeen: "footer_seen",
    SeedRead: "seed_read",
    CheckRequested: "check_requested",
    RestorationRequested: "restoration_requested",
    WorkMeasured: "work_measured",
    FileLooked: "file_looked",
    MeasurementLost: "measurement_lost",
    CleanedUp: "cleaned_up",
    AttendanceSeen: "attendance_seen",
    ReportJudged: "report_judged",
    CaseExamined: "case_examined",
    TroubleSeen: "trouble_seen",
    TroubleGone: "trouble_gone",
    StateEdited: "state_edited",
    Rebooted: "rebooted",
    TerminalSeen: "terminal_seen",
    TerminalEnded: "terminal_ended",
    LimitsDeclared: "limits_declared",
    Tick: "tick",
    JournalBehind: "journal_behind",
    EpochBegun: "epoch_begun",
    RecoveryConfirmed: "recovery_confirmed",
    SavingHalted: "saving_halted",
    SavingResumed: "saving_resumed",
}

ACTION_NAMES: dict[type[Any], str] = {
    actions.LookForFile: "look_for_file",
    actions.LookForDirectory: "look_for_directory",
    actions.MeasureWork: "measure_work",
    actions.CollectTask: "collect_task",
    actions.ExamineCase: "examine_case",
    actions.PlantCodes: "plant_codes",
    actions.ReadSeed: "read_seed",
    actions.Spawn: "spawn",
    actions.Terminate: "terminate",
    actions.Kill: "kill",
    actions.Fence: "fence",
    actions.Deliver: "deliver",
    actions.LookAtScreen: "look_at_screen",
    actions.SeeAttendance: "see_attendance",
    actions.DismissDialog: "dismiss_dialog",
    actions.InterruptTurn: "interrupt_turn",
    actions.LookAtCall: "look_at_call",
    actions.CleanUp: "clean_up",
    actions.AnswerHold: "answer_hold",
    actions.AttendHold: "attend_hold",
    actions.ReleaseHold: "release_hold",
    actions.Arm: "arm",
    actions.Disarm: "disarm",
    actions.RecordIncident: "record_incident",
    actions.Release: "release",
    actions.TakeSession: "take_session",
    actions.Alert: "alert",
    actions.Reassure: "reassure",
    actions.UpdatePapers: "update_papers",
    actions.WritePackage: "write_package",
    actions.CheckPackage: "check_package",
    actions.RecordSessions: "record_sessions",
    actions.WriteAddendum: "write_addendum",
    actions.ObserveTerminal: "observe_terminal",
}


def event_name(event: Event) -> str:
    """The name of an event's row."""
    return EVENT_NAMES[type(event)]


def action_name(action: Action) -> str:
    """How a row names an action that its decision called for."""
    return ACTION_NAMES[type(action)]
