"""Which evidence counts, and when silence means hung (design section 8; G4, G50, G54, X7, X7b)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.core import call_work, calls, claims, looks
from phoenixd.core.agent import Activity, Agent, PromptKind, Run, Running, Starting, Waiting
from phoenixd.core.decision import Readings
from phoenixd.core.hooks import (
    Hook,
    Notified,
    PermissionDenied,
    PromptSubmitted,
    SessionStarted,
    ToolEnded,
    ToolFailed,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.parts import WaitOver
from phoenixd.core.restart import HUNG, OVERTIME
from phoenixd.core.spec import AgentSpec, Kind

DIALOGS = ("permission", "question", "plan", "dialog")
"""Kinds of waiting that stand on the screen, where no prompt can be typed meanwhile."""

FIRST_LOOK, LOOKS_APART, LAST_LOOK = 2.0, 0.25, 300.0
"""A dialog is looked at after these seconds, and what is looked at again at ages that grow by this share, but by no
more than so many seconds."""

DRAWN_WITHIN = 1.0
"""Seconds after its hook in which a dialog is drawn, and in which calls begin that were made together with its own."""

LOOK_TIME = 10.0
"""Seconds that a look at the screen may take before a silent run is judged without it."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run has to be ended: at what instant it became due, the code to record, and why."""

    at: Instant
    code: int
    reason: str

    @property
    def kind(self) -> Literal["hung", "overtime"]:
        return "hung" if self.code == HUNG else "overtime"


def first_activity(run: Run, spec: AgentSpec, now: Moment) -> Activity:
    """A run that was told something, or exists to do one thing, begins with an open turn (G50)."""
    turn_open = was_told(run, spec) or spec.kind in (Kind.LOOP, Kind.EPHEMERAL)
    return Activity(turn_open, evidence_at=now.at, evidence_wall=now.wall)


def was_told(run: Run, spec: AgentSpec) -> bool:
    """Whether the run was started with a prompt of ours."""
    return run.prompt is PromptKind.CONTINUE or (run.prompt is PromptKind.GOAL and spec.prompt is not None)


def due(agent: Agent, state: Running) -> Overdue | None:
    """The instant at which this run is hung or overtime, if nothing more is heard of it."""
    hung, overtime = _hung(agent, state), _overtime(agent, state)
    if hung and overtime:
        return min(hung, overtime, key=lambda overdue: overdue.at)
    return hung or overtime


def _hung(agent: Agent, state: Running) -> Overdue | None:
    rules, activity = agent.spec.liveness, state.activity
    if (
        not rules.enabled
        or not activity.turn_open
        or activity.waiting is not None
        or agent.limits.parking
        # What it says does not arrive, so that it says nothing proves nothing.
        or state.run.deaf is not None
        or not is_judged(agent)
    ):
        return None
    silent = claims.silent_until(activity, rules.stale)
    at = call_work.put_off(state, max(silent, calls.newest_end(activity.leases, silent)))
    if activity.looked_at is not None and activity.looked_at >= at:
        at = activity.looked_at + LOOK_TIME
    return Overdue(at, HUNG, f"hung: a turn is open, and nothing was heard for {in_words(rules.stale)}")


def _overtime(agent: Agent, state: Running) -> Overdue | None:
    limit = agent.spec.loop.max_runtime if agent.spec.kind is Kind.LOOP else 0.0
    if limit <= 0 or state.activity.waiting is not None or agent.limits.parking is not None:
        return None
    return Overdue(
        state.run.began + limit + state.activity.waited,
        OVERTIME,
        f"ran {in_words(limit)}, the most an iteration may take",
    )


