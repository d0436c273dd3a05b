"""Answers to what an agent asks, without a keystroke: the shim holds the request, and the first answer wins.

An item is answered once, by the number of the request that it was opened for, so an answer can reach no other dialog.
A person who answers at the terminal makes the agent let go of the request; the operator who is second is told so.
"""

from __future__ import annotations

import json

from phoenixd.core import doubt, requests
from phoenixd.core.actions import Action, Alert, AnswerHold, AttendHold, LookAtScreen, OrphanAnswer, ReleaseHold
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.run import Giving
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.events import RunEvent
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered, HoldReleased, RunAdopted
from phoenixd.core.facts import AnswerJudged
from phoenixd.core.moment import Moment
from phoenixd.core.question import leftover
from phoenixd.core.question.call import ASKS, PROPOSAL, QUESTION, call_of
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.reply import Said, asked_in, limits, understand
from phoenixd.core.transitions import keep, put_item, refuse
from phoenixd.core.treatment import proposals
from phoenixd.core.turn import liveness
from phoenixd.core.waiting import hear_item

VERDICTS = {"allow": "allowed", "deny": "denied"}
"""How it is said of what an answer allows or denies, once it was taken."""


def hear_answer(agent: Agent, event: AnswerRequested, seen: Seen, now: Moment) -> Decision:
    """An operator answers."""
    return answer(agent, event, now)


def answer(agent: Agent, event: AnswerRequested, now: Moment) -> Decision:
    """Give an answer to the open item, if it is still the one that was shown, and nobody else has answered it."""
    item, state = next((one for one in agent.items if one.id == event.item), None), agent.state
    attach = f"phoenixctl attach {agent.name}"
    if item is not None and item.kind == PROPOSAL:
        return proposals.answer(agent, item, event)
    told = item or next((one for one in agent.alerts if one.id == event.item), None)
    if told is not None and told.kind not in ASKS:
        why = f"#{event.item} ({told.kind}) is no question that an answer could be given to"
        return refuse(agent, why, attach if item and item.answer_by == "attach" else f"phoenixctl explain {agent.name}")
    if item is None or not (isinstance(state, Running) or item.left):
        words = f"#{event.item} does not wait any more: it was answered, or its dialog is gone"
        return refuse(agent, words, "phoenixctl inbox")
    if event.text_hash is not None and event.text_hash != item.text_hash:
        words = f"#{event.item} asks for something else than what you were shown"
        return refuse(agent, words, f"phoenixctl answer {item.id}")
    if item.answering:
        how = item.answering if not item.left else "it is being typed"
        return refuse(agent, f"#{event.item} is being answered already: {how}", "phoenixctl inbox")
    if not item.hold and not item.left:
        return refuse(agent, f"#{event.item} can be answered at its terminal alone: {limits(item)}", attach)
    said = understand(item, event.words, event.as_text) if event.words else Said(event.allow, event.reason)
    if isinstance(said, Unclear):
        return refuse(agent, f"#{item.id}: {said.why}", said.remedy(item.id), "invalid")
    if said.allow and (why := limits(item)):
        return refuse(agent, f"#{event.item} cannot be answered from here: {why}; deny it, or attach", attach)
    if item.kind == QUESTION and not said.answers:
        why = "a question is answered by an option or a text, not allowed or denied"
        return refuse(agent, f"#{item.id}: {why}", f"phoenixctl answer {item.id}", "invalid")
    if item.left:
        return requests.unheard(agent) or leftover.answer(agent, item, said.answers, event.by, now, secret=event.secret)
    assert isinstance(state, Running)
    return _give(agent, state, item, said, event, now)


def _give(agent: Agent, state: Running, item: InboxItem, said: Said, event: AnswerRequested, now: Moment) -> Decision:
    """Hand the answer to the shim that holds the request, and keep it until it is known what became of it."""
    by = event.by
    verdict = "answered" if said.answers else "allow" if said.allow else "deny"
    giving = Giving(item.hold, item.id, verdict, said.reason, _updated(item, said))
    readings = (("item", item.id), ("text_hash", item.text_hash), ("hold", item.hold), ("by", by))
    reason = f"{by} answers #{item.id} ({item.kind}): {_in_words(item, said) if said.answers else verdict}"
    kept = replace(giving, reason="", updated="", whole=False) if event.secret else giving
    others = (one for one in state.run.giving if one.hold != item.hold)
    touched = replace(state, activity=liveness.touched(state.activity, agent.spec, now))
    asked = put_item(replace(agent, state=touched), replace(item, answering=verdict))
    told = _with_giving(asked, (*others, kept))
    return Decision(told, (_order(agent, giving),), reason, readings)


def _order(agent: Agent, giving: Giving, orphan: OrphanAnswer | None = None) -> AnswerHold:
    allow = giving.answer != "deny"
    return AnswerHold(
        agent.name, agent.incarnation, giving.hold, giving.item, allow, giving.reason, giving.updated, orphan
    )


