"""When starts may begin: as many at once as the cap allows, and none in an outage.

A start waits while it is not known whether the terminal lives, and while decisions cannot be made durable.
"""

from __future__ import annotations

from phoenixd.core import marks
from phoenixd.core.actions import Alert, ObserveTerminal
from phoenixd.core.agent.state import BackingOff, Starting
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import SavingHalted, SavingResumed, TerminalSeen
from phoenixd.core.events.runs import AgentExited, ShimLost
from phoenixd.core.facts import Weight
from phoenixd.core.fleet import Fleet, Step, put, warn
from phoenixd.core.lifecycle import begins
from phoenixd.core.moment import Moment
from phoenixd.core.roster import LAUNCH, START, WANTED
from phoenixd.core.terminal import parts as terminal


def release(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Begin the starts that are due, the longest waiting first, as many as the cap allows."""
    due = marks.first(found.fleet.roster, START)
    if due is None or due > now.at or found.fleet.hold_until is not None or found.fleet.halted is not None:
        return found
    slots = free_slots(found.fleet, now)
    if slots <= 0:
        return found
    for mark in marks.due(found.fleet.roster, START, now.at, slots):
        agent = found.fleet.agents[mark[4]]
        assert isinstance(agent.state, BackingOff)
        found = put(found, begins.begin(agent, agent.state, now), now)
    return found


def free_slots(fleet: Fleet, now: Moment) -> int:
    """How many starts may begin: one that lives but stays silent past its window must not block the others."""
    return fleet.limits.max_starting - marks.later(fleet.roster, LAUNCH, now.at)


def brake(before: Fleet, found: Step, event: ShimLost | AgentExited, now: Moment) -> Step:
    """Most of the fleet falling within moments is an outage of tmux or of the observer: look again before starting."""
    if before.roster.living(event.agent, event.incarnation) is None:
        return found
    if isinstance(event, AgentExited) and event.cause == "exit":
        return found
    if terminal.is_awaited(found.fleet, event.agent):
        return found
    fleet, limits = found.fleet, found.fleet.limits
    recent = (fall for fall in fleet.falls if fall[1] > now.at - limits.outage_window and fall[0] != event.agent)
    falls = (*recent, (event.agent, now.at))
    fleet = replace(fleet, falls=falls)
    wanted = marks.how_many(fleet.roster, WANTED)
    if fleet.hold_until is not None or len(falls) < limits.outage_min or len(falls) <= limits.outage_share * wanted:
        return replace(found, fleet=fleet)
    reason = (
        f"{len(falls)} of {wanted} agents lost terminal or shim within {limits.outage_window:g} s: "
        "looking whether the tmux server is there before any starts"
    )
    return observe(replace(found, fleet=fleet), reason, now)


def observe(found: Step, reason: str, now: Moment, weight: Weight | None = None) -> Step:
    """Look whether the terminal lives; no start begins meanwhile, and the operator is told."""
    held = replace(found.fleet, hold_until=now.at + found.fleet.limits.observe_retry)
    actions = (ObserveTerminal(now.at), Alert(None, terminal.KIND, reason))
    return warn(replace(found, fleet=held), Decision(None, actions, reason, weight=weight), now)


def see_terminal(before: Fleet, found: Step, event: TerminalSeen, now: Moment) -> Step:
    """Let starts go on once the terminal answers."""
    if not event.alive:
        # The tick at `hold_until` looks again: one look at a time, however many answers come.
        held = replace(before, hold_until=now.at + terminal.look_again(before, now), is_blind=True)
        weight: Weight = "noise" if before.is_blind else "story"
        return Step(held, (Decision(None, reason="the terminal does not answer: starts wait", weight=weight),))
    if before.hold_until is None:
        return found
    released = replace(before, hold_until=None, falls=(), is_blind=False)
    reason = "the terminal answers: starts go on"
    if released.server_end is not None and released.server_end.awaited:
        # Those that fell with it are not back yet, and so it is not over.
        return Step(released, (Decision(None, reason=reason, weight="detail"),))
    return terminal.over(Step(released), reason, now)


def halt(before: Fleet, found: Step, event: SavingHalted, now: Moment) -> Step:
    """Nothing is started while decisions cannot be made durable."""
    since = before.halted[1] if before.halted is not None else now.at
    return Step(replace(before, halted=(event.why, since)))


def resume(before: Fleet, found: Step, event: SavingResumed, now: Moment) -> Step:
    """Decisions are durable again; a start that had to wait for that has its whole time still."""
    fleet, found = before, Step(replace(before, halted=None))
    if fleet.halted is None:
        return found
    lost = now.at - fleet.halted[1]
    for agent in fleet.agents.values():
        # Such a start may not have been ordered yet, because that waits for the journal.
        if isinstance(agent.state, Starting) and agent.state.run.exec_at is None:
            later = replace(agent.state, ready_by=agent.state.ready_by + lost)
            found = put(found, Decision(replace(agent, state=later)), now)
    return found