def untouched_by(agent: Agent, state: Running, age: float, now: Moment) -> str | None:
    """Why a heartbeat that claims this age, in seconds, would not have the run ended now; None if it would."""
    activity = state.activity
    if not agent.spec.liveness.enabled:
        return "its silence is not judged (liveness.enabled)"
    if not is_judged(agent):
        return "nothing is known to arrive from it, so its silence means nothing"
    if activity.waiting is not None:
        return f"it waits for a person ({activity.waiting.kind}), and that is never stuck"
    if state.run.deaf is not None:
        return "the link to its shim is lost, so its silence means nothing"
    if not activity.turn_open:
        return "it has no open turn, and idle is never stuck"
    if age < agent.spec.liveness.stale:
        return f"its limit is {agent.spec.liveness.stale:.0f} s (liveness.stale)"
    lease = calls.newest_end(activity.leases, now.at)
    return f"a call in flight may be silent for {lease - now.at:.0f} s more" if lease > now.at else None


def readings(agent: Agent, state: Starting | Running, now: Moment) -> Readings:
    """The facts that an end as hung or overtime rests on, for its reason and its incident."""
    activity, rules = state.activity, agent.spec.liveness
    last_lease = max((lease.until for lease in activity.leases), default=None)
    return (
        ("silent_for", round(now.at - activity.evidence_at, 1)),
        ("liveness.stale", rules.stale),
        ("turn_open", int(activity.turn_open)),
        ("leases", len(activity.leases)),
        ("newest_lease_over_since", None if last_lease is None else round(now.at - last_lease, 1)),
        ("heartbeat_claims", None if activity.stale_claim is None else round(now.at - activity.stale_claim, 1)),
        ("waited_for_people", round(activity.waited, 1)),
        ("ran_for", round(now.at - state.run.began, 1)),
        ("loop.max_runtime", agent.spec.loop.max_runtime if agent.spec.kind is Kind.LOOP else None),
        *call_work.readings(state, now),
    )


def stands_on_screen(waiting: Waiting | None) -> bool:
    """Whether the agent waits for the answer to a dialog, which a look at its screen can see gone."""
    return waiting is not None and waiting.kind in DIALOGS


def look_due(agent: Agent, state: Running) -> Instant | None:
    """When to look at the screen: no hook tells of a person who breaks a turn off, or says no to a dialog."""
    activity, routine = state.activity, looks.due(agent, state)
    asks = stands_on_screen(activity.waiting)
    if not agent.spec.has_hooks or not (asks or (activity.turn_open and activity.waiting is None)):
        return routine
    first = FIRST_LOOK if asks else agent.spec.liveness.check_interval
    silent_since = activity.evidence_at
    if asks and activity.waiting is not None:
        # What was found on the screen of an idle agent began long after it was heard of last.
        silent_since = max(silent_since, activity.waiting.since)
    looked = activity.looked_at if activity.looked_at is not None else silent_since
    at = looked + min(max(LAST_LOOK, first), max(first, LOOKS_APART * (looked - silent_since)))
    return at if routine is None else min(at, routine)


def is_judged(agent: Agent) -> bool:
    """Whether silence can mean anything: some kind of evidence is known to arrive from this agent."""
    spec = agent.spec
    return agent.hooks_seen or spec.heartbeat_file is not None or spec.transcript is not None or spec.kind is Kind.LOOP


def hear_hook(activity: Activity, event: Hook, spec: AgentSpec, now: Moment, *, answers: bool = True) -> Activity:
    """Fold one hook into the activity; a subagent's events only renew the lease of an open Task call (G54).

    answers: whether it can tell that what is asked was answered.
    """
    rules = spec.liveness
    activity = _hear_answer(activity, event, spec.has_hooks, now) if answers else activity
    if event.sub:
        return calls.hear_subagent(activity, event, rules, now)
    heard = replace(
        activity, evidence_at=now.at, evidence_wall=now.wall, stale_claim=None, claim_due=None, looked_at=None
    )
    match event:
        case PromptSubmitted():
            return replace(heard, turn_open=True, leases=())
        case ToolStarted():
            return replace(heard, turn_open=True, leases=calls.begin(heard.leases, event, rules, now))
        case ToolEnded() | ToolFailed() | PermissionDenied():
            return replace(heard, leases=calls.end(heard.leases, event))
        case TurnEnded() | TurnFailed():
            return replace(heard, turn_open=False, leases=())
        case _ if is_idle_prompt(event) or (isinstance(event, SessionStarted) and event.beginning == "clear"):
            # A turn that a person broke off, or cleared away, ends without a stop and leaves its calls unanswered.
            return replace(heard, turn_open=False, leases=())
        case _:
            return heard