def _with_giving(agent: Agent, giving: tuple[Giving, ...]) -> Agent:
    state = agent.state
    if not isinstance(state, Running) or state.run.giving == giving:
        return agent
    return replace(agent, state=replace(state, run=replace(state.run, giving=giving)))


def _in_words(item: InboxItem, said: Said) -> str:
    """The answers by their options; what an operator wrote stands in the order itself, and not in what is shown."""
    chosen = [
        f"option {labels.index(given) + 1}" if given in labels else f"{len(given)} characters"
        for given, labels in zip(said.answers, ([o.label for o in one.options] for one in asked_in(item)), strict=True)
    ]
    return ", ".join(chosen)


def _updated(item: InboxItem, said: Said) -> str:
    """The call as it was, with the answers in it; empty where nothing has to be put in."""
    call = call_of(item)
    if call is None or not said.answers:
        return ""
    texts = (question.text for question in asked_in(item))
    return json.dumps({**call.given, "answers": dict(zip(texts, said.answers, strict=True))})


def hear_outcome(agent: Agent, event: HoldAnswered, seen: Seen, now: Moment) -> Decision:
    """Close the question that was answered, unless another answer came first. Its screen may have closed it before."""
    giving = agent.state.run.giving if isinstance(agent.state, Running) else ()
    given = next((one for one in giving if one.hold == event.hold), None)
    decision = _outcome(agent, event, given, now)
    if given is None:
        return decision
    return replace(decision, facts=(*decision.facts, AnswerJudged(given.item, event.taken)))


def _outcome(agent: Agent, event: HoldAnswered, given: Giving | None, now: Moment) -> Decision:
    state, item = agent.state, _holding(agent, event.hold)
    if not isinstance(state, Running):
        return keep(agent, _came_of(event, given))
    number = f"#{given.item}: " if given is not None else ""
    agent = _with_giving(agent, tuple(one for one in state.run.giving if one.hold != event.hold))
    assert isinstance(agent.state, Running)
    state = agent.state
    if event.taken or item is None:
        failed = doubt.unanswered(agent, event.hold, still_held=event.still_held)
        settled = _settled(agent, state, event.hold, now) if event.taken else failed
        return Decision(settled, _alert(settled, agent), f"{number}{_came_of(event, given)}")
    # A prepared answer has kept the question from being told; now a person is needed after all.
    alert = Alert(agent.name, item.kind, item.text)
    why = f"#{item.id} is not answered: {event.why}"
    if event.still_held:
        return Decision(put_item(agent, replace(item, answering="")), (alert,), why)
    if state.exit_due is not None:
        # As where it is let go of: its process is gone, and the end of its run says what becomes of the question.
        return keep(put_item(agent, replace(item, answering="")), why)
    given_up = _give_up(agent, state, event.hold, why, now)
    asks_on = given_up.agent is not None and any(one.id == item.id for one in given_up.agent.items)
    return replace(given_up, actions=(*given_up.actions, alert)) if asks_on else given_up


def hear_release(agent: Agent, event: HoldReleased, seen: Seen, now: Moment) -> Decision:
    """The request is held no longer: see what became of its dialog."""
    state = agent.state
    if not isinstance(state, Running) or event.hold not in holds_of(agent):
        return Decision(agent)
    if state.exit_due is not None:
        # Its process is gone, and that is why nobody waits: what it asked is judged when its run is over.
        return Decision(agent)
    return _give_up(agent, state, event.hold, "its question was answered at the terminal, or given up", now)


def let_go(agent: Agent, event: RunEvent, seen: Seen, now: Moment) -> Decision:
    """Release the requests of questions that something else has closed."""
    decision = seen.decision
    if not isinstance(agent.state, Running):
        return decision
    known, held = holds_of(seen.before), holds_of(agent)
    if not (known or held):
        return decision
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


def meet(agent: Agent, event: RunAdopted, seen: Seen, now: Moment) -> Decision:
    """After a daemon start, or a lost link: what the shim still holds can be answered, and all else cannot.

    An answer that is under way gets its verdict first: what the shim says of this daemon's is believed, and that of an
    earlier daemon is gone on with.
    """
    decision = seen.decision
    if event.unwatched:
        decision = replace(decision, agent=leftover.met(agent))
    if event.held is None:
        return decision
    if decision.agent is None or not isinstance(decision.agent.state, Running):
        return decision
    given = {hold for hold, _ in event.answered or ()}
    told = {one.hold for one in decision.agent.state.run.giving if one.orphaned or one.hold in given}
    decision = _joined(decision, _go_on(decision.agent, decision.agent.state, event))
    for hold in holds_of(decision.agent):
        assert decision.agent is not None
        agent = decision.agent
        if not isinstance(agent.state, Running):
            return decision
        if hold in event.held or hold in told or (event.held_until is not None and hold > event.held_until):
            continue
        why = "its question was answered while nobody listened, or given up"
        decision = _joined(decision, _give_up(agent, agent.state, hold, why, now))
    return decision


