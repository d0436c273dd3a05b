"""Answers to a permission dialog without a keystroke: the shim holds the request, and the first answer wins.

An item is answered once, by the number of the request that it was opened for, so an answer can reach no other dialog.
Whoever answers at the terminal makes the agent let go of the request; the operator who is second is told so.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import liveness, session
from phoenixd.core.actions import Action, Alert, AnswerHold, AttendHold, LookAtScreen, ReleaseHold
from phoenixd.core.agent import Agent, Running
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import AnswerRequested, HoldAnswered, HoldReleased, RunAdopted, RunEvent
from phoenixd.core.moment import Moment
from phoenixd.core.transitions import keep

BY_CONFIGURATION = "the configuration"


def answer(agent: Agent, event: AnswerRequested) -> Decision:
    """Give an answer to the open item, if it is still the one that was shown, and nobody else has answered it."""
    item, state = agent.item, agent.state
    inbox = "phoenixctl inbox"
    if item is None or item.id != event.item or not isinstance(state, Running):
        return _refuse(agent, f"#{event.item} does not wait any more: it was answered, or its dialog is gone", inbox)
    if event.text_hash is not None and event.text_hash != item.text_hash:
        return _refuse(agent, f"#{event.item} asks for something else than what you were shown", inbox)
    if item.answering:
        return _refuse(agent, f"#{event.item} is being answered already: {item.answering}", inbox)
    if not item.hold:
        return _refuse(agent, f"#{event.item} can be answered at its terminal alone", f"phoenixctl attach {agent.name}")
    if item.veiled and event.allow:
        why = "secrets were taken out of what you were shown, so you have not seen all of it; deny it, or attach"
        return _refuse(agent, f"#{event.item} cannot be allowed from here: {why}", f"phoenixctl attach {agent.name}")
    verdict = "allow" if event.allow else "deny"
    action = AnswerHold(agent.name, state.run.incarnation, item.hold, item.id, event.allow, event.reason)
    readings = (("item", item.id), ("text_hash", item.text_hash), ("hold", item.hold), ("by", event.by))
    reason = f"{event.by} answers #{item.id} ({item.kind}): {verdict}"
    return Decision(replace(agent, item=replace(item, answering=verdict)), (action,), reason, readings)


def prepared(before: Agent | None, agent: Agent | None) -> AnswerRequested | None:
    """The operator's prepared answer to a question that has just been asked; most agents have none."""
    if agent is None or agent.item is None or not agent.item.hold or agent.item.answering or agent.item.veiled:
        return None
    if before is not None and before.item is not None and before.item.hold == agent.item.hold:
        return None
    item = agent.item
    for one in agent.spec.answers:
        if (one.dialog, one.asks) == (item.kind, item.text):
            return AnswerRequested(agent.name, item.id, one.allow, one.reason, item.text_hash, BY_CONFIGURATION)
    return None


def quietly(before: Agent, decision: Decision) -> Decision:
    """The decision without the alert of a question that a prepared answer is given to."""
    if prepared(before, decision.agent) is None or decision.agent is None or decision.agent.item is None:
        return decision
    kind = decision.agent.item.kind
    rest = tuple(one for one in decision.actions if not isinstance(one, Alert) or one.kind != kind)
    return replace(decision, actions=rest)


def hear_outcome(agent: Agent, event: HoldAnswered, now: Moment) -> Decision:
    """Close the question that was answered, or leave it to whoever was first."""
    state, item = agent.state, agent.item
    if not isinstance(state, Running):
        return keep(agent, _came_of(event))
    mine = item is not None and item.hold == event.hold
    if event.taken or not mine or item is None:
        left = _settled(agent, state, event.hold, now) if event.taken else agent
        return Decision(
            left, _alert(left, agent), f"#{item.id}: {_came_of(event)}" if mine and item else _came_of(event)
        )
    # A prepared answer has kept the question from being told; now a person is needed after all.
    alert = Alert(agent.name, item.kind, item.text)
    why = f"#{item.id} is not answered: {event.why}"
    if event.still_held:
        return Decision(replace(agent, item=replace(item, answering="")), (alert,), why)
    given_up = _give_up(agent, state, event.hold, why, now)
    asks_on = given_up.agent is not None and given_up.agent.item is not None
    return replace(given_up, actions=(*given_up.actions, alert)) if asks_on else given_up


