"""THE TABLE: which parts hear which event, in order. `step` asks those of the event's row, once each, and no others.

A row is read from left to right. In the inner tuple stand the parts of the agent that the event is about: together they
make one decision, which is taken into the fleet where the tuple stands. Each gets the agent as the part before it left
it, the event, what was seen and decided so far, and the moment; one of OWN gets its own dataclass and a view in place
of the agent. So a part can tell something only to a later one. The parts outside of that tuple belong to the fleet.
docs/reference/states.md is made from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phoenixd.core import (
    acknowledging,
    answers,
    armed,
    cleanup,
    cut,
    deafness,
    fleet,
    hooks,
    interrupt,
    productive,
    progress,
    reports,
    requests,
    session,
    turns,
    weights,
    workplaces,
)
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.state import Running, Starting, Stopping
from phoenixd.core.behind import plan
from phoenixd.core.decision import Decision, Heard, Refusal, Seen
from phoenixd.core.events import RUN_EVENTS, Event
from phoenixd.core.events.aftermath import AttendanceSeen, CleanedUp, ReportJudged
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
    EpochBegun,
    JournalBehind,
    LimitsDeclared,
    Rebooted,
    RecoveryConfirmed,
    SavingHalted,
    SavingResumed,
    StateEdited,
    TerminalSeen,
    Tick,
    TroubleGone,
    TroubleSeen,
)
from phoenixd.core.events.handoffs import (
    AddendumWritten,
    HandoffAcked,
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
    OperatorEvent,
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
from phoenixd.core.fleet import Fleet, Step, answer
from phoenixd.core.handoff import asking, following, late
from phoenixd.core.hooks import Hook, ToolStarted
from phoenixd.core.lifecycle import begins, ends, overdue
from phoenixd.core.limits import accounts, outage, parking
from phoenixd.core.meter import compaction, dead_end
from phoenixd.core.meter import parts as meter
from phoenixd.core.moment import Moment
from phoenixd.core.mutes import orders as muting
from phoenixd.core.parts import Signal, View
from phoenixd.core.resonance import checks, exchange, moves
from phoenixd.core.seat import door, lost
from phoenixd.core.seat import orders as seats
from phoenixd.core.taking import take
from phoenixd.core.tasks import requested, steps, telling
from phoenixd.core.treatment import acting, casebook, examining
from phoenixd.core.turn import calls, liveness
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
    acting.act, accounts.release, outage.release, fleet.release_starts, fleet.count_epoch, casebook.follow,
    examining.follow,
)  # fmt: skip
TASKS: Row = (steps.follow, telling.tell)
SHARED: Row = (
    outage.follow, fleet.follow_sequences, following.follow, seats.do_held, moves.follow, *TASKS, *DUE,
)  # fmt: skip
RUN: Row = (accounts.follow, *SHARED)

# A hook may close a question, whose request is let go of, and open one, to which an answer may be prepared.
ASKED: tuple[AgentPart, ...] = (answers.let_go, answers.quieten)
TOLD: Row = (fleet.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED), fleet.give_answer, *RUN)
CONTEXT: Row = (
    fleet.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED, checks.hear), fleet.give_answer,
    *RUN,
)  # fmt: skip
TURN_OVER: Row = (
    fleet.overhear,
    (
        workplaces.hear, progress.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, *ASKED,
        checks.hear,
    ),
    asking.hear_last_words, fleet.give_answer, *RUN,
)  # fmt: skip
# The short way: that a call began or ended decides nothing for accounts, outages and sequences.
# A handoff's deadlines stand still while a person is asked, and what answers that is often the end of a call.
EVIDENCE: Row = (
    fleet.overhear, (workplaces.hear, liveness.hear, session.hear_hook, *ASKED), fleet.give_answer, following.follow,
    *DUE,
)  # fmt: skip
CALL: Row = (
    fleet.overhear,
    (workplaces.hear, parking.hear, liveness.hear, session.hear_hook, *ASKED),
    fleet.give_answer,
    following.follow,
    *DUE,
)

CALL_BEGUN: Row = (
    fleet.overhear,
    (workplaces.hear, parking.hear, liveness.hear, session.hear_hook, *ASKED, checks.hear_call),
    fleet.give_answer,
    following.follow,
    *DUE,
)

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
        fleet.overhear, (workplaces.hear, liveness.hear, session.hear_hook, meter.hear_session, *ASKED, checks.hear),
        fleet.give_answer, *RUN,
    ),
    hooks.SessionEnded: TOLD,
    hooks.PromptSubmitted: (
        fleet.overhear,
        (
            workplaces.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, meter.hear_prompt, *ASKED,
            checks.hear,
        ),
        telling.hear_prompt, late.hear_prompt, fleet.give_answer, *RUN,
    ),
    hooks.TurnEnded: TURN_OVER,
    hooks.TurnFailed: (
        fleet.overhear,
        (
            workplaces.hear, progress.hear, parking.hear, liveness.hear, session.hear_hook, turns.hear, dead_end.hear,
            *ASKED, checks.hear,
        ),
        fleet.give_answer, *RUN,
    ),
    hooks.PermissionDenied: (
        fleet.overhear, (workplaces.hear, progress.hear, liveness.hear, session.hear_hook, turns.hear, *ASKED),
        fleet.give_answer, *RUN,
    ),
    hooks.PermissionAsked: TOLD,
    hooks.Notified: TOLD,
    hooks.CompactionBegun: (
        fleet.overhear, (workplaces.hear, liveness.hear, session.hear_hook, compaction.hear, *ASKED),
        fleet.give_answer, *RUN,
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
        (parking.hear, overdue.hear_screen, answers.let_go, productive.hear_screen, answers.quieten),
        fleet.give_answer, *RUN,
    ),
    # A run, from its start to its end.
    AgentStarted: ((begins.hear_life, answers.let_go, armed.meet), seats.name_session, *RUN),
    RunAdopted: (
        (
            deafness.hear_adoption, begins.hear_life, cut.hear_adoption, answers.meet, *ASKED, armed.meet,
            checks.hear_adoption,
        ),
        seats.name_session, fleet.give_answer, *RUN,
    ),
    StartFailed: ((begins.hear_failed_start,), *RUN),
    AgentExited: (
        fleet.overhear, (ends.hear_exit,), accounts.follow, outage.follow, fleet.follow_sequences,
        following.follow, seats.do_held, moves.follow, fleet.brake, *TASKS, *DUE,
    ),
    AgentVanished: ((ends.hear_vanishing, answers.let_go), *RUN),
    ShimLost: (
        (ends.hear_lost_shim,), accounts.follow, outage.follow, fleet.follow_sequences, following.follow,
        seats.do_held, moves.follow, fleet.brake, *TASKS, *DUE,
    ),
    RunMissing: ((ends.hear_lost_shim,), *RUN),
    TreeGone: ((ends.hear_empty_tree,), *RUN),
    TreeLingers: ((ends.hear_lingering,), *RUN),
    IncidentRecorded: ((ends.hear_record,), *RUN),
    LinkLost: ((deafness.hear_loss,), *RUN),
    HooksRefused: ((deafness.hear_refusals,), *RUN),
    ArmedUsed: ((armed.hear_use,), *RUN),
    CodesPlanted: ((checks.hear_planted,), *RUN),
    PlantingFailed: ((checks.hear_failed_planting,), *RUN),
    AnchorSeen: ((checks.hear_anchor,), *RUN),
    CodesSeen: ((checks.hear_seen,), *RUN),
    FooterSeen: ((checks.hear_footer,), *RUN),
    SeedRead: ((checks.hear_seed,), *RUN),
    CleanedUp: ((cleanup.hear,), *SHARED),
    AttendanceSeen: ((interrupt.hear,), *SHARED),
    ReportJudged: ((reports.hear,), *SHARED),
    CaseExamined: (examining.hear, *SHARED),
    # Texts and answers.
    Delivered: ((parking.hear, begins.hear_delivery, answers.let_go), asking.hear_text, telling.hear, *RUN),
    NotDelivered: ((parking.hear, begins.hear_miss, answers.let_go), asking.hear_text, telling.hear, *RUN),
    HoldAnswered: ((answers.hear_outcome, answers.quieten), fleet.give_answer, *RUN),
    HoldReleased: ((answers.hear_release, answers.quieten), fleet.give_answer, *RUN),
    # Orders.
    AgentDeclared: (fleet.declare, seats.take_seat, fleet.renew_plan, *RUN),
    AgentWithdrawn: (
        (plan.settle, requests.withdraw, checks.hear_order, weights.note_order), seats.end_others, asking.hear_order,
        undoing.note, fleet.renew_plan, *SHARED,
    ),
    StartRequested: (
        (plan.settle, requests.hear_start, reports.hear_order, checks.hear_order, weights.note_order),
        undoing.note, fleet.renew_plan, fleet.take_up_turns, *SHARED,
    ),
    StopRequested: (
        (plan.settle, requests.hear_stop, checks.hear_order, weights.note_order), seats.end_others,
        asking.hear_order, undoing.note, fleet.renew_plan, *SHARED,
    ),
    RestartRequested: (
        (plan.settle, requests.hear_restart, reports.hear_order, checks.hear_order, weights.note_order),
        undoing.note, fleet.renew_plan, fleet.take_up_turns, *SHARED,
    ),
    UndoRequested: (undoing.undo, fleet.renew_plan, fleet.take_up_turns, *SHARED),
    MuteRequested: (muting.mute, *SHARED),
    UnmuteRequested: (muting.unmute, *SHARED),
    AlertAcknowledged: (acknowledging.acknowledge, *SHARED),
    SendRequested: ((requests.send, reports.hear_order, weights.note_order), *SHARED),
    AnswerRequested: ((answers.hear_answer, weights.note_order), *SHARED),
    BreakerReset: ((requests.set_breaker, weights.note_order), *SHARED),
    BreakerEdited: ((requests.set_breaker, weights.note_order), *SHARED),
    BreakerCorrupt: ((requests.set_breaker, weights.note_order), *SHARED),
    CheckRequested: ((checks.request_check,), *SHARED),
    RestorationRequested: ((checks.request_restoration,), *SHARED),
    # Handoffs.
    HandoffRequested: (asking.request, *SHARED),
    RollbackRequested: (asking.roll_back, *SHARED),
    HandoffAcked: (asking.acknowledge, *SHARED),
    PapersUpdated: (asking.hear_work, *SHARED),
    PapersFailed: (asking.hear_work, *SHARED),
    PackageWritten: (asking.hear_work, *SHARED),
    PackageFailed: (asking.hear_work, *SHARED),
    AddendumWritten: (late.hear_written, *SHARED),
    # Tasks.
    TaskRequested: (requested.request, *SHARED),
    TaskCancelRequested: (requested.cancel, *SHARED),
    TaskCollected: (steps.collected, *SHARED),
    # The work.
    WorkMeasured: ((turns.hear_work, progress.hear_work), *SHARED),
    FileLooked: ((progress.hear_work,), *SHARED),
    MeasurementLost: ((turns.hear_work, progress.hear_work), *SHARED),
    # Watches, time, and the fleet as a whole.
    TroubleSeen: (fleet.watch, *SHARED),
    TroubleGone: (fleet.watch, *SHARED),
    StateEdited: (fleet.watch, *SHARED),
    Tick: (fleet.tick, muting.expire, *SHARED),
    Rebooted: (fleet.reboot, seats.after_reboot, *SHARED),
    JournalBehind: (fleet.face_the_world, lost.found_again, undo_age.forget, muting.forget, *SHARED),
    EpochBegun: (fleet.begin_epoch, late.begin_anew, asking.begin_anew, *SHARED),
    RecoveryConfirmed: (fleet.confirm_recovery, *SHARED),
    TerminalSeen: (fleet.see_terminal, *SHARED),
    LimitsDeclared: (fleet.set_limits, *SHARED),
    SavingHalted: (fleet.halt, *SHARED),
    SavingResumed: (fleet.resume, *SHARED),
}  # fmt: skip


def as_heard(fleet: Fleet, event: Event) -> Event:
    """The event as rules and journal hear of it: what an agent answers to a check is no part of its work."""
    if not isinstance(event, hooks.TurnEnded):
        return event
    return exchange.as_heard(fleet.roster.living(event.agent, event.incarnation), event)


def step(before: Fleet, event: Event, now: Moment) -> Step:
    """Decide on one event: ask the parts of its row, in order."""
    event = as_heard(before, event)
    if type(event) in door.ADDRESSED:
        met = door.addressed(before, event, now)
        if isinstance(met, Step):
            return met
        event = met
        if (waits := asking.at_the_door(before, event, now)) is not None:
            return waits
    found = Step(before)
    for part in TABLE[type(event)]:
        found = (
            _decided(before, found, part, event, now) if isinstance(part, tuple) else part(before, found, event, now)
        )
    return found


def _decided(before: Fleet, found: Step, parts: tuple[AgentPart | OwnPart, ...], event: Any, now: Moment) -> Step:
    """Have the parts of one agent make a decision, and take it into the fleet."""
    is_of_a_run = type(event) in RUN_EVENTS
    known = before.roster.living(event.agent, event.incarnation) if is_of_a_run else before.agents.get(event.agent)
    agent: Agent | None = known
    if agent is None:
        # An older incarnation's words change nothing; the performer has answered for its processes.
        return _unknown(found, event)
    decision = Decision(agent)
    signals: tuple[Signal, ...] = ()
    is_news = not isinstance(event, Hook) or _is_news(agent, event)
    viewed: Agent | None = None
    part: Any
    for part in parts:
        left = decision.agent
        assert left is not None
        if part not in OWN:
            decision = part(left, event, Seen(agent, decision, signals, is_news), now)
            continue
        place, taken = OWN[part]
        if left is not viewed:
            viewed, view = left, left.view(is_news)
        heard = part(getattr(left, place), event, view, now)
        if heard.part is not getattr(left, place):
            decision = _joined(decision, taken(left, heard, now))
        signals = (*signals, *heard.signals)
    return answer(found, outage.once(before, agent, decision) if decision.actions else decision, now)


def _take_turn(agent: Agent, heard: Heard[Activity], now: Moment) -> Decision:
    """Take in what became of the run's turn."""
    assert isinstance(agent.state, Starting | Running | Stopping)
    changed = replace(agent, state=replace(agent.state, activity=heard.part))
    return Decision(changed, heard.actions, heard.reason, heard.readings, weight=heard.weight)


# The parts that have a dataclass of their own, where in the agent it stands, and how it is taken in. The others are
# asked for the agent.
OWN: dict[Any, tuple[str, Any]] = {parking.hear: ("limits", take), liveness.hear: ("activity", _take_turn)}


def _joined(first: Decision, then: Decision) -> Decision:
    reason = "; ".join(filter(None, (first.reason, then.reason)))
    actions, readings = (*first.actions, *then.actions), (*first.readings, *then.readings)
    return replace(then, actions=actions, reason=reason, readings=readings)


def _is_news(agent: Agent, event: Hook) -> bool:
    """Whether a hook was not heard before: a shim says again what was not acknowledged, and which calls are open."""
    state = agent.state
    if not isinstance(state, Starting | Running | Stopping) or 0 < event.seq <= state.run.hook_seq:
        return False
    return not (isinstance(event, ToolStarted) and calls.is_known(state.activity.leases, event))


def _unknown(found: Step, event: Event) -> Step:
    if not isinstance(event, OperatorEvent) or isinstance(event, AgentDeclared):
        return found
    return replace(found, refusal=Refusal("not_found", f"there is no agent {event.agent}", "phoenixctl status"))
