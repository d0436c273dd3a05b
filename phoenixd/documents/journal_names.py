"""The names under which the journal keeps events and actions, fixed apart from the names of their classes.

Rows that an older version wrote are read by these names, by us and by scripts. So a class may be renamed, and its row
here stays as it is; a name that was ever given means the same for ever, and two classes may share one.
States, facts and the like have theirs in a `name` of their own, see documents/codec.py.
"""

from __future__ import annotations

from typing import Any, get_args

from phoenixd.core import actions, events, hooks
from phoenixd.core.actions import Action
from phoenixd.core.events import Event

EVENT_NAMES: dict[type[Any], str] = {
    events.AgentDeclared: "agent_declared",
    events.AgentWithdrawn: "agent_withdrawn",
    events.StartRequested: "start_requested",
    events.StopRequested: "stop_requested",
    events.RestartRequested: "restart_requested",
    events.SendRequested: "send_requested",
    events.AnswerRequested: "answer_requested",
    events.BreakerReset: "breaker_reset",
    events.BreakerEdited: "breaker_edited",
    events.BreakerCorrupt: "breaker_corrupt",
    events.AgentStarted: "agent_started",
    events.StartFailed: "start_failed",
    events.AgentExited: "agent_exited",
    events.AgentVanished: "agent_vanished",
    events.ShimLost: "shim_lost",
    events.TreeGone: "tree_gone",
    events.TreeLingers: "tree_lingers",
    # The row's `kind` says which hook it was.
    **dict.fromkeys(get_args(hooks.HookEvent), "hook_seen"),
    events.EvidenceSeen: "evidence_seen",
    events.UsageSeen: "usage_seen",
    events.AnswerCut: "answer_cut",
    events.ScreenSeen: "screen_seen",
    events.CallWorkSeen: "call_work_seen",
    events.IncidentRecorded: "incident_recorded",
    events.RunAdopted: "run_adopted",
    events.RunMissing: "run_missing",
    events.LinkLost: "link_lost",
    events.HooksRefused: "hooks_refused",
    events.Delivered: "delivered",
    events.NotDelivered: "not_delivered",
    events.HandoffRequested: "handoff_requested",
    events.RollbackRequested: "rollback_requested",
    events.HandoffAcked: "handoff_acked",
    events.PapersUpdated: "papers_updated",
    events.PapersFailed: "papers_failed",
    events.PackageWritten: "package_written",
    events.PackageFailed: "package_failed",
    events.TaskRequested: "task_requested",
    events.TaskCancelRequested: "task_cancel_requested",
    events.TaskCollected: "task_collected",
    events.HoldAnswered: "hold_answered",
    events.HoldReleased: "hold_released",
    events.ArmedUsed: "armed_used",
    events.WorkMeasured: "work_measured",
    events.FileLooked: "file_looked",
    events.MeasurementLost: "measurement_lost",
    events.CleanedUp: "cleaned_up",
    events.AttendanceSeen: "attendance_seen",
    events.ReportJudged: "report_judged",
    events.TroubleSeen: "trouble_seen",
    events.TroubleGone: "trouble_gone",
    events.StateEdited: "state_edited",
    events.Rebooted: "rebooted",
    events.TerminalSeen: "terminal_seen",
    events.LimitsDeclared: "limits_declared",
    events.Tick: "tick",
    events.JournalBehind: "journal_behind",
    events.EpochBegun: "epoch_begun",
    events.RecoveryConfirmed: "recovery_confirmed",
    events.SavingHalted: "saving_halted",
    events.SavingResumed: "saving_resumed",
}

ACTION_NAMES: dict[type[Any], str] = {
    actions.LookForFile: "look_for_file",
    actions.MeasureWork: "measure_work",
    actions.CollectTask: "collect_task",
    actions.Spawn: "spawn",
    actions.Terminate: "terminate",
    actions.Kill: "kill",
    actions.Fence: "fence",
    actions.Deliver: "deliver",
    actions.LookAtScreen: "look_at_screen",
    actions.SeeAttendance: "see_attendance",
    actions.DismissDialog: "dismiss_dialog",
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
    actions.RecordSessions: "record_sessions",
    actions.ObserveTerminal: "observe_terminal",
}


def event_name(event: Event) -> str:
    """The name of an event's row."""
    return EVENT_NAMES[type(event)]


def action_name(action: Action) -> str:
    """How a row names an action that its decision called for."""
    return ACTION_NAMES[type(action)]
