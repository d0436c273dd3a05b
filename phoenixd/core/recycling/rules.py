"""Runs that end by asking for the next one (exit 100 or 101), judged by the breaker as if they were iterations.

An agent that does so at each end goes round as a loop does, and a turn that ended well does not show whether it
achieved anything. So its work is measured at such an end, before the next run may start, and compared with how it was
at the end before, or when its generation took the seat. What a person asked for, and what workers have in hand for it,
never counts against it; nor does what nobody can tell. Loops and sequences are judged by their iterations anyway.
"""

from __future__ import annotations

from phoenixd.core import breaker as breakers
from phoenixd.core import progress, restart, signals
from phoenixd.core.actions import MeasureWork
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import BackingOff, Live, Parked, State
from phoenixd.core.breaker import Open, Signals
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.iteration import Recycled
from phoenixd.core.moment import Moment
from phoenixd.core.sequence.rules import answer_by
from phoenixd.core.transitions import keep
from phoenixd.core.work import kind_of

UNIT = "recycled run"


def is_judged(agent: Agent, end: LastExit) -> bool:
    """Whether a run that ended so is held against its work; a program without hooks may do that where nothing looks."""
    spec = agent.spec
    by_itself = not (progress.is_loop(agent) or spec.turn_of is not None or spec.task or agent.has_judged_turns)
    return by_itself and spec.breaker.enabled and agent.hooks_seen and restart.is_recycling(end) and not end.limited


def is_weighed(agent: Agent) -> bool:
    """Whether it is down, and its work is being measured before the next run may begin."""
    known = agent.recycled
    return known is not None and 0 < known.weighing == agent.incarnation and not isinstance(agent.state, Live)


def weigh(decision: Decision, before: Agent, end: LastExit, activity: Activity, now: Moment) -> Decision:
    """Have the work measured at such an end; `decision` has its agent wait for the next start."""
    agent = decision.agent
    if agent is None or not isinstance(agent.state, BackingOff):
        return decision
    state, known = agent.state, agent.recycled or Recycled()
    excuse = signals.at_end(Signals(), before.spec, activity, end).excuse
    if before.outage is not None:
        excuse = excuse or f"an outage of {before.outage.group}"
    weighing = replace(known, weighing=agent.incarnation, due=state.until, excuse=excuse)
    waits = replace(state, until=max(state.until, answer_by(agent, now)))
    order = MeasureWork(agent.name, agent.incarnation, True, known.survey)
    return replace(
        decision,
        agent=replace(agent, state=waits, recycled=weighing),
        actions=(*decision.actions, order),
        reason=f"{decision.reason}, once it is known whether this one changed the work",
    )


def passed_on(before: Agent, after: Agent) -> tuple[Agent, tuple[MeasureWork, ...]]:
    """The next generation of a seat with the breaker of the one before, and its work as it is when it takes the seat.

    What a handoff wrote into the workspace is no progress of either.
    """
    if before.recycled is None:
        return after, ()
    known = Recycled(opening=after.incarnation, judged_wall=before.recycled.judged_wall)
    order = MeasureWork(after.name, after.incarnation, False)
    return replace(after, breaker=before.breaker, recycled=known), (order,)


def judge(agent: Agent, known: Recycled, event: WorkMeasured, workers: tuple[str, str], now: Moment) -> Decision:
    """The run by its work. workers: why it may have waited for others, and what they did for it; empty for neither."""
    before, after = known.before, event.fingerprint
    # What cannot be told holds the counter, and of the first one nothing is known yet.
    judged = replace(
        agent,
        recycled=Recycled(after or before, event.survey or known.survey, judged_wall=now.wall),
        state=_may_start(agent, known, now),
    )
    if before is None or after is None or kind_of(before) != kind_of(after):
        why = event.note if after is None else "there is nothing to compare its work with yet"
        return keep(judged, f"no judgement of the run that asked to be recycled: {why}")
    under_way, achieved = workers
    excuse = known.excuse or ("somebody asked for something" if known.asked else "") or under_way
    rules = replace(agent.spec.breaker, same_error=0, permission_denials=0)
    found = Signals(excuse, tokens=event.tokens, achieved=achieved)
    judgement = breakers.judge(
        agent.breaker, before, after, found, rules, now, progress.findings(known.survey, event), UNIT
    )
    judged = replace(judged, breaker=judgement.breaker)
    actions = progress.alerts(judged, judgement, "it")
    readings = (*judgement.readings, ("before", before), ("after", after))
    if isinstance(judgement.breaker, Open) and isinstance(judged.state, BackingOff | Parked):
        stopped = progress.quarantine_open(judged, judgement.breaker, now)
        reason = f"{judgement.reason}: {judgement.breaker.reason}"
        return replace(stopped, actions=(*actions, *stopped.actions), reason=reason, readings=readings)
    return replace(keep(judged, judgement.reason), actions=actions, readings=readings)


def measured_again(agent: Agent, known: Recycled, now: Moment) -> Decision:
    """After a daemon start: the measurement is ordered once more, and the next run waits for it."""
    state = agent.state
    if isinstance(state, BackingOff):
        agent = replace(agent, state=replace(state, until=max(state.until, answer_by(agent, now))))
    order = MeasureWork(agent.name, known.weighing, True, known.survey)
    return Decision(agent, (order,), "the work of its last run is measured again: the answer was lost")


def _may_start(agent: Agent, known: Recycled, now: Moment) -> State:
    state = agent.state
    return replace(state, until=max(now.at, known.due)) if isinstance(state, BackingOff) else state
