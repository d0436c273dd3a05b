"""A loop's iterations: opened and closed by a measurement of the work, judged once, and stopped when they are in vain.

The work is measured before the run is ordered and after its tree is gone, so nothing that others do in the pause
between two iterations counts, and neither does what was dirty before (X8b, G47). An end that was not the agent's
fault (the terminal died, the host went down) does not end an iteration: the next run goes on with it.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import breaker as breakers
from phoenixd.core import productive, restart, signals, workplaces
from phoenixd.core.actions import Action, Alert, MeasureWork
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Live, Parked, Quarantined, Stopped, Stopping
from phoenixd.core.breaker import HalfOpen, Open
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.work import FileLooked, MeasurementLost, WorkEvent, WorkMeasured
from phoenixd.core.hooks import Hook, TurnEnded
from phoenixd.core.iteration import Closing, Opening, Passing, Underway
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.rules import HOUR
from phoenixd.core.sequence import rules as sequence
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import enter, keep, quarantine
from phoenixd.core.work import Findings, Survey, kind_of


def is_loop(agent: Agent) -> bool:
    """Whether this agent's runs are iterations; the turns of a sequence belong to its first member's."""
    return agent.spec.kind is Kind.LOOP and agent.spec.turn_of is None


def waits(agent: Agent) -> bool:
    """Whether a measurement, or another's turn, is awaited, before which nothing of this agent may start."""
    return is_loop(agent) and isinstance(agent.iteration, Opening | Passing | Closing)


def due(agent: Agent) -> Instant | None:
    """When an awaited answer is asked for again, or given up."""
    return agent.iteration.due if isinstance(agent.iteration, Opening | Passing | Closing) else None


def is_measured_at_end(agent: Agent) -> bool:
    """Whether what the run that ends did to the work is measured before the next one may start."""
    return is_loop(agent) and isinstance(agent.iteration, Underway)


def must_open(agent: Agent) -> bool:
    """Whether the next run begins an iteration, so that the work has to be measured first."""
    return is_loop(agent) and agent.iteration is None


def begin(agent: Agent, state: BackingOff, now: Moment) -> Decision:
    """A start is due: have the work measured first, unless the hour has had its iterations (G61)."""
    most, recent = agent.spec.loop.max_per_hour, [at for at in agent.begun if at + HOUR > now.at]
    if 0 < most <= len(recent):
        until = recent[-most] + HOUR
        reason = f"{most} iterations began within an hour, as many as may: the next in {in_words(until - now.at)}"
        return enter(agent, replace(state, until=until), reason, now)
    number = agent.incarnation + 1
    begun = (*recent, now.at)[-most:] if most else ()
    opening = replace(agent, begun=begun, iteration=Opening(number, sequence.answer_by(agent, now)))
    return Decision(opening, (MeasureWork(agent.name, number, False),), f"iteration {number}: measuring the work first")


def hear_work(agent: Agent, event: WorkEvent, seen: Seen, now: Moment) -> Decision:
    """Take a measurement of an iteration or at an end; those of turns are for `turns`."""
    return seen.decision if is_of_a_turn(seen.before, event) else decide(agent, event, now)


def is_of_a_turn(agent: Agent, event: WorkEvent) -> bool:
    """Whether a measurement is about a turn, and not about an iteration or an end."""
    if isinstance(event, MeasurementLost):
        return bool(agent.turns)
    return isinstance(event, WorkMeasured) and event.turn > 0


def decide(agent: Agent, event: WorkEvent, now: Moment) -> Decision:
    """Take a measurement; one that nobody waits for changes nothing."""
    match agent.iteration, event:
        case Opening(number=number), WorkMeasured(at_end=False) if number == event.number:
            note = _note_before(agent, event)
            underway = Underway(number, event.fingerprint, event.note, survey=event.survey)
            opened = replace(workplaces.moved_in(agent, event), iteration=underway)
            return keep(opened, f"iteration {number}: the work is measured{note}")
        case Closing(number=number) as closing, WorkMeasured(at_end=True) if number == event.number:
            return _judge(agent, closing, event, now)
        case (Opening() | Closing()) as waiting, MeasurementLost():
            again = replace(agent, iteration=replace(waiting, due=sequence.answer_by(agent, now)))
            return Decision(again, (_measure(agent, waiting),), "the work is measured again: the answer was lost")
        case Passing() as passing, FileLooked() | MeasurementLost():
            return sequence.decide(agent, passing, event, now)
        case None, WorkMeasured():
            return productive.weigh(agent, event, now)
        case None, MeasurementLost():
            return weighed_again(agent, now)
        case _:
            return Decision(agent)


