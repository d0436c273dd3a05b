"""What a decision tells beside its reason: the facts that follow from before and after, and its weight.

A rule that establishes more than a change of state (RunProductive, say) puts the fact into its decision itself; a rule
whose decision weighs otherwise than its effects do sets the weight itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.core import restart
from phoenixd.core.actions import Alert, LookAtScreen, Reassure
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import LastExit, Run
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Afterwards, Desired, Live, Parked, Quarantined, Starting, Stopped, Stopping
from phoenixd.core.breaker import Breaker, Closed, Open
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    AnswerRequested,
    MuteRequested,
    OperatorEvent,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
    UndoRequested,
    UnmuteRequested,
)
from phoenixd.core.facts import (
    Asked,
    AskingOver,
    BeganParking,
    EndedParking,
    Fact,
    Meaning,
    Ordered,
    ProgressMade,
    PutInQuarantine,
    RunBegan,
    RunEnded,
    Then,
    Verb,
    Weight,
)
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.opened import is_opened
from phoenixd.core.spec import Kind

MAX_WORDS = 200
"""Characters of a cause that a fact keeps; the reason of its row has the rest."""

VERBS: dict[type[OperatorEvent], Verb] = {
    AgentDeclared: "declare",
    AgentWithdrawn: "remove",
    StartRequested: "start",
    StopRequested: "stop",
    RestartRequested: "restart",
    UndoRequested: "undo",
    MuteRequested: "mute",
    UnmuteRequested: "unmute",
    SendRequested: "send",
    AnswerRequested: "answer",
}


def weighed(before: Agent | None, decision: Decision) -> Decision:
    """The decision with what follows from the agent before and after it; `before` is None for a new agent."""
    after = decision.agent
    if after is None:
        return replace(decision, weight=decision.weight or "story")
    facts = (*decision.facts, *_facts(before, after, decision.removed))
    weight = decision.weight or _weight(before, after, replace(decision, facts=facts))
    if weight == "noise":
        after = replace(after, looks=after.looks + 1)
    elif before is not None and after.since_wall != before.since_wall:
        after = replace(after, looks=0)
    return replace(decision, agent=after, facts=facts, weight=weight, opens=is_opened(before, after))


def note_order(agent: Agent, event: OperatorEvent, seen: Seen, now: Moment) -> Decision:
    """Add the order that the decision answers."""
    return ordered(event, seen.before, seen.decision)


def ordered(event: OperatorEvent, before: Agent | None, decision: Decision) -> Decision:
    """The decision with the order that it answers."""
    after, taken = decision.agent, decision.refusal is None
    moved = taken and (
        before is None
        or after is None
        or decision.removed
        or (before.state, before.limits.parking, before.desired) != (after.state, after.limits.parking, after.desired)
    )
    order = Ordered(VERBS.get(type(event), "breaker"), str(getattr(event, "by", "operator"))[:MAX_WORDS], taken, moved)
    return replace(decision, facts=(order, *decision.facts))


def _facts(before: Agent | None, after: Agent, removed: bool) -> Iterator[Fact]:
    end = after.last_exit
    if before is not None and before.run is not None and end is not None and not _is_known(before.last_exit, end):
        yield _end(before, after, end, removed)
    elif before is not None and removed and before.run is not None:
        yield RunEnded(before.incarnation, "asked", "remove", "removed")
    if isinstance(after.state, Starting) and (before is None or after.incarnation > before.incarnation):
        run = after.state.run
        yield RunBegan(run.incarnation, run.mode, run.prompt)
    was_parked = before is not None and before.state_name == "parked"
    if after.state_name == "parked" and not was_parked:
        held = after.parking
        assert held is not None
        yield BeganParking(held.kind, held.until_wall, _whose(after, held.kind))
    elif was_parked and after.state_name != "parked":
        yield EndedParking()
    if isinstance(after.state, Quarantined) and not (before is not None and isinstance(before.state, Quarantined)):
        yield PutInQuarantine(after.state.cause[:MAX_WORDS], by_breaker=isinstance(after.breaker, Open))
    if before is not None and _is_closed_by_work(before.breaker, after.breaker):
        yield ProgressMade(after.incarnation)
    yield from _items(_open_items(before), () if removed else _open_items(after))


def _is_closed_by_work(before: Breaker, after: Breaker) -> bool:
    progressed = after.tally.last_progress > before.tally.last_progress
    return progressed and isinstance(after, Closed) and not isinstance(before, Closed)


def _items(before: tuple[InboxItem, ...], after: tuple[InboxItem, ...]) -> Iterator[Fact]:
    old, new = {one.id for one in before}, {one.id for one in after}
    yield from (AskingOver(one.id, one.kind) for one in before if one.id not in new)
    yield from (Asked(one.id, one.kind) for one in after if one.id not in old)


def _open_items(agent: Agent | None) -> tuple[InboxItem, ...]:
    return agent.items if agent is not None else ()


def _is_known(known: LastExit | None, end: LastExit) -> bool:
    """Whether it was told before, and only more is known of it by now: its work is judged beside the next run."""
    return known is not None and known.incarnation == end.incarnation


def _end(before: Agent, after: Agent, end: LastExit, removed: bool) -> RunEnded:
    then = _then(after, removed)
    meaning = _meaning(before, after, end)
    return RunEnded(
        end.incarnation, meaning, then, end.told[:MAX_WORDS], end.code, end.signal, round(end.lived, 3), end.left
    )


def _whose(agent: Agent, kind: ParkingKind) -> str:
    """Whose limit or outage it is that others may wait out as well; empty where it is of this agent alone."""
    if kind is ParkingKind.OUTAGE:
        return agent.outage.group if agent.outage is not None else ""
    return f"account {agent.spec.account}" if kind is ParkingKind.LIMIT and agent.spec.account else ""


def _then(after: Agent, removed: bool) -> Then:
    if removed:
        return "remove"
    match after.state:
        case Stopped():
            return "stay"
        case Parked():
            return "park"
        case Quarantined():
            return "quarantine"
        case _:
            return "restart"


def _meaning(before: Agent, after: Agent, end: LastExit) -> Meaning:
    if isinstance(before.state, Stopping) and before.state.then is not Afterwards.JUDGE:
        return "asked"
    if not end.ran:
        return "unstarted"
    is_given_up = isinstance(after.state, Quarantined) or (isinstance(after.state, Stopped) and after.state.failed)
    if end.limited:
        return "limit"
    if before.spec.task:
        return _of_worker(before, end)
    if before.spec.is_question:
        return "answer" if restart.ended_well(before.spec, end) else "no answer"
    is_overtime = end.cause == restart.CAUSES[restart.OVERTIME] and before.spec.kind is Kind.LOOP
    if restart.ended_well(before.spec, end) or is_overtime:
        is_over = isinstance(after.state, Stopped) and after.desired is Desired.STOPPED
        return "iteration" if before.spec.kind is Kind.LOOP and not is_over else "finished"
    if restart.is_recycling(end) and not is_given_up:
        return "recycled"
    return "death"


def _of_worker(before: Agent, end: LastExit) -> Meaning:
    """What the end of a worker's run is: no death, for its task is tried again or fails with its reason."""
    if not restart.ended_well(before.spec, end):
        return "attempt"
    return "sealed" if before.run is not None and before.run.prompt is PromptKind.SEAL else "finished"


def _weight(before: Agent | None, after: Agent, decision: Decision) -> Weight:
    if decision.facts or decision.refusal is not None or decision.removed:
        return "story"
    if any(isinstance(action, Alert | Reassure) for action in decision.actions):
        return "story"
    if before is None or after.state_name != before.state_name:
        return "story"
    if decision.actions and all(isinstance(action, LookAtScreen) for action in decision.actions):
        # A look that a hook calls for is no row of its own, but the hook's: a turn that ended, a session that began.
        return "noise" if _heard(before) == _heard(after) else "detail"
    return "detail"


def _heard(agent: Agent) -> tuple[Run | None, Activity | None, Parking | None]:
    """What is known of a run but for when its screen was looked at."""
    live = agent.state if isinstance(agent.state, Live) else None
    if live is None:
        return None, None, None
    return live.run, replace(live.activity, looked_at=None, doubted=None), agent.limits.parking
