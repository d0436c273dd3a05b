"""A resident's turns, judged by the breaker as if they were iterations (`breaker.per_turn`, off by default).

The work is measured when a turn begins and when it ends, beside the hooks and never before one is answered. A turn that
a person asked for can only do good: what it changes closes the breaker, and where it changes nothing the counts stand.
A turn that ends without a hook, or with its run, is not judged; neither is one that was over before it was measured.
"""

from __future__ import annotations

from phoenixd.core import breaker as breakers
from phoenixd.core import cut, progress, signals, workplaces
from phoenixd.core.actions import MeasureWork
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Parked, Running, Starting, Stopped, Stopping
from phoenixd.core.breaker import Open
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.hooks import Hook, PromptSubmitted, TurnEnded, TurnFailed
from phoenixd.core.iteration import Turn
from phoenixd.core.moment import Moment
from phoenixd.core.parts import Signal, WaitOver
from phoenixd.core.resonance import exchange
from phoenixd.core.transitions import end_run, keep
from phoenixd.core.turn import liveness
from phoenixd.planting import is_ours as is_for_a_check

MOST_TURNS = 4
"""Turns whose measurements are awaited at once; who begins more has only the newest judged."""


def is_judged(agent: Agent) -> bool:
    """Whether what the agent does is judged by iterations or by turns; then its breaker has a file."""
    return progress.is_loop(agent) or agent.has_judged_turns


def has_breaker(agent: Agent) -> bool:
    """Whether it is judged at all, be it only by its runs that ask to be recycled; those have no file."""
    return is_judged(agent) or agent.recycled is not None