def is_idle_prompt(event: Hook) -> bool:
    """Whether the harness says that it waits for its next prompt."""
    return isinstance(event, Notified) and event.notice == "idle" and not event.sub


def waited(activity: Activity, over: WaitOver, now: Moment) -> Activity:
    """A limit is over: the time that it took was nobody's silence."""
    return replace(
        activity,
        waited=activity.waited + over.waited,
        evidence_at=now.at,
        stale_claim=None,
        claim_due=None,
        turn_open=activity.turn_open or over.works,
    )


def answered(activity: Activity, now: Moment) -> Activity:
    """The person has answered: the time that it took was nobody's silence, and no time of a tool that asked first."""
    waiting = activity.waiting
    if waiting is None:
        return activity
    took = max(0.0, now.at - waiting.since)
    leases = tuple(calls.put_off(lease, took) for lease in activity.leases)
    return replace(
        activity,
        waiting=None,
        also_asked=(),
        waited=activity.waited + took,
        leases=leases,
        evidence_at=now.at,
        stale_claim=None,
        claim_due=None,
        looked_at=None,
    )


def settled(activity: Activity, hold: int, now: Moment) -> Activity:
    """A held question was answered or given up: those that it covered come up again."""
    waiting, covered = activity.waiting, activity.also_asked
    if waiting is None:
        return activity
    if waiting.hold != hold:
        return replace(activity, also_asked=tuple(question for question in covered if question.hold != hold))
    if not covered:
        return answered(activity, now)
    return replace(activity, waiting=replace(covered[0], since=waiting.since), also_asked=covered[1:])


def _hear_answer(activity: Activity, event: Hook, has_screen: bool, now: Moment) -> Activity:
    """Close what this hook answers. Of several questions the newest is shown; those before it come up again after it.

    A call that begins says that the question before it was answered, unless both calls were made together. Where a
    screen can be read, it decides.
    """
    waiting = activity.waiting
    if waiting is None:
        return activity
    if has_screen and isinstance(event, ToolStarted) and not event.sub and not waiting.sub:
        drawn = waiting.seen or now.at - waiting.since >= DRAWN_WITHIN
        return replace(activity, waiting=replace(waiting, seen=drawn))
    ends_a_call = isinstance(event, ToolEnded | ToolFailed)
    if has_screen and ends_a_call and waiting.hold and waiting.seen and not activity.also_asked:
        # Whose call it was a held request does not say: the next look at the screen does.
        return activity
    asked = (waiting, *activity.also_asked)
    over = tuple(question for question in asked if not _still_waits(question, event))
    if ends_a_call or isinstance(event, PermissionDenied):
        over = over[:1]
    left = tuple(question for question in asked if all(question is not one for one in over))
    if not left:
        return answered(activity, now)
    # One question after the other is one wait.
    return replace(activity, waiting=replace(left[0], since=waiting.since), also_asked=left[1:])


def _still_waits(waiting: Waiting, event: Hook) -> bool:
    """Whether a person is still asked after this hook: a question closes by its own answer, not by a neighbour's."""
    match event:
        case ToolEnded() | ToolFailed() | PermissionDenied():
            mine = waiting.tool is None or (waiting.sub == event.sub and event.tool in (None, waiting.tool))
            return not mine
        case ToolStarted():
            return event.sub or waiting.sub
        case PromptSubmitted() | TurnEnded() | TurnFailed() | SessionStarted():
            return event.sub
        case _:
            return not (is_idle_prompt(event) and waiting.kind in DIALOGS)