def weighed_again(agent: Agent, now: Moment) -> Decision:
    """After a daemon start: what an unproductive run did to the work is asked for once more."""
    if not agent.record.weighing:
        return Decision(agent)
    state = agent.state
    if isinstance(state, BackingOff) and productive.is_exhausted(agent):
        agent = replace(agent, state=replace(state, until=max(state.until, sequence.answer_by(agent, now))))
    order = MeasureWork(agent.name, agent.record.weighing, True)
    return Decision(agent, (order,), "the work of its last run is measured again: the answer was lost")


def overdue(agent: Agent, now: Moment) -> Decision:
    """A measurement was not answered: ask once more, then go on without it."""
    waiting = agent.iteration
    if isinstance(waiting, Passing):
        return sequence.overdue(agent, waiting, now)
    assert isinstance(waiting, Opening | Closing)
    if waiting.asked < sequence.MOST_ASKED:
        again = replace(waiting, asked=waiting.asked + 1, due=sequence.answer_by(agent, now))
        return Decision(
            replace(agent, iteration=again), (_measure(agent, waiting),), "the work was not measured in time: once more"
        )
    at_end = isinstance(waiting, Closing)
    return decide(agent, WorkMeasured(agent.name, waiting.number, at_end, None, "it was not measured in time"), now)


def findings(before: Survey | None, event: WorkMeasured) -> Findings:
    """What a measurement at the end found beside the fingerprint of the work."""
    notes = (before.notes if before is not None else "", event.survey.notes if event.survey is not None else "")
    return Findings(event.deeds, notes, event.lost, event.shared)