def hear_release(agent: Agent, event: HoldReleased, now: Moment) -> Decision:
    """The request is held no longer: see what became of its dialog."""
    state = agent.state
    if not isinstance(state, Running) or event.hold not in holds_of(agent):
        return Decision(agent)
    return _give_up(agent, state, event.hold, "its question was answered at the terminal, or given up", now)


def let_go(before: Agent, decision: Decision, event: RunEvent, now: Moment) -> Decision:
    """Release the requests of questions that something else has closed, and meet what a shim says that it holds."""
    if isinstance(event, RunAdopted):
        decision = _met(decision, event, now)
    agent = decision.agent
    if agent is None or not isinstance(agent.state, Running) or isinstance(event, HoldAnswered | HoldReleased):
        return decision
    known, held = holds_of(before), holds_of(agent)
    actions: list[Action] = [ReleaseHold(agent.name, agent.incarnation, hold) for hold in known if hold not in held]
    if agent.spec.hides_its_dialog:
        # After a daemon start nobody attends to what was held before.
        begun = (
            held
            if isinstance(event, RunAdopted) and event.held is not None
            else [hold for hold in held if hold not in known]
        )
        actions += [AttendHold(agent.name, agent.incarnation, hold) for hold in begun]
    return replace(decision, actions=(*decision.actions, *actions)) if actions else decision


def _met(decision: Decision, event: RunAdopted, now: Moment) -> Decision:
    """After a daemon start: what the shim still holds can be answered, whatever was under way; all else cannot."""
    if event.held is None:
        return decision
    for hold in holds_of(decision.agent):
        agent = decision.agent
        if agent is None or not isinstance(agent.state, Running):
            return decision
        if event.held_until is not None and hold > event.held_until:
            continue
        if hold in event.held:
            if agent.item is not None and agent.item.hold == hold:
                decision = replace(decision, agent=replace(agent, item=replace(agent.item, answering="")))
            continue
        why = "its question was answered while nobody listened, or given up"
        given_up = _give_up(agent, agent.state, hold, why, now)
        actions, reason = (*decision.actions, *given_up.actions), f"{decision.reason}; {given_up.reason}"
        decision = replace(decision, agent=given_up.agent, actions=actions, reason=reason)
    return decision


def _give_up(agent: Agent, state: Running, hold: int, why: str, now: Moment) -> Decision:
    """Nobody can answer from afar any more. Where the screen can be read, it tells whether the dialog still stands."""
    waiting = state.activity.waiting
    alone = waiting is not None and waiting.hold == hold and not state.activity.also_asked
    if waiting is None or not alone or not agent.spec.has_hooks:
        left = _settled(agent, state, hold, now)
        return Decision(left, _alert(left, agent), why)
    # What is let go of has been drawn before, so that its absence now means something, or is drawn only now.
    kept = replace(waiting, hold=0, seen=not agent.spec.hides_its_dialog)
    item = agent.item
    if item is not None and item.hold == hold:
        item = replace(item, hold=0, answer_by="attach", answering="")
    looking = replace(state, activity=replace(state.activity, waiting=kept, looked_at=now.at))
    look = LookAtScreen(agent.name, state.run.incarnation)
    return Decision(replace(agent, item=item, state=looking), (look,), f"{why}; looking at the screen whether it asks")


def _settled(agent: Agent, state: Running, hold: int, now: Moment) -> Agent:
    """The agent without that question; one that it covered is an item again."""
    activity = liveness.settled(state.activity, hold, now)
    left = replace(agent, state=replace(state, activity=activity))
    return session.hear_item(left, state.activity.waiting, activity.waiting, now)


def _alert(agent: Agent, before: Agent) -> tuple[Alert, ...]:
    """The word that another question has come up."""
    item = agent.item
    return (Alert(agent.name, item.kind, item.text),) if item is not None and item is not before.item else ()


def _came_of(event: HoldAnswered) -> str:
    return "its answer was taken" if event.taken else f"an answer came too late: {event.why}"


def holds_of(agent: Agent | None) -> tuple[int, ...]:
    """The requests that are held of its questions, that of the newest one first."""
    state = agent.state if agent is not None else None
    if not isinstance(state, Running) or state.activity.waiting is None:
        return ()
    asked = (state.activity.waiting, *state.activity.also_asked)
    return tuple(question.hold for question in asked if question.hold)


def _refuse(agent: Agent, message: str, remedy: str) -> Decision:
    return Decision(agent, refusal=Refusal("conflict", message, remedy))
