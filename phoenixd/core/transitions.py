"""The few moves that every rule makes: enter a state, end a run, take the next step of an end, open an item."""

from __future__ import annotations

from typing import Literal

from phoenixd.core.actions import Alert, Fence, Kill, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.standing import InboxItem, text_hash
from phoenixd.core.agent.state import (
    Afterwards,
    BackingOff,
    Live,
    Parked,
    Quarantined,
    Running,
    Starting,
    State,
    Stopped,
    Stopping,
    StopStep,
)
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Refusal, RefusalCode
from phoenixd.core.limits.state import Parking, ParkingKind, over_by
from phoenixd.core.moment import Instant, Moment

TOO_LONG = "too long"
"""The item of a session in which nothing can be asked any more, where a further one would be as full."""

FAILED_TURN = "failed turn"
"""The item of a turn that ended by a word that none of our rules knows, or knows no remedy for: the output limit, a
request that the API refuses, a model that does not exist."""

ASKED_BY_A_RUN = frozenset({"permission", "question", "plan", "dialog", "login", "billing", FAILED_TURN, TOO_LONG})
"""Kinds of items that stand for what a living run waits for."""

RECOVER = "recover"
"""The kind of item that asks whether an agent is to run that nothing is known of. No end of a run answers it."""

FENCE_PAUSE = 60.0
"""Seconds between two fences of the same remains, to which the pause grows."""


def enter(agent: Agent, state: State, reason: str, now: Moment) -> Decision:
    """Move the agent into a state; the reason stays with it. An agent that is down for good waits for no outage to end,
    and one that is down without being parked for no limit."""
    outage = None if isinstance(state, Stopped | Quarantined) else agent.outage
    limits = agent.limits
    if limits.parking is not None and isinstance(state, Stopped | BackingOff | Quarantined):
        limits = replace(limits, parking=None)
    moved = replace(agent, state=state, since_wall=now.wall, reason=reason, outage=outage, limits=limits)
    return Decision(moved, reason=reason)


def park(
    agent: Agent,
    kind: ParkingKind,
    until_wall: float,
    reason: str,
    now: Moment,
    *,
    fresh: bool = False,
    over: Instant | None = None,
) -> Decision:
    """Keep the agent down until a wall time. fresh: the start that is put off was to be a fresh one.

    over: when the wait is over at the latest, where that began before.
    """
    over = over_by(until_wall, now) if over is None else over
    parking = Parking(kind, until_wall, now.at, reason, fresh=fresh, over_by=over)
    return enter(replace(agent, limits=replace(agent.limits, parking=parking)), Parked(), reason, now)


def quarantine(agent: Agent, state: Quarantined, now: Moment) -> Decision:
    """Give the agent up until an operator starts it: its cause is the reason, and a person is told and asked."""
    decision = enter(agent, state, f"quarantined: {state.cause}", now)
    assert decision.agent is not None
    asked = open_item(decision.agent, "quarantined", state.cause, "command", now)
    return replace(decision, agent=asked, actions=(Alert(agent.name, "quarantined", state.cause),))


def keep(agent: Agent, reason: str) -> Decision:
    """Note a fact worth journaling that leaves the state, and its reason, as they are."""
    return Decision(agent, reason=reason)


def refuse(agent: Agent, message: str, remedy: str, code: RefusalCode = "conflict") -> Decision:
    """Refuse what an operator asks of the agent, which stays as it is; the remedy is a command, or empty."""
    return Decision(agent, refusal=Refusal(code, message, remedy))


def with_run(agent: Agent, run: Run) -> Agent:
    """The agent with more known of its living run; without one it stays as it is."""
    return replace(agent, state=replace(agent.state, run=run)) if isinstance(agent.state, Live) else agent