def hear(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Note what a hook says of a turn, beside what was decided about it."""
    before, decision, run = seen.before, seen.decision, seen.before.run
    if run is None or event.sub or not agent.has_judged_turns or not seen.is_news:
        return decision
    heard, action = agent, None
    if isinstance(event, PromptSubmitted) and (exchange.is_ours(before, event) or is_for_a_check(event.text)):
        # Some CLIs tell what held up a turn's end as a prompt: that turn goes on, and its own work is over. And a turn
        # that is opened for a check has none.
        return decision
    if isinstance(event, PromptSubmitted):
        heard, action = _begun(heard, _is_a_persons(before, event, seen.signals))
    elif heard.turns and heard.turns[-1].phase != "closing":
        heard, action = _heard(heard, heard.turns[-1], event)
    if heard == agent and action is None:
        return decision
    return replace(decision, agent=heard, actions=(*decision.actions, *((action,) if action else ())))


def hear_work(agent: Agent, event: WorkMeasured | MeasurementLost, seen: Seen, now: Moment) -> Decision:
    """Take a measurement of a turn; one that nobody waits for changes nothing."""
    if not progress.is_of_a_turn(agent, event):
        return seen.decision
    if isinstance(event, MeasurementLost):
        weighed = progress.weighed_again(agent, now)
        assert weighed.agent is not None
        again = _measured_again(weighed.agent)
        reason = one_reason(again.reason, weighed.reason)
        return replace(again, actions=(*again.actions, *weighed.actions), reason=reason)
    turn = next((turn for turn in agent.turns if turn.number == event.turn), None)
    if turn is None:
        return Decision(agent)
    if turn.phase == "opening" and not event.at_end:
        measured = replace(turn, phase="underway", before=event.fingerprint, note=event.note, survey=event.survey)
        # What its hooks have told of meanwhile is looked at when the turn ends.
        return Decision(_with(agent, measured))
    if turn.phase == "closing" and event.at_end:
        return _judge(_without(workplaces.moved_in(agent, event), turn), turn, event, now)
    return Decision(agent)


def close(decision: Decision, now: Moment) -> Decision:
    """A run is over, and `decision` says what follows: its open turn is dropped, and an open breaker keeps it down."""
    agent = decision.agent
    if agent is None or decision.removed or not (agent.turns or agent.has_judged_turns):
        return decision
    left = replace(agent, turns=tuple(turn for turn in agent.turns if turn.phase == "closing"))
    breaker = left.breaker
    was_ended_by_it = isinstance(left.state, Stopped) and left.desired is Desired.RUNNING and not left.state.failed
    if isinstance(breaker, Open) and was_ended_by_it and left.has_judged_turns:
        stopped = progress.quarantine_open(left, breaker, now)
        return replace(stopped, actions=(*decision.actions, *stopped.actions), readings=decision.readings)
    return replace(decision, agent=left)


def _begun(agent: Agent, person: bool) -> tuple[Agent, MeasureWork]:
    number = agent.turns_begun + 1
    # A turn that is open still was broken off: a person's Escape fires no hook.
    closing = tuple(turn for turn in agent.turns if turn.phase == "closing")
    turns = (*closing, Turn(number, person))[-MOST_TURNS:]
    return replace(agent, turns=turns, turns_begun=number), _measure(agent, turns[-1])


def _heard(agent: Agent, turn: Turn, event: Hook) -> tuple[Agent, MeasureWork | None]:
    told = replace(turn, signals=signals.hear(turn.signals, event))
    if not isinstance(event, TurnEnded | TurnFailed):
        return (_with(agent, told) if told != turn else agent), None
    note = "it was over before the work was measured" if turn.phase == "opening" else turn.note
    closing = replace(told, phase="closing", note=note)
    return _with(agent, closing), _measure(agent, closing)


def _judge(agent: Agent, turn: Turn, event: WorkMeasured, now: Moment) -> Decision:
    rules = agent.spec.breaker
    excuse = turn.signals.excuse or ("a person asked for it" if turn.person else "")
    before, after = turn.before, event.fingerprint
    if not excuse and (before is None or after is None):
        excuse = f"nobody can tell what it changed ({event.note or turn.note})"
    told = replace(turn.signals, excuse=excuse, tokens=event.tokens)
    found = progress.findings(turn.survey, event)
    judgement = breakers.judge(agent.breaker, before, after, told, rules, now, found, "turn")
    judged = replace(agent, breaker=judgement.breaker)
    readings = (*judgement.readings, ("before", before), ("after", after))
    alerts = () if turn.person else progress.alerts(agent, judgement, "it")
    told_of = replace(keep(judged, judgement.reason), actions=alerts, readings=readings)
    opened = judgement.breaker
    if not isinstance(opened, Open) or any(one.person and one.phase != "closing" for one in judged.turns):
        return told_of
    if isinstance(judged.state, BackingOff | Parked):
        following = progress.quarantine_open(judged, opened, now)
    elif isinstance(judged.state, Starting | Running):
        following = end_run(judged, Afterwards.STAY, f"the breaker is open: {opened.reason}", now)
    elif isinstance(judged.state, Stopping) and judged.desired is Desired.RUNNING:
        following = Decision(replace(judged, state=replace(judged.state, then=Afterwards.STAY)))
    else:
        return told_of
    return replace(
        following,
        actions=(*alerts, *following.actions),
        reason=f"{judgement.reason}: {opened.reason}",
        readings=readings,
    )


def _measured_again(agent: Agent) -> Decision:
    """After a daemon start: what was to be measured before a turn is unknown now, and the rest is asked for again."""
    late = "it was not measured when it began"
    turns = tuple(
        replace(turn, phase="underway", note=late) if turn.phase == "opening" else turn for turn in agent.turns
    )
    again = tuple(_measure(agent, turn) for turn in turns if turn.phase == "closing")
    return Decision(replace(agent, turns=turns), again, "a turn's work is measured again" if again else "")


def _is_a_persons(agent: Agent, event: PromptSubmitted, signals: tuple[Signal, ...]) -> bool:
    """Whether a prompt came from a person or by `send`: not the goal, not our own words, not a note of the CLI's."""
    run = agent.run
    if run is None or event.source == "machine" or cut.is_ours(event.text):
        return False
    if any(isinstance(one, WaitOver) and one.told for one in signals):
        return False
    return run.prompt_seen or not liveness.was_told(run, agent.spec)


def _measure(agent: Agent, turn: Turn) -> MeasureWork:
    at_end = turn.phase == "closing"
    return MeasureWork(agent.name, turn.number, at_end, turn.survey if at_end else None, turn.number)


def _with(agent: Agent, turn: Turn) -> Agent:
    turns = tuple(turn if one.number == turn.number else one for one in agent.turns)
    return replace(agent, turns=turns)


def _without(agent: Agent, turn: Turn) -> Agent:
    return replace(agent, turns=tuple(one for one in agent.turns if one.number != turn.number))