def hear(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Note what a hook says of the iteration: errors, limits, denials, that nothing is left to do."""
    underway, run = agent.iteration, agent.run
    if not isinstance(underway, Underway) or event.sub or run is None or not seen.is_news:
        return seen.decision
    heard = replace(underway, signals=signals.hear(underway.signals, event))
    if isinstance(event, TurnEnded):
        heard = replace(heard, done=_said_done(agent, event.text) or underway.done)
    return seen.decision if heard == underway else replace(seen.decision, agent=replace(agent, iteration=heard))


def close(before: Agent, decision: Decision, end: LastExit, now: Moment) -> Decision:
    """A run is over, and `decision` says what follows: have its iteration measured, go on with it, or drop it."""
    agent, underway = decision.agent, before.iteration
    if agent is None or decision.removed or not isinstance(underway, Underway):
        return decision
    if not is_loop(agent) or _was_cut_short(before) or isinstance(agent.state, Quarantined):
        return replace(decision, agent=replace(agent, iteration=None))
    if not end.ran or restart.is_blameless(end):
        return decision
    state, done = before.state, underway.done or _done_by_code(agent, end)
    assert isinstance(state, Live)
    told = signals.at_end(underway.signals, before.spec, state.activity, end)
    if agent.spec.loop.sequence and not done:
        passing = Passing(underway.number, underway.before, told, done, underway.note, survey=underway.survey)
        return replace(decision, agent=replace(agent, iteration=passing))
    closing = Closing(
        underway.number, underway.before, told, done, sequence.answer_by(agent, now), underway.note,
        survey=underway.survey,
    )  # fmt: skip
    measured = replace(agent, iteration=closing, rounds=agent.rounds + 1)
    return replace(decision, agent=measured, actions=(*decision.actions, _measure(agent, closing)))


def retry_at(agent: Agent) -> Instant | None:
    """When a quarantine by the breaker ends by itself; None for never."""
    return breakers.retry_at(agent.breaker, agent.spec.breaker) if isinstance(agent.state, Quarantined) else None


def armed(agent: Agent, by: str) -> Agent:
    """The agent as a start takes it up: an open breaker lets one iteration pass."""
    return replace(agent, breaker=breakers.opened_on_trial(agent.breaker, f"on trial: {by}"), rounds=0)


def let_go(agent: Agent) -> Agent:
    """Drop an iteration that has not begun, or is to be broken off; one that is over is still judged."""
    return agent if isinstance(agent.iteration, Closing) else replace(agent, iteration=None)


def alerts(agent: Agent, judgement: breakers.Judgement, what: str = "the loop") -> tuple[Action, ...]:
    """What operators are told of a judgement: that a warning stands, or that for the first time nobody can judge."""
    found = judgement.breaker
    if judgement.changed and isinstance(found, HalfOpen):
        words = f"{found.reason}: {what} stops at {agent.spec.breaker.stop}"
        return (Alert(agent.name, "breaker", words),)
    if judgement.held and found.tally.unknown == 1:
        return (Alert(agent.name, "breaker", judgement.reason),)
    return ()


def _judge(agent: Agent, closing: Closing, event: WorkMeasured, now: Moment) -> Decision:
    rules, judged = agent.spec.breaker, replace(workplaces.moved_in(agent, event), iteration=None)
    done = closing.done or _done_by_work(agent, event)
    if not rules.enabled:
        return _done(judged, done, now) if done else keep(judged, f"iteration {closing.number} is over")
    before, after, excuse = closing.before, event.fingerprint, closing.signals.excuse
    if agent.outage is not None:
        excuse = excuse or f"an outage of {agent.outage.group}"
    if before is not None and closing.survey is None and event.survey is not None:
        excuse = excuse or "an older phoenixd measured the work before it"
        before = None
    if before is not None and after is not None and kind_of(after) != kind_of(before):
        excuse = excuse or f"the work was {kind_of(before)} before, and is {kind_of(after)} now"
        after = None
    if (before is None or after is None) and not excuse:
        excuse = f"nobody can tell what it changed ({event.note or closing.note})"
    told = replace(closing.signals, excuse=excuse, achieved=done or closing.signals.achieved, tokens=event.tokens)
    judgement = breakers.judge(agent.breaker, before, after, told, rules, now, findings(closing.survey, event))
    judged = replace(judged, breaker=judgement.breaker)
    judged, facts = productive.proven_by_work(judged) if judgement.progress else (judged, ())
    readings = (*judgement.readings, ("before", before), ("after", after))
    if done:
        return replace(_done(judged, done, now), readings=readings, facts=facts)
    actions = alerts(agent, judgement)
    if isinstance(judgement.breaker, Open) and isinstance(judged.state, BackingOff | Parked):
        stopped = quarantine_open(judged, judgement.breaker, now)
        return replace(
            stopped,
            actions=(*actions, *stopped.actions),
            reason=f"{judgement.reason}: {judgement.breaker.reason}",
            readings=readings,
        )
    return replace(keep(judged, judgement.reason), actions=actions, readings=readings, facts=facts)


def quarantine_open(agent: Agent, opened: Open, now: Moment) -> Decision:
    """An open breaker stops its loop until somebody starts it, or its cooldown is over."""
    return quarantine(agent, Quarantined(f"the breaker is open: {opened.reason}"), now)


def _done(agent: Agent, why: str, now: Moment) -> Decision:
    """F-CB-10: a loop with nothing left to do has ended well."""
    if isinstance(agent.state, BackingOff | Parked):
        return enter(replace(agent, desired=Desired.STOPPED), Stopped(), f"done: {why}", now)
    return keep(agent, f"done: {why}")


def _note_before(agent: Agent, event: WorkMeasured) -> str:
    if event.fingerprint is None:
        return f"; what it changes cannot be told: {event.note}"
    breaker = agent.breaker
    on_trial = isinstance(breaker, HalfOpen) and breaker.why == "trial"
    is_as_it_was = on_trial and breaker.tally.seen[-1:] == (event.fingerprint,)
    # F-CB-12: a trial is allowed all the same, for what kept it from working may lie outside.
    return "; nothing has changed since the breaker opened" if is_as_it_was else ""


def _was_cut_short(agent: Agent) -> bool:
    """Whether somebody ended the run: an iteration that was broken off is not judged."""
    return isinstance(agent.state, Stopping) and agent.state.then is not Afterwards.JUDGE


def _done_by_code(agent: Agent, end: LastExit) -> str:
    code = agent.spec.loop.done_code
    return f"it ended with exit {code}, which says so" if code is not None and end.code == code else ""


def _done_by_work(agent: Agent, event: WorkMeasured) -> str:
    loop = agent.spec.loop
    if event.done:
        return f"{loop.done_file} exists, which says so"
    if 0 < loop.max_iterations <= agent.rounds:
        return f"{agent.rounds} iterations, as many as it may have"
    return ""


def _said_done(agent: Agent, text: str) -> str:
    words = agent.spec.loop.done_text
    said = words is not None and any(line.strip() == words.strip() for line in text.splitlines())
    return "it said that nothing is left to do" if said else ""


def _measure(agent: Agent, waiting: Opening | Closing) -> MeasureWork:
    at_end = isinstance(waiting, Closing)
    return MeasureWork(agent.name, waiting.number, at_end, waiting.survey if isinstance(waiting, Closing) else None)
