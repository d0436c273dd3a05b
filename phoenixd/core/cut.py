"""An answer that was cut at its end is gone on with once, and then a person is asked (issue 13).

The session's transcript tells of it a moment after the turn's end. Where the CLI went on by itself, nothing is typed:
then its last message, and what its Stop hook says, hold the last part alone, and this is where that is known.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Cut
from phoenixd.core.agent.state import Running
from phoenixd.core.causes import CutHow
from phoenixd.core.decision import Decision, Readings, Seen, one_reason
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.facts import AnswerFellShort
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import FAILED_TURN, close_items, open_item

CUT = "answer cut"
"""The item by which a person is asked about an answer that was cut again, or cannot be gone on with."""

GO_ON = "Your answer was cut: go on from the last line that you wrote."
"""What is typed then. A prompt of these words alone is ours, and not a person's task."""

TYPED_WITHIN = 60.0
"""Seconds in which the typing has to begin."""

MOST_CALLS = 8

HOW: dict[CutHow, str] = {
    "output_limit": "the output limit",
    "window": "the end of its context",
    "stream": "a stream that ended too early",
    "filtered": "a filter of the model's vendor",
}


def hear(agent: Agent, event: AnswerCut, seen: Seen, now: Moment) -> Decision:
    """Note the cut; have the agent go on, once; ask a person where it was cut again."""
    before, state = agent.cut, agent.state
    if before is not None and (before.incarnation, before.at, before.went_on) == (
        event.incarnation, event.at, event.went_on,
    ):  # fmt: skip
        return Decision(agent)
    known = Cut(event.incarnation, event.how, event.at, now.wall, event.went_on, event.calls[:MOST_CALLS])
    told, readings = sentence(known), _readings(event)
    noted = Decision(
        replace(agent, cut=known),
        reason=told,
        readings=readings,
        facts=(AnswerFellShort(event.incarnation, event.how, event.went_on),),
        weight="detail" if event.went_on else None,
    )
    if event.went_on or event.how == "window" or agent.spec.kind is Kind.EPHEMERAL:
        return noted
    is_there = isinstance(state, Running) and state.exit_due is None and not state.activity.turn_open
    if is_there and agent.parking is not None:
        return _wait_with_it(noted, agent, told, now)
    if (why_not := _why_not(agent)) or not isinstance(state, Running):
        return replace(noted, reason=f"{told}; it is not told to go on: {why_not}")
    if before is not None and before.taken:
        return _ask(noted, f"{told}, again after it had been told to go on", now)
    message_id = now.new_id(agent.name, event.incarnation, "cut answer", state.run.hook_seq)
    order = Deliver(agent.name, event.incarnation, message_id, GO_ON, now.at + TYPED_WITHIN)
    telling = replace(agent, cut=replace(known, message_id=message_id))
    return replace(noted, agent=telling, actions=(order,), reason=f"{told}; telling it to go on")


def hear_adoption(agent: Agent, event: RunAdopted, seen: Seen, now: Moment) -> Decision:
    """After a daemon start nobody knows whether an earlier daemon typed the words; twice would be worse than never."""
    cut = agent.cut
    if not event.unwatched or cut is None or not cut.message_id or cut.told or cut.taken:
        return seen.decision
    asked = _ask(Decision(agent), f"{sentence(cut)}; phoenixd was restarted while it told the agent to go on", now)
    return replace(
        asked,
        actions=(*seen.decision.actions, *asked.actions),
        reason=one_reason(seen.decision.reason, asked.reason),
        readings=seen.decision.readings,
    )


def typed(agent: Agent, message_id: str) -> Agent:
    """The agent when a text arrived, which may have been the word to go on."""
    cut = agent.cut
    return replace(agent, cut=replace(cut, told=True)) if cut is not None and cut.message_id == message_id else agent


def missed(agent: Agent, message_id: str, why: str, now: Moment) -> Decision | None:
    """The word to go on did not arrive: a person has to say it; None where one is asked already, or of another text."""
    cut = agent.cut
    if cut is None or not cut.message_id or cut.message_id != message_id or any(one.kind == CUT for one in agent.items):
        return None
    return _ask(Decision(agent), f"{sentence(cut)}; it could not be told to go on: {why}", now)


def begun(agent: Agent, prompt: str) -> Agent:
    """The agent whose main thread took a prompt: our word goes on with the cut answer, any other drops it."""
    if agent.cut is None:
        return agent
    cut = replace(agent.cut, taken=True) if is_ours(prompt) else None
    return replace(close_items(agent, CUT), cut=cut)


def is_ours(prompt: str) -> bool:
    """Whether a prompt is nothing but the word to go on."""
    return prompt.strip() == GO_ON


def is_owed(agent: Agent) -> bool:
    """Whether the run ended with a cut answer that nobody went on with, so that the next run has to."""
    cut = agent.cut
    if cut is None or cut.incarnation != agent.incarnation or agent.spec.kind is Kind.EPHEMERAL:
        return False
    return not cut.went_on and not cut.taken


def sentence(cut: Cut) -> str:
    """What happened, in words."""
    calls = f"; its call came with it, and was carried out: {', '.join(cut.calls)}" if cut.calls else ""
    if cut.went_on:
        return (
            f"its answer was cut by {HOW[cut.how]}, and its CLI went on: its last message is the last part alone{calls}"
        )
    return f"its answer was cut by {HOW[cut.how]}{calls}"


def _why_not(agent: Agent) -> str:
    state = agent.state
    if not isinstance(state, Running) or state.exit_due is not None:
        return "its run is over"
    if state.activity.turn_open:
        return "another turn has begun"
    waiting = state.activity.waiting
    return f"it waits for a person: {waiting.kind}" if waiting is not None and waiting.kind != FAILED_TURN else ""


def _wait_with_it(noted: Decision, agent: Agent, told: str, now: Moment) -> Decision:
    """The end of its wait tells a parked agent to go on, also one that idled as another of its account met a limit."""
    parking = agent.parking
    assert parking is not None
    assert noted.agent is not None
    if not agent.spec.is_reprompted and not parking.owes:
        return _ask(noted, f"{told}; it is parked, and nothing tells it to go on afterwards", now)
    owing = replace(noted.agent, limits=replace(agent.limits, parking=replace(parking, owes=True)))
    why_not = f"it is parked, {parking.kind.value}, and is told when that is over"
    return replace(noted, agent=owing, reason=f"{told}; it is not told to go on: {why_not}")


def _ask(noted: Decision, text: str, now: Moment) -> Decision:
    """Ask a person, unless the failed turn, as by the output limit for good, asks already."""
    agent = noted.agent
    assert agent is not None
    if any(one.kind == FAILED_TURN for one in agent.items):
        return replace(noted, reason=text)
    asked = open_item(agent, CUT, text, "attach", now)
    return replace(noted, agent=asked, actions=(Alert(agent.name, CUT, text),), reason=text)


def _readings(event: AnswerCut) -> Readings:
    return (("cut by", event.how), ("went on by itself", "yes" if event.went_on else "no"))
