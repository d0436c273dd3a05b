"""Work that keeps an open call's silence from being a hang: what its processes did since it began (design section 8).

A build tells nobody anything for as long as it takes. While a call is open and the main thread silent, the processes of
the run that began after the call did are looked at, once in a `check_interval`: a second of CPU or a mebibyte of I/O
renews the call's lease for as long as a silence may last, up to the time at which the CLI itself ends the call. What
stood before it (the CLI, its MCP servers, jobs of earlier calls) never counts, and neither does what is printed. What
cannot be read is no work, and is said.
"""

from __future__ import annotations

from phoenixd.core.actions import LookAtCall
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, Lease, OpenCall, WorkWatch
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Heard, Readings
from phoenixd.core.events.evidence import CallWorkSeen
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.rules import LivenessRules
from phoenixd.core.turn import due

CPU_ENOUGH = 1.0
"""Seconds of CPU in a check_interval that are work: what waits and draws a spinner uses a tenth of that."""

IO_ENOUGH = 1024 * 1024
"""Bytes read from or written to storage in a check_interval that are work."""


def look(agent: Agent, state: Running, now: Moment) -> Decision:
    """Have the processes of the open call looked at."""
    upcoming, watch = due.call_due(state.activity, agent.view()), state.activity.work
    assert upcoming is not None
    call = upcoming[1]
    assert call.ticks is not None
    if watch is None or watch.ticks != call.ticks:
        # All that they did, they did since the call began.
        watch = WorkWatch(call.ticks, call.started)
    asked = replace(state, activity=replace(state.activity, work=replace(watch, asked=now.at)))
    order = LookAtCall(agent.name, state.run.incarnation, call.ticks)
    return Decision(replace(agent, state=asked), (order,), "looking at what the open call does", weight="noise")


def hear(activity: Activity, event: CallWorkSeen, rules: LivenessRules, now: Moment) -> Heard[Activity]:
    """Renew the open calls' leases where their processes have worked since the last look."""
    watch = activity.work
    if watch is None or watch.asked is None or watch.ticks != event.ticks:
        return Heard(activity)
    spans = max(1.0, (now.at - watch.at) / rules.check_interval)
    cpu, io = event.cpu - watch.cpu, event.io - watch.io
    works = cpu >= CPU_ENOUGH * spans or io >= IO_ENOUGH * spans
    watched = WorkWatch(
        event.ticks, now.at, event.cpu, event.io, event.processes, event.unread, None, now.at if works else watch.worked
    )
    leases = activity.leases
    if works:
        leases = tuple(_renewed(lease, now.at + rules.stale) for lease in leases)
    heard = replace(activity, work=watched, leases=leases)
    if not works or watch.worked is not None:
        return Heard(heard, reason="the open call was looked at", weight="noise")
    what = next((f" ({_what(call)})" for call in due.watchable(heard) if call.ticks == event.ticks), "")
    reason = f"nothing is heard of it, and its open call{what} works: {cpu:.1f} s of CPU, {io // 1024} KiB of I/O"
    readings: Readings = (
        ("cpu", round(cpu, 2)), ("io", io), ("over", round(now.at - watch.at, 1)), ("processes", event.processes),
        ("unreadable", event.unread),
    )  # fmt: skip
    return Heard(heard, reason=reason, readings=readings)


def open_call(state: Running | Starting, stale: float, now: Moment) -> OpenCall | None:
    """The call in which a run is ended: what the brief and the next session are told of it. stale: liveness.stale."""
    # The newest: an older one may have ended without a word.
    found = due.watchable(state.activity) or sorted(state.activity.leases, key=lambda lease: lease.started)
    if not found:
        return None
    call, watch = found[-1], state.activity.work
    is_of_one = watch is not None and any(one.ticks == watch.ticks for one in found)
    worked = watch.worked if watch is not None and is_of_one else None
    idle = None if worked is None else round(now.at - worked, 1)
    ran, over = round(now.at - call.started, 1), idle is not None and idle < stale
    return OpenCall(call.tool, call.command, ran, call.declared, idle, over)


def readings(state: Running | Starting, now: Moment) -> Readings:
    """What was known of the open call's work when its run was ended."""
    watch = state.activity.work
    if watch is None or not due.watchable(state.activity):
        return ()
    return (
        ("call_cpu", round(watch.cpu, 2)),
        ("call_io", watch.io),
        ("call_processes", watch.processes),
        ("call_unreadable", watch.unread),
        ("call_looked_at", round(now.at - watch.at, 1)),
        ("call_worked", None if watch.worked is None else round(now.at - watch.worked, 1)),
    )


def _renewed(lease: Lease, until: Instant) -> Lease:
    if lease.ticks is None or lease.is_subagent:
        return lease
    return replace(lease, until=max(lease.until, min(lease.most, until)))


def _what(call: Lease) -> str:
    return ": ".join(filter(None, (call.tool, call.command)))
