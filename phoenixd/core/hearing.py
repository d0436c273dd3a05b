"""THE TABLE: which parts hear which event, in order. `step` asks those of the event's row, once each, and no others.

A row is read from left to right. In the inner tuple stand the parts of the agent that the event is about: together they
make one decision, which is taken into the fleet where the tuple stands. Each gets the agent as the part before it left
it, the event, what was seen and decided so far, and the moment; so a part can tell something only to a later one. The
parts outside of that tuple belong to the fleet. docs/reference/states.md is made from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from phoenixd.core import (
    answers,
    call_work,
    cleanup,
    deafness,
    events,
    fleet,
    hooks,
    interrupt,
    lifecycle,
    productive,
    progress,
    requests,
    session,
    turns,
    weights,
    workplaces,
)
from phoenixd.core.agent import Agent
from phoenixd.core.behind import plan
from phoenixd.core.decision import Decision, Refusal, Seen
from phoenixd.core.events import RUN_EVENTS, AgentDeclared, Event, OperatorEvent
from phoenixd.core.fleet import Fleet, Step, answer, speaker
from phoenixd.core.meter import dead_end
from phoenixd.core.meter import parts as meter
from phoenixd.core.moment import Moment

AgentPart = Callable[[Agent, Any, Seen, Moment], Decision]
FleetPart = Callable[[Fleet, Step, Any, Moment], Step]
Row = tuple[FleetPart | tuple[AgentPart, ...], ...]

# What follows of a change, whatever it was: starts that are due begin with any event, so that none waits for a Tick.
DUE: Row = (fleet.release_parked, fleet.release_starts, fleet.count_epoch)
SHARED: Row = (fleet.follow_outages, fleet.follow_sequences, *DUE)
RUN: Row = (fleet.follow_accounts, *SHARED)

# A hook may close a question, whose request is let go of, and open one, to which an answer may be prepared.
ASKED: tuple[AgentPart, ...] = (answers.let_go, answers.quieten)
TOLD: Row = (fleet.overhear, (workplaces.hear, session.hear_hook, *ASKED), fleet.give_answer, *RUN)
JUDGED: Row = (
    fleet.overhear, (workplaces.hear, progress.hear, session.hear_hook, turns.hear, *ASKED), fleet.give_answer, *RUN,
)  # fmt: skip
# The short way: that a call began or ended decides nothing for accounts, outages and sequences.
EVIDENCE: Row = (fleet.overhear, (workplaces.hear, session.hear_hook, *ASKED), fleet.give_answer, *DUE)

TABLE: dict[type[Any], Row] = {
    # Hooks.
    hooks.ToolStarted: EVIDENCE,
    hooks.ToolEnded: EVIDENCE,
    hooks.ToolFailed: EVIDENCE,
    hooks.SubagentStarted: EVIDENCE,
    hooks.SubagentEnded: EVIDENCE,
    hooks.SessionStarted: (
        fleet.overhear, (workplaces.hear, session.hear_hook, meter.hear_session, *ASKED), fleet.give_answer, *RUN,
    ),
    hooks.SessionEnded: TOLD,
    hooks.PromptSubmitted: (
        fleet.overhear, (workplaces.hear, session.hear_hook, turns.hear, meter.hear_prompt, *ASKED), fleet.give_answer,
        *RUN,
    ),
    hooks.TurnEnded: JUDGED,
    hooks.TurnFailed: (
        fleet.overhear,
        (workplaces.hear, progress.hear, session.hear_hook, turns.hear, dead_end.hear, *ASKED),
        fleet.give_answer, *RUN,
    ),
    hooks.PermissionDenied: JUDGED,
    hooks.PermissionAsked: TOLD,
    hooks.Notified: TOLD,
    hooks.CompactionBegun: TOLD,
    hooks.Compacted: TOLD,
    hooks.OtherHook: TOLD,
    # Other signs of life, and what was looked at.
    events.EvidenceSeen: ((session.hear_evidence, answers.let_go), *DUE),
    events.CallWorkSeen: ((call_work.hear,), *DUE),
    events.UsageSeen: ((meter.hear,), *DUE),
    events.ScreenSeen: (
        (lifecycle.hear_screen, answers.let_go, productive.hear_screen, answers.quieten), fleet.give_answer, *RUN,
    ),
    # A run, from its start to its end.
    events.AgentStarted: ((lifecycle.hear_life, answers.let_go), *RUN),
    events.RunAdopted: (
        (deafness.hear_adoption, lifecycle.hear_life, answers.meet, *ASKED), fleet.give_answer, *RUN,
    ),
    events.StartFailed: ((lifecycle.hear_failed_start,), *RUN),
    events.AgentExited: (
        fleet.overhear, (lifecycle.hear_exit,), fleet.follow_accounts, fleet.follow_outages, fleet.follow_sequences,
        fleet.brake, *DUE,
    ),
    events.AgentVanished: ((lifecycle.hear_vanishing, answers.let_go), *RUN),
    events.ShimLost: (
        (lifecycle.hear_lost_shim,), fleet.follow_accounts, fleet.follow_outages, fleet.follow_sequences, fleet.brake,
        *DUE,
    ),
    events.RunMissing: ((lifecycle.hear_lost_shim,), *RUN),
    events.TreeGone: ((lifecycle.hear_empty_tree,), *RUN),
    events.TreeLingers: ((lifecycle.hear_lingering,), *RUN),
    events.IncidentRecorded: ((lifecycle.hear_record,), *RUN),
    events.LinkLost: ((deafness.hear_loss,), *RUN),
    events.HooksRefused: ((deafness.hear_refusals,), *RUN),
    events.CleanedUp: ((cleanup.hear,), *SHARED),
    events.AttendanceSeen: ((interrupt.hear,), *SHARED),
    # Texts and answers.
    events.Delivered: ((lifecycle.hear_delivery, answers.let_go), *RUN),
    events.NotDelivered: ((lifecycle.hear_miss, answers.let_go), *RUN),
    events.HoldAnswered: ((answers.hear_outcome, answers.quieten), fleet.give_answer, *RUN),
    events.HoldReleased: ((answers.hear_release, answers.quieten), fleet.give_answer, *RUN),
    # Orders.
    events.AgentDeclared: (fleet.declare, fleet.renew_plan, *RUN),
    events.AgentWithdrawn: ((plan.settle, requests.withdraw, weights.note_order), fleet.renew_plan, *SHARED),
    events.StartRequested: (
        (plan.settle, requests.hear_start, weights.note_order), fleet.renew_plan, fleet.take_up_turns, *SHARED,
    ),
    events.StopRequested: ((plan.settle, requests.hear_stop, weights.note_order), fleet.renew_plan, *SHARED),
    events.RestartRequested: (
        (plan.settle, requests.hear_restart, weights.note_order), fleet.renew_plan, fleet.take_up_turns, *SHARED,
    ),
    events.SendRequested: ((requests.send, weights.note_order), *SHARED),
    events.AnswerRequested: ((answers.hear_answer, weights.note_order), *SHARED),
    events.BreakerReset: ((requests.set_breaker, weights.note_order), *SHARED),
    events.BreakerEdited: ((requests.set_breaker, weights.note_order), *SHARED),
    events.BreakerCorrupt: ((requests.set_breaker, weights.note_order), *SHARED),
    # The work.
    events.WorkMeasured: ((turns.hear_work, progress.hear_work), *SHARED),
    events.FileLooked: ((progress.hear_work,), *SHARED),
    events.MeasurementLost: ((turns.hear_work, progress.hear_work), *SHARED),
    # Watches, time, and the fleet as a whole.
    events.TroubleSeen: (fleet.watch, *SHARED),
    events.TroubleGone: (fleet.watch, *SHARED),
    events.StateEdited: (fleet.watch, *SHARED),
    events.Tick: (fleet.tick, *SHARED),
    events.Rebooted: (fleet.reboot, *SHARED),
    events.JournalBehind: (fleet.face_the_world, *SHARED),
    events.EpochBegun: (fleet.begin_epoch, *SHARED),
    events.RecoveryConfirmed: (fleet.confirm_recovery, *SHARED),
    events.TerminalSeen: (fleet.see_terminal, *SHARED),
    events.LimitsDeclared: (fleet.set_limits, *SHARED),
    events.SavingHalted: (fleet.halt, *SHARED),
    events.SavingResumed: (fleet.resume, *SHARED),
}  # fmt: skip


def step(before: Fleet, event: Event, now: Moment) -> Step:
    """Decide on one event: ask the parts of its row, in order."""
    found = Step(before)
    for part in TABLE[type(event)]:
        found = (
            _decided(before, found, part, event, now) if isinstance(part, tuple) else part(before, found, event, now)
        )
    return found


def _decided(before: Fleet, found: Step, parts: tuple[AgentPart, ...], event: Any, now: Moment) -> Step:
    """Have the parts of one agent make a decision, and take it into the fleet."""
    agent = speaker(before, event) if type(event) in RUN_EVENTS else before.agents.get(event.agent)
    if agent is None:
        # An older incarnation's words change nothing; the performer has answered for its processes.
        return _unknown(found, event)
    decision = Decision(agent)
    for part in parts:
        assert decision.agent is not None
        decision = part(decision.agent, event, Seen(agent, decision), now)
    return answer(found, fleet.once(before, agent, decision), now)


def _unknown(found: Step, event: Event) -> Step:
    if not isinstance(event, OperatorEvent) or isinstance(event, AgentDeclared):
        return found
    return replace(found, refusal=Refusal("not_found", f"there is no agent {event.agent}", "phoenixctl status"))
