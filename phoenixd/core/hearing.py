"""THE TABLE: which parts hear which event, in order. `step.py` asks those of the event's row, once each, and no others.

A row is read from left to right. In the inner tuple stand the parts of the agent that the event is about: together they
make one decision, which is taken into the fleet where the tuple stands. Each gets the agent as the part before it left
it, the event, what was seen and decided so far, and the moment; one of OWN gets its own dataclass and a view in place
of the agent. So a part can tell something only to a later one. The parts outside of that tuple belong to the fleet:
each gets the fleet as it was and as it is so far, the event, and the moment. docs/reference/states.md is made from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phoenixd.core import (
    acknowledging,
    answers,
    armed,
    cleanup,
    cut,
    deadlines,
    deafness,
    declarations,
    hooks,
    interrupt,
    kept_out,
    prepared_answers,
    productive,
    progress,
    recovery,
    reports,
    requests,
    session,
    starts,
    turns,
    unheard,
    watches,
    weights,
    workplaces,
)
from phoenixd.core.agent import Agent
from phoenixd.core.behind import plan
from phoenixd.core.decision import Decision, Heard, Seen
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
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.handoff import ack_file, asking, following, late, letters, records
from phoenixd.core.lifecycle import begins, ends, overdue, unwanted
from phoenixd.core.limits import accounts, outage, parking
from phoenixd.core.meter import compaction, dead_end
from phoenixd.core.meter import parts as meter
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import orders as muting
from phoenixd.core.parts import View
from phoenixd.core.recycling import parts as recycled_runs
from phoenixd.core.resonance import checks, codes, moves, restoring
from phoenixd.core.resonance import orders as checking
from phoenixd.core.seat import lost
from phoenixd.core.seat import orders as seats
from phoenixd.core.sequence import parts as sequences
from phoenixd.core.taking import take, take_turn
from phoenixd.core.tasks import published, requested, steps, telling
from phoenixd.core.terminal import parts as terminal
from phoenixd.core.treatment import acting, casebook, examining
from phoenixd.core.turn import liveness
from phoenixd.core.undo import age as undo_age
from phoenixd.core.undo import orders as undoing

AgentPart = Callable[[Agent, Any, Seen, Moment], Decision]
OwnPart = Callable[[Any, Any, View, Moment], Heard[Any]]
FleetPart = Callable[[Fleet, Step, Any, Moment], Step]
Row = tuple[FleetPart | tuple[AgentPart | OwnPart, ...], ...]

# What follows of a change, whatever it was: starts that are due begin with any event, so that none waits for a Tick.
# Before them the clinic adds what the others left out; its book stands behind all of them, for it reads what they
# decided, and of what it notes some may be shown to a model.
DUE: Row = (
    acting.act, accounts.release, outage.release, terminal.follow, starts.release, recovery.count_epoch,
    casebook.follow, examining.follow,
)  # fmt: skip
TASKS: Row = (steps.follow, telling.tell)
SHARED: Row = (outage.follow, sequences.follow, following.follow, seats.do_held, moves.follow, *TASKS, *DUE)
RUN: Row = (accounts.follow, *SHARED)

# A hook may close a question, whose request is let go of, and open one, to which an answer may be prepared.
ASKED: tuple[AgentPart, ...] = (answers.let_go, prepared_answers.quieten)
TOLD: Row = (
    sequences.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED), prepared_answers.give, *RUN,
)  # fmt: skip
CONTEXT: Row = (
    sequences.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED, checks.hear), prepared_answers.give,
    *RUN,
)  # fmt: skip
TURN_OVER: Row = (
    sequences.overhear,
    (
        workplaces.hear, progress.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, *ASKED,
        checks.hear,
    ),
    asking.hear_last_words, prepared_answers.give, *RUN,
)  # fmt: skip
# The short way: that a call began or ended decides nothing for accounts, outages and sequences.
# A handoff's deadlines stand still while a person is asked, and what answers that is often the end of a call.
EVIDENCE: Row = (
    sequences.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED), prepared_answers.give,
    following.follow, *DUE,
)  # fmt: skip
CALL: Row = (
    sequences.overhear, (workplaces.hear, parking.hear, liveness.hear, session.hear_hook, *ASKED),
    prepared_answers.give, following.follow, *DUE,
)  # fmt: skip
CALL_BEGUN: Row = (
    sequences.overhear,
    (workplaces.hear, parking.hear, liveness.hear, session.hear_hook, *ASKED, checks.hear_call),
    prepared_answers.give, following.follow, *DUE,
)  # fmt: skip

TABLE: dict[type[Any], Row] = {
    # Hooks.
    hooks.ToolStarted: CALL_BEGUN,
    hooks.ToolEnded: CALL,
    hooks.ToolFailed: EVIDENCE,
    hooks.SubagentStarted: EVIDENCE,
    hooks.SubagentEnded: EVIDENCE,
    hooks.CallKept: EVIDENCE,
    hooks.TurnKept: CONTEXT,
    hooks.SessionStarted: (
        sequences.overhear,
        (workplaces.hear, liveness.hear, session.hear_hook, meter.hear_session, *ASKED, checks.hear),
        prepared_answers.give, *RUN,
    ),
    hooks.SessionEnded: TOLD,
    hooks.PromptSubmitted: (
        sequences.overhear,
        (
            workplaces.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, meter.hear_prompt, *ASKED,
            checks.hear,
        ),
        telling.hear_prompt, late.hear_prompt, prepared_answers.give, *RUN,
    ),
    hooks.TurnEnded: TURN_OVER,
    hooks.TurnFailed: (
        sequences.overhear,
        (
            workplaces.hear, progress.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, dead_end.hear,
            *ASKED, checks.hear,
        ),
        prepared_answers.give, *RUN,
    ),
    hooks.PermissionDenied: (
        sequences.overhear, (workplaces.hear, progress.hear, liveness.hear, session.hear_hook, turns.hear, *ASKED),
        prepared_answers.give, *RUN,
    ),
    hooks.PermissionAsked: TOLD,
    hooks.Notified: TOLD,
    hooks.CompactionBegun: (
        sequences.overhear, (workplaces.hear, liveness.hear, session.hear_hook, compaction.hear, *ASKED),
        prepared_answers.give, *RUN,
    ),
    hooks.Compacted: CONTEXT,
    hooks.OtherHook: TOLD,
    # Other signs of life, and what was looked at.
    EvidenceSeen: ((liveness.hear, session.hear_evidence, answers.let_go), *DUE),
    CallWorkSeen: ((liveness.hear,), *DUE),
    KeysRead: ((liveness.hear,), *DUE),
    UsageSeen: ((meter.hear,), following.follow, *DUE),
    AnswerCut: ((cut.hear, dead_end.hear_cut), *RUN),
    FailureStatusSeen: RUN,
    ScreenSeen: (
        (parking.hear, overdue.hear_screen, answers.let_go, productive.hear_screen, prepared_answers.quieten),
        prepared_answers.give, *RUN,
    ),
    # A run, from its start to its end.
    AgentStarted: (
        unwanted.hear_late_start, (begins.hear_life, answers.let_go, armed.meet), seats.name_session, *RUN,
    ),
    RunAdopted: (
        (
            deafness.hear_adoption, begins.hear_life, cut.hear_adoption, answers.meet, *ASKED, armed.meet,
            codes.hear_adoption,
        ),
        seats.name_session, letters.go_on, prepared_answers.give, *RUN,
    ),
    StartFailed: ((begins.hear_failed_start,), *RUN),
    DirectoryLooked: ((kept_out.hear,), *SHARED),
    AgentExited: (
        sequences.overhear, (ends.hear_exit,), accounts.follow, outage.follow, sequences.follow,
        following.follow, seats.do_held, moves.follow, starts.brake, *TASKS, *DUE,
    ),
    AgentVanished: ((ends.hear_vanishing, answers.let_go), *RUN),
    ShimLost: (
        (ends.hear_lost_shim,), accounts.follow, outage.follow, sequences.follow, following.follow,
        seats.do_held, moves.follow, starts.brake, *TASKS, *DUE,
    ),
    RunMissing: ((ends.hear_lost_shim,), *RUN),
    TreeGone: ((ends.hear_empty_tree,), *RUN),
    TreeLingers: ((ends.hear_lingering,), *RUN),
    IncidentRecorded: ((ends.hear_record,), *RUN),
    LinkLost: ((deafness.hear_loss,), *RUN),
    HooksRefused: ((deafness.hear_refusals,), *RUN),
    ArmedUsed: ((armed.hear_use,), *RUN),
    CodesPlanted: ((codes.hear_planted,), *RUN),
    PlantingFailed: ((codes.hear_failed_planting,), *RUN),
    AnchorSeen: ((codes.hear_anchor,), *RUN),
    CodesSeen: ((codes.hear_seen,), *RUN),
    FooterSeen: ((codes.hear_footer,), *RUN),
    SeedRead: ((codes.hear_seed,), *RUN),
    CleanedUp: ((cleanup.hear,), *SHARED),
    AttendanceSeen: ((interrupt.hear,), *SHARED),
    ReportJudged: ((reports.hear,), *SHARED),
    CaseExamined: (examining.hear, *SHARED),
    # Texts and answers.
    Delivered: ((parking.hear, begins.hear_delivery, answers.let_go), asking.hear_text, telling.hear, *RUN),
    NotDelivered: (
        (parking.hear, begins.hear_miss, restoring.hear_miss, answers.let_go), asking.hear_text, telling.hear, *RUN,
    ),
    HoldAnswered: ((answers.hear_outcome, prepared_answers.quieten), prepared_answers.give, *RUN),
    HoldReleased: ((answers.hear_release, prepared_answers.quieten), prepared_answers.give, *RUN),
    # Orders.
    AgentDeclared: (declarations.declare, seats.take_seat, recovery.renew_plan, *RUN),
    AgentWithdrawn: (
        (plan.settle, requests.withdraw, checking.hear_order, weights.note_order), seats.end_others, asking.hear_order,
        undoing.note, recovery.renew_plan, *SHARED,
    ),
    StartRequested: (
        (plan.settle, requests.hear_start, reports.hear_order, checking.hear_order, weights.note_order),
        undoing.note, recovery.renew_plan, sequences.take_up, *SHARED,
    ),
    StopRequested: (
        (plan.settle, requests.hear_stop, checking.hear_order, weights.note_order), seats.end_others,
        asking.hear_order, undoing.note, recovery.renew_plan, *SHARED,
    ),
    RestartRequested: (
        (plan.settle, requests.hear_restart, reports.hear_order, checking.hear_order, weights.note_order),
        undoing.note, recovery.renew_plan, sequences.take_up, *SHARED,
    ),
    UndoRequested: (undoing.undo, recovery.renew_plan, sequences.take_up, *SHARED),
    MuteRequested: (muting.mute, *SHARED),
    UnmuteRequested: (muting.unmute, *SHARED),
    AlertAcknowledged: (acknowledging.acknowledge, *SHARED),
    AlertsTold: (unheard.hear_told, *DUE),
    WaysBegun: (unheard.begin, *DUE),
    SendRequested: ((requests.send, reports.hear_order, weights.note_order), *SHARED),
    AnswerRequested: ((answers.hear_answer, weights.note_order), *SHARED),
    BreakerReset: ((requests.set_breaker, weights.note_order), *SHARED),
    BreakerEdited: ((requests.set_breaker, weights.note_order), *SHARED),
    BreakerCorrupt: ((requests.set_breaker, weights.note_order), *SHARED),
    CheckRequested: ((checking.request_check,), *SHARED),
    RestorationRequested: ((checking.request_restoration,), *SHARED),
    # Handoffs.
    HandoffRequested: (asking.request, *SHARED),
    RollbackRequested: (asking.roll_back, *SHARED),
    HandoffAcked: (asking.acknowledge, *SHARED),
    PapersUpdated: (published.hear_update, asking.hear_work, *SHARED),
    PapersFailed: (asking.hear_work, *SHARED),
    PackageWritten: (asking.hear_work, *SHARED),
    PackageFailed: (asking.hear_work, *SHARED),
    PackageChecked: (asking.hear_check, *SHARED),
    AckFileSeen: (ack_file.hear, *SHARED),
    AddendumWritten: (late.hear_written, *SHARED),
    # Tasks.
    TaskRequested: (requested.request, *SHARED),
    TaskCancelRequested: (requested.cancel, recovery.renew_plan, *SHARED),
    TaskCollected: (steps.collected, *SHARED),
    # The work.
    WorkMeasured: ((turns.hear_work, progress.hear_work), recycled_runs.hear, *SHARED),
    FileLooked: ((progress.hear_work,), *SHARED),
    MeasurementLost: ((turns.hear_work, progress.hear_work), recycled_runs.hear, *SHARED),
    # Watches, time, and the fleet as a whole.
    TroubleSeen: (watches.hear, *SHARED),
    TroubleGone: (watches.hear, *SHARED),
    StateEdited: (watches.hear, *SHARED),
    Tick: (deadlines.tick, muting.expire, *SHARED),
    Rebooted: (recovery.reboot, seats.after_reboot, *SHARED),
    JournalBehind: (
        recovery.face_the_world, lost.found_again, recovery.tell_plan, undo_age.forget, muting.forget, *SHARED,
    ),
    EpochBegun: (
        recovery.begin_epoch, late.begin_anew, asking.begin_anew, records.begin_anew, terminal.begin_anew, *SHARED,
    ),
    RecoveryConfirmed: (recovery.confirm_recovery, lost.end_left_over, *SHARED),
    TerminalSeen: (starts.see_terminal, *SHARED),
    TerminalEnded: (terminal.hear_end, *SHARED),
    LimitsDeclared: (declarations.set_limits, *SHARED),
    SavingHalted: (starts.halt, *SHARED),
    SavingResumed: (starts.resume, *SHARED),
}  # fmt: skip

# The parts that have a dataclass of their own, where in the agent it stands, and how it is taken in. The others are
# asked for the agent.
OWN: dict[Any, tuple[str, Any]] = {parking.hear: ("limits", take), liveness.hear: ("activity", take_turn)}