def _go_on(agent: Agent, state: Running, event: RunAdopted) -> Decision:
    """Have it found out what became of the answers that an earlier daemon gave, and those given that were not."""
    orders, reasons = list[Action](), list[str]()
    for one in state.run.giving:
        if one.orphaned:
            taken = next((taken for hold, taken in event.answered or () if hold == one.hold), None)
            orphan = OrphanAnswer(one.hold in (event.held or ()), taken, event.answered is not None, one.whole)
            orders.append(_order(agent, one, orphan))
            reasons.append(
                f"#{one.item} was being answered ({one.answer}) when phoenixd was restarted: {_found(orphan)}"
            )
    met = _with_giving(agent, tuple(replace(one, orphaned=False) for one in state.run.giving))
    return Decision(met, tuple(orders), "; ".join(reasons))


def _found(orphan: OrphanAnswer) -> str:
    if orphan.taken is not None:
        return "its shim says that the agent took it" if orphan.taken else "its shim says that nobody waited for it"
    if not orphan.held:
        return "nobody waits for it any more"
    return "its shim was given no answer, so it is given now" if orphan.whole else "its shim was given no answer"


def _joined(decision: Decision, more: Decision) -> Decision:
    reason = one_reason(decision.reason, more.reason)
    return replace(decision, agent=more.agent, actions=(*decision.actions, *more.actions), reason=reason)


def orphaned(agent: Agent) -> Agent:
    """The agent as a new daemon finds it in the journal: an earlier daemon was giving the answers under way."""
    state = agent.state
    if not isinstance(state, Running):
        return agent
    known = {one.hold for one in state.run.giving}
    unknown = (
        Giving(one.hold, one.id, one.answering, whole=False)
        for one in agent.items
        if one.answering and one.hold and one.hold not in known
    )
    return _with_giving(agent, tuple(replace(one, orphaned=True) for one in (*state.run.giving, *unknown)))


def _give_up(agent: Agent, state: Running, hold: int, why: str, now: Moment) -> Decision:
    """Nobody can answer from afar any more. Where the screen can be read, it tells whether the dialog still stands."""
    waiting = state.activity.waiting
    alone = waiting is not None and waiting.hold == hold and not state.activity.also_asked
    if waiting is None or not alone or not agent.spec.has_hooks:
        settled = _settled(agent, state, hold, now)
        return Decision(settled, _alert(settled, agent), why)
    # What is let go of has been drawn before, so that its absence now means something, or is drawn only now.
    kept = replace(waiting, hold=0, seen=not agent.spec.hides_its_dialog)
    if (item := _holding(agent, hold)) is not None:
        agent = put_item(agent, replace(item, hold=0, answer_by="attach", answering=""))
    # A dialog that is drawn only now is looked for as one that was asked for now.
    heard = now.at if agent.spec.hides_its_dialog else state.activity.evidence_at
    looking = replace(state, activity=replace(state.activity, waiting=kept, looked_at=now.at, evidence_at=heard))
    look = LookAtScreen(agent.name, state.run.incarnation)
    return Decision(replace(agent, state=looking), (look,), f"{why}; looking at the screen whether it asks")


def _settled(agent: Agent, state: Running, hold: int, now: Moment) -> Agent:
    """The agent without that question; one that it covered is an item again."""
    activity = liveness.settled(state.activity, hold, now)
    settled = replace(agent, state=replace(state, activity=activity))
    return hear_item(settled, state.activity.waiting, activity.waiting, now)


def _alert(agent: Agent, before: Agent) -> tuple[Alert, ...]:
    """The word that another question has come up."""
    item = agent.item
    is_new = item is not None and all(item is not one for one in before.items)
    return (Alert(agent.name, item.kind, item.text),) if item is not None and is_new else ()


def _holding(agent: Agent, hold: int) -> InboxItem | None:
    return next((one for one in agent.items if one.hold == hold), None) if hold else None


def _came_of(event: HoldAnswered, given: Giving | None) -> str:
    if not event.taken:
        return f"an answer came too late: {event.why}"
    verdict = VERDICTS.get(given.answer) if given is not None else None
    return f"its answer was taken ({verdict})" if verdict is not None else "its answer was taken"


def holds_of(agent: Agent | None) -> tuple[int, ...]:
    """The requests that are held of its questions, that of the newest one first."""
    return tuple(question.hold for question in _asked(agent) if question.hold)


def call_held(agent: Agent, hold: int) -> str:
    """The id of the call for which this request is held; empty where that is not known."""
    return next((question.call for question in _asked(agent) if question.hold == hold), "")


def _asked(agent: Agent | None) -> tuple[Waiting, ...]:
    state = agent.state if agent is not None else None
    if not isinstance(state, Running):
        return ()
    activity = state.activity
    # What is not sure to be over can be answered once it is sure that it is not.
    waiting, covered = activity.waiting, activity.also_asked
    if activity.doubted is not None:
        waiting, covered = activity.doubted.waiting, activity.doubted.also_asked
    return (waiting, *covered) if waiting is not None else ()
