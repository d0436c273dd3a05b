"""Tool calls in flight: which are open, and until when their silence is expected (G37, G54, X7b)."""

from __future__ import annotations

from phoenixd.core.agent.activity import Activity, Lease
from phoenixd.core.change import replace
from phoenixd.core.hooks import CallOver, Hook, PermissionAsked, PermissionDenied, ToolEnded, ToolFailed, ToolStarted
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.rules import LivenessRules

MAX_LEASES = 64
"""Calls in flight that are remembered; an agent cannot make the daemon remember more."""

MAX_COMMAND = 120
"""Characters of a call's command that are kept, to say later what hung."""


def begin(leases: tuple[Lease, ...], event: ToolStarted, rules: LivenessRules, now: Moment) -> tuple[Lease, ...]:
    """Remember a call of the main thread; only a declared timeout, or a Task call, is a promise of silence."""
    promised = _declared(event, rules)
    until = now.at + (promised or (rules.stale if event.is_subagent_call else 0.0))
    return _added(leases, _opened(event, until, rules, now))


def is_known(leases: tuple[Lease, ...], event: ToolStarted) -> bool:
    """Whether it is the beginning of a call that is open already."""
    if event.ticks is None:
        return False
    key = (event.tool_use_id or "", event.sub, event.ticks)
    return any((*_call(lease), lease.ticks) == key for lease in leases)


def end(leases: tuple[Lease, ...], event: CallOver) -> tuple[Lease, ...]:
    """The leases without that of the call that ended; with the last Task call go those of its subagents."""
    rest = tuple(lease for lease in leases if _call(lease) != (event.tool_use_id or "", event.sub))
    if len(rest) == len(leases) and isinstance(event, PermissionDenied):
        denied = [lease for lease in leases if (lease.tool, lease.sub) == (event.tool or "", event.sub)][-1:]
        rest = tuple(lease for lease in leases if lease not in denied)
    if any(lease.is_subagent for lease in rest):
        return rest
    return tuple(lease for lease in rest if not lease.sub)


def asking(leases: tuple[Lease, ...], event: PermissionAsked) -> str:
    """The id of the call that asks for permission, which no hook tells; empty where none is open that is surely it."""
    found = [one for one in leases if one.tool_use_id and (one.tool, one.sub) == (event.tool or "", event.sub)]
    if event.held and event.text.startswith("{"):
        # Its command is told otherwise than that of the open calls.
        return found[0].tool_use_id if len(found) == 1 else ""
    same = [one for one in found if one.command == _shortened(event.text)]
    return same[0].tool_use_id if len(same) == 1 else ""


def hear_subagent(activity: Activity, event: Hook, rules: LivenessRules, now: Moment) -> Activity:
    """Renew the open Task calls, and keep a subagent's own call; without a Task call it counts nothing.

    Which call belongs to which subagent no hook tells, so one that works stands in for all that are open.
    """
    tasks = [lease for lease in activity.leases if lease.is_subagent]
    if not tasks:
        return activity
    leases = activity.leases
    if isinstance(event, ToolEnded | ToolFailed):
        leases = end(leases, event)
    if isinstance(event, ToolStarted):
        most = max(task.started for task in tasks) + rules.subagent_max
        opened = _opened(event, min(most, now.at + _declared(event, rules)), rules, now)
        leases = _added(leases, replace(opened, most=min(most, opened.most)))
    renewed = tuple(
        replace(lease, until=min(lease.started + rules.subagent_max, now.at + rules.stale))
        if lease.is_subagent
        else lease
        for lease in leases
    )
    return replace(activity, leases=renewed)


def put_off(lease: Lease, seconds: float) -> Lease:
    """The lease of a call that could not begin for so long."""
    return replace(lease, until=lease.until + seconds, started=lease.started + seconds, most=lease.most + seconds)


def _opened(event: ToolStarted, until: Instant, rules: LivenessRules, now: Moment) -> Lease:
    limit = event.limit + rules.lease_slack if event.limit else rules.busy_max
    return Lease(
        event.tool_use_id or "",
        until,
        now.at,
        event.is_subagent_call,
        event.sub,
        tool=event.tool or "",
        command=_shortened(event.command),
        declared=event.lease,
        ticks=event.ticks,
        most=now.at + (_declared(event, rules) or limit),
    )


def _shortened(command: str) -> str:
    return " ".join(command.split())[:MAX_COMMAND]


def _added(leases: tuple[Lease, ...], lease: Lease) -> tuple[Lease, ...]:
    kept = tuple(other for other in leases if _call(other) != _call(lease))
    return (*kept, lease)[-MAX_LEASES:]


def _call(lease: Lease) -> tuple[str, bool]:
    return lease.tool_use_id, lease.sub


def _declared(event: ToolStarted, rules: LivenessRules) -> float:
    """Seconds of silence that a started tool has announced; 0 if it announced none (G37, X7b)."""
    return min(event.lease, rules.lease_max) + rules.lease_slack if event.lease else 0.0
