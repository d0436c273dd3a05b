"""Which evidence counts, and when silence means hung (design section 8; G4, G50, G54, X7, X7b)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.agent import Activity, Agent, Lease, Run, Running
from phoenixd.core.events import EvidenceSeen, HookSeen
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.restart import HUNG, OVERTIME
from phoenixd.core.spec import AgentSpec, Kind, LivenessRules

MAX_LEASES = 64
"""Calls in flight that are remembered; an agent cannot make the daemon remember more."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run has to be ended: at what instant it became due, the code to record, and why."""

    at: Instant
    code: int
    reason: str


def first_activity(run: Run, spec: AgentSpec, now: Moment) -> Activity:
    """A run that was told something, or exists to do one thing, begins with an open turn (G50)."""
    told = run.prompt.value != "none" and (spec.prompt is not None or run.prompt.value == "continue")
    return Activity(
        turn_open=told or spec.kind in (Kind.LOOP, Kind.EPHEMERAL), evidence_at=now.at, evidence_wall=now.wall
    )


def due(agent: Agent, state: Running) -> Overdue | None:
    """The instant at which this run is hung or overtime, if nothing more is heard of it."""
    hung, overtime = _hung(agent, state), _overtime(agent, state)
    if hung and overtime:
        return min(hung, overtime, key=lambda overdue: overdue.at)
    return hung or overtime


def _hung(agent: Agent, state: Running) -> Overdue | None:
    rules, activity = agent.spec.liveness, state.activity
    if not activity.turn_open or activity.waiting is not None or not is_judged(agent):
        return None
    silent_since = activity.evidence_at
    if activity.stale_claim is not None:
        silent_since = min(silent_since, activity.stale_claim)
    lease = max((lease.until for lease in activity.leases), default=silent_since)
    at = max(silent_since + rules.stale, lease)
    return Overdue(at, HUNG, f"hung: a turn is open, and nothing was heard for {rules.stale:.0f} s")


def _overtime(agent: Agent, state: Running) -> Overdue | None:
    limit = agent.spec.loop.max_runtime if agent.spec.kind is Kind.LOOP else 0.0
    if limit <= 0:
        return None
    return Overdue(state.run.began + limit, OVERTIME, f"ran {limit:.0f} s, the most an iteration may take")


def is_judged(agent: Agent) -> bool:
    """Whether silence can mean anything: some kind of evidence is known to arrive from this agent."""
    spec = agent.spec
    return agent.hooks_seen or spec.heartbeat_file is not None or spec.transcript is not None or spec.kind is Kind.LOOP


def hear_hook(activity: Activity, event: HookSeen, rules: LivenessRules, now: Moment) -> Activity:
    """Fold one hook into the activity; a subagent's events only renew the lease of an open Task call (G54)."""
    if event.sub:
        answered = event.kind in ("tool-end", "tool-failure", "permission-denied")
        renewed = _renew_subagents(activity, rules, now)
        return replace(renewed, waiting=None) if answered else renewed
    heard = replace(activity, evidence_at=now.at, evidence_wall=now.wall, stale_claim=None)
    match event.kind:
        case "prompt-submit":
            return replace(heard, turn_open=True, leases=(), waiting=None)
        case "tool-start":
            return replace(heard, turn_open=True, waiting=None, leases=_with_lease(heard.leases, event, rules, now))
        case "tool-end" | "tool-failure":
            rest = tuple(lease for lease in heard.leases if lease.tool_use_id != (event.tool_use_id or ""))
            return replace(heard, leases=rest, waiting=None)
        case "stop" | "stop-failure":
            return replace(heard, turn_open=False, leases=(), waiting=None)
        case "permission-denied":
            return replace(heard, waiting=None)
        case _:
            return heard


def hear_evidence(activity: Activity, event: EvidenceSeen, now: Moment) -> Activity:
    """Fold a heartbeat or transcript growth; an old timestamp is believed while a turn is open (G29)."""
    if event.age is not None and event.age > 0 and activity.turn_open:
        return replace(activity, stale_claim=now.at - event.age)
    return replace(activity, evidence_at=now.at, evidence_wall=now.wall, stale_claim=None)


def _renew_subagents(activity: Activity, rules: LivenessRules, now: Moment) -> Activity:
    renewed = tuple(
        replace(lease, until=min(lease.started + rules.subagent_max, now.at + rules.stale))
        if lease.is_subagent
        else lease
        for lease in activity.leases
    )
    return replace(activity, leases=renewed)


def _with_lease(leases: tuple[Lease, ...], event: HookSeen, rules: LivenessRules, now: Moment) -> tuple[Lease, ...]:
    if event.lease is None and not event.is_subagent_call:
        return leases
    declared = min(event.lease or 0.0, rules.lease_max)
    until = now.at + (declared + rules.lease_slack if declared else rules.stale)
    lease = Lease(event.tool_use_id or "", until, now.at, event.is_subagent_call)
    kept = tuple(other for other in leases if other.tool_use_id != lease.tool_use_id)
    return (*kept, lease)[-MAX_LEASES:]