def end_run(
    agent: Agent,
    then: Afterwards,
    why: str,
    now: Moment,
    *,
    fresh: bool = False,
    spoil: bool = False,
    code: int | None = None,
) -> Decision:
    """Begin to end the living run: TERM now, KILL after the grace, and `then` once the tree is gone.

    code: the exit code to record in place of the signal's (G: 124 hung, 125 overtime).
    """
    state = agent.state
    assert isinstance(state, Starting | Running)
    if spoil and agent.session is not None:
        agent = replace(agent, session=replace(agent.session, spoiled=why))
    stopping = Stopping(
        state.run,
        state.activity,
        StopStep.TERMINATE,
        now.at + agent.spec.stop.grace,
        then,
        why,
        fresh=fresh,
        asked=now.at,
        code=code,
        spoiled=spoil,
    )
    decision = enter(agent, stopping, f"stopping: {why}", now)
    return replace(decision, actions=(Terminate(agent.name, state.run.incarnation),))


def raise_step(agent: Agent, state: Stopping, now: Moment) -> Decision:
    """The deadline of one step has passed: TERM becomes KILL, KILL becomes a fence, a fence is repeated and told.

    The agent's reason says meanwhile what is waited for.
    """
    run, rules = state.run, agent.spec.stop
    fence = Fence(agent.name, run.incarnation, run.run_id, run.pid, run.start_time)
    match state.step:
        case StopStep.TERMINATE:
            killing = replace(state, step=StopStep.KILL, deadline=now.at + rules.kill_retry)
            reason = f"still alive {rules.grace:g} s after SIGTERM: killing its tree"
            return Decision(_waits(agent, killing, reason), (Kill(agent.name, run.incarnation),), reason)
        case StopStep.KILL:
            fencing = replace(state, step=StopStep.FENCE, deadline=now.at + 2 * rules.kill_retry)
            reason = f"no end was reported within {rules.kill_retry:g} s of the kill: fencing without the shim"
            return Decision(_waits(agent, fencing, reason), (fence,), reason)
        case StopStep.FENCE:
            # What hangs in the kernel may hang for days, and each attempt is a row in the journal.
            pause = max(2 * rules.kill_retry, min(FENCE_PAUSE, (now.at - state.asked) / 4))
            again = replace(state, deadline=now.at + pause)
            if state.unseen_since is not None:
                return Decision(replace(agent, state=again), (fence,), "looking again for what is left of the run")
            reason = "what is left of the run could not be ended yet: fencing again"
            return Decision(_waits(agent, again, reason), (fence, Alert(agent.name, "lingering", reason)), reason)


def _waits(agent: Agent, state: Stopping, reason: str) -> Agent:
    return replace(agent, state=state, reason=reason)


def open_item(
    agent: Agent,
    kind: str,
    text: str,
    answer_by: Literal["reply", "attach", "command", "answer"],
    now: Moment,
    hold: int = 0,
    veiled: bool = False,
    tool: str | None = None,
    whole: bool = False,
) -> Agent:
    """Open an inbox item; the fleet numbers it. An open item of the same kind and text stays the same item.

    hold: the request that the shim holds. Each is an item of its own: one answer must never serve two of them.
    A run asks one thing at a time, so what it asks takes the place of what it asked, and of the same question that an
    earlier run has left.
    """
    digest = text_hash(text)
    if any((one.kind, one.text_hash, one.hold, one.left) == (kind, digest, hold, False) for one in agent.items):
        return agent
    by = "answer" if hold else answer_by
    item = InboxItem(
        0, agent.name, agent.incarnation, kind, text, digest, now.wall, by, hold, veiled=veiled, tool=tool, whole=whole
    )
    over = ASKED_BY_A_RUN if kind in ASKED_BY_A_RUN else {kind}
    kept = (one for one in close_items(agent, *over).items if (one.kind, one.text_hash) != (kind, digest))
    return replace(agent, items=(*kept, item))


def close_items(agent: Agent, *kinds: str) -> Agent:
    """Close the items of these kinds, without any all; never a question that an earlier run has left."""
    kept = tuple(one for one in agent.items if one.left or (kinds and one.kind not in kinds))
    return agent if len(kept) == len(agent.items) else replace(agent, items=kept)


def put_item(agent: Agent, item: InboxItem) -> Agent:
    """Put a newer version of an item in its place."""
    return replace(agent, items=tuple(item if one.id == item.id else one for one in agent.items))
