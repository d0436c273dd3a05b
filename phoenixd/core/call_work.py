"""Work that keeps an open call's silence from being a hang: what its processes did since it began (design section 8).

A build tells nobody anything for as long as it takes. While a call is open and the main thread silent, the processes of
the run that began after the call did are looked at, once in a `check_interval`: a second of CPU or a mebibyte of I/O
renews the call's lease for as long as a silence may last, up to the time at which the CLI itself ends the call. What
stood before it (the CLI, its MCP servers, jobs of earlier calls) never counts, and neither does what is printed. What
cannot be read is no work, and is said.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import LookAtCall
from phoenixd.core.agent import Agent, Lease, OpenCall, Running, Starting, WorkWatch
from phoenixd.core.decision import Decision, Readings, Seen
from phoenixd.core.events import CallWorkSeen
from phoenixd.core.moment import Instant, Moment

CPU_ENOUGH = 1.0
"""Seconds of CPU in a check_interval that are work: what waits and draws a spinner uses a tenth of that."""

IO_ENOUGH = 1024 * 1024
"""Bytes read from or written to storage in a check_interval that are work."""

LOOK_TIME = 10.0
"""Seconds that a look may take before a silent run is judged without it."""


def look_due(agent: Agent, state: Running) -> Instant | None:
    """When to look at what an open call does; None while nothing depends on it."""
    upcoming = _next_look(agent, state)
    return upcoming[0] if upcoming is not None else None


def _next_look(agent: Agent, state: Running) -> tuple[Instant, Lease] | None:
    activity, rules = state.activity, agent.spec.liveness
    if not rules.enabled or not activity.turn_open or activity.waiting or agent.limits.parking:
        return None
    for call in watchable(state):
        at = max(_looked_at(state, call), activity.evidence_at, call.started) + rules.check_interval
        if at < call.most:
            return at, call
    return None


def watchable(state: Running | Starting) -> list[Lease]:
    """The open calls whose processes can be told from older ones, the oldest first.

    A Task call is none: its subagents make calls of their own, and what earlier ones of those left is no work.
    """
    found = [lease for lease in state.activity.leases if lease.ticks is not None and not lease.is_subagent]
    return sorted(found, key=lambda lease: lease.started)


def _looked_at(state: Running, call: Lease) -> Instant:
    watch = state.activity.work
    if watch is None or watch.ticks != call.ticks:
        return call.started
    return watch.at if watch.asked is None else max(watch.asked + LOOK_TIME, watch.at)


def look(agent: Agent, state: Running, now: Moment) -> Decision:
    """Have the processes of the open call looked at."""
    upcoming, watch = _next_look(agent, state), state.activity.work
    assert upcoming is not None
    call = upcoming[1]
    assert call.ticks is not None
    if watch is None or watch.ticks != call.ticks:
        # All that they did, they did since the call began.
        watch = WorkWatch(call.ticks, call.started)
    asked = replace(state, activity=replace(state.activity, work=replace(watch, asked=now.at)))
    order = LookAtCall(agent.name, state.run.incarnation, call.ticks)
    return Decision(replace(agent, state=asked), (order,), "looking at what the open call does", weight="noise")


def hear(agent: Agent, event: CallWorkSeen, seen: Seen, now: Moment) -> Decision:
    """Renew the open calls' leases where their processes have worked since the last look."""
    state = agent.state
    watch = state.activity.work if isinstance(state, Running) else None
    if not isinstance(state, Running) or watch is None or watch.asked is None or watch.ticks != event.ticks:
        return Decision(agent)
    rules = agent.spec.liveness
    spans = max(1.0, (now.at - watch.at) / rules.check_interval)
    cpu, io = event.cpu - watch.cpu, event.io - watch.io
    works = cpu >= CPU_ENOUGH * spans or io >= IO_ENOUGH * spans
    watched = WorkWatch(
        event.ticks, now.at, event.cpu, event.io, event.processes, event.unread, None, now.at if works else watch.worked
    )
    leases = state.activity.leases
    if works:
        leases = tuple(_renewed(lease, now.at + rules.stale) for lease in leases)
    changed = replace(state, activity=replace(state.activity, work=watched, leases=leases))
    heard = replace(agent, state=changed)
    if not works or watch.worked is not None:
        return Decision(heard, reason="the open call was looked at", weight="noise")
    what = next((f" ({_what(call)})" for call in watchable(state) if call.ticks == event.ticks), "")
    reason = f"nothing is heard of it, and its open call{what} works: {cpu:.1f} s of CPU, {io // 1024} KiB of I/O"
    readings: Readings = (
        ("cpu", round(cpu, 2)), ("io", io), ("over", round(now.at - watch.at, 1)), ("processes", event.processes),
        ("unreadable", event.unread),
    )  # fmt: skip
    return Decision(heard, reason=reason, readings=readings)


def put_off(state: Running, at: Instant) -> Instant:
    """When a hang is judged that is due at `at`: not while a look at the call is under way, which takes moments."""
    watch = state.activity.work
    if watch is None or watch.asked is None or not watchable(state):
        return at
    return max(at, min(watch.asked, at) + LOOK_TIME)


def open_call(state: Running | Starting, stale: float, now: Moment) -> OpenCall | None:
    """The call in which a run is ended: what the brief and the next session are told of it. stale: liveness.stale."""
    # The newest: an older one may have ended without a word.
    found = watchable(state) or sorted(state.activity.leases, key=lambda lease: lease.started)
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
    if watch is None or not watchable(state):
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
