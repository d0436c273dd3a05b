"""A lost agent is brought back by the seed's seven steps: a value, from which the next one is derived anew.

    log -> seed -> session -> inject -> verify -> resume
                                            \\-> escalate

An operator's stop, restart or removal ends it at each of them. Nothing is ended inside a turn, and while a limit or a
handoff owns the run, the restoration waits. An agent that rests comes to no turn's end, so its check is given a turn.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.actions import Action, Alert, Deliver, ReadSeed
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Parked, Quarantined, Running, Starting, Stopped
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.events.runs import NotDelivered
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.resonance.state import STEPS, Resonance, Restoration, Step
from phoenixd.core.rules import HOUR
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import end_run, quarantine
from phoenixd.planting import opening_text

LOST = "marker lost"
"""The alert of a loss, and the reason of the quarantine that follows where it cannot be restored."""

CHECKS = "resonance"
"""The alert that an agent cannot be checked, or uses tools where it is to recite, or is lost and left alone."""

SEED_WITHIN = 60.0
"""Seconds in which the seed has to be read."""
INJECT_WITHIN = 600.0
"""Seconds in which a new session has to be there with its codes."""
VERIFY_WITHIN = 60.0
"""Seconds for which a new session may rest unverified before a turn is opened for its check."""
OPENED_WITHIN = 180.0
"""Seconds in which the words that open one have begun it, or never will; with typing they may take 150."""
TURN_WITHIN = HOUR
"""Seconds after which somebody is told that an open turn holds a step up. Nothing is ended inside a turn."""
MOST_OPENED = 6
"""Turns that are opened for one verification: some may end with a question, tell the codes, or be asked once more."""

NUMBER = {step: number for number, step in enumerate(STEPS, 1)}


def lost(agent: Agent, known: Resonance, why: str, now: Moment, by: str = "") -> Decision:
    """The context is lost: begin to restore it, have the seat handed over, or give up. by: who ordered it."""
    recent = tuple(at for at in known.restored if now.at - at < HOUR)
    known = replace(known, restored=recent)
    told: tuple[Action, ...] = (Alert(agent.name, LOST, f"the front of its context is lost: {why}"),)
    checked = MarkerNoted(agent.incarnation, "checked", verdict="lost", why=why, tokens=agent.meter.tokens or 0)
    facts = (checked,) if not by else ()
    if agent.session is not None:
        # Whatever becomes of this run, its session is never gone back to (R38, F-RES-3).
        agent = replace(agent, session=replace(agent.session, spoiled=LOST))
    if is_handed_over(agent):
        handed = replace(known, lost=why, restoration=None)
        said = f"its marker is lost ({why}): its seat is handed over"
        return Decision(replace(agent, resonance=handed), told if not by else (), said, facts=facts)
    if not by and not agent.spec.resonance.restore:
        left = replace(known, lost=why)
        said = f"its marker is lost ({why}), and resonance.restore is off"
        return Decision(replace(agent, resonance=left), (Alert(agent.name, CHECKS, said),), said, facts=facts)
    if known.restoration is not None and not known.restoration.is_over:
        failed = _to(agent, known, known.restoration, Step.VERIFY, now)
        given_up = _escalated(failed, f"a new session did not know its marker either: {why}", now)
        return replace(given_up, facts=(*facts, *given_up.facts))
    begun = Restoration(Step.LOG, why, now.wall, now.at, agent.incarnation, by=by)
    count = len(recent)
    known = replace(known, restored=(*recent, now.at), restoration=begun, due="")
    noted = replace(agent, resonance=known)
    step = _fact(noted, Step.LOG, why)
    if not by and count >= agent.spec.resonance.max_per_hour:
        given_up = _escalated(noted, f"it was lost {count + 1} times within an hour", now)
        return replace(given_up, facts=(*facts, step, *given_up.facts))
    said = f"restoration, step 1, log: {why}" + (f", ordered by {by}" if by else "")
    return Decision(noted, told if not by else (), said, facts=(*facts, step))


def is_handed_over(agent: Agent) -> bool:
    """Whether a loss is answered by a degraded handoff, and not by a session of the same generation."""
    return agent.spec.kind is Kind.ORCHESTRATOR and agent.spec.project is not None


def hands_over(agent: Agent) -> str:
    """Why the seat of this orchestrator is to pass to the next generation: its marker is lost; empty: it is not."""
    known = agent.resonance
    if known is None or known.restoration is not None or not agent.spec.has_resonance:
        return ""
    return known.lost if is_handed_over(agent) else ""


def advance(agent: Agent, now: Moment) -> Decision | None:
    """The next step of the agent's restoration; None where it has to wait, or there is none."""
    known = agent.resonance
    if known is None or known.restoration is None or known.restoration.is_over:
        return None
    going = known.restoration
    if isinstance(agent.state, Stopped | Quarantined):
        return dropped(agent, f"it is {agent.state_words}")
    if not agent.spec.has_resonance:
        # Whatever it is given now, nothing is asked of it any more that could verify it.
        return dropped(agent, "resonance is off for it")
    match going.step:
        case Step.LOG:
            asked = replace(going, deadline=now.at + SEED_WITHIN)
            moved = _to(agent, known, asked, Step.SEED, now)
            order = ReadSeed(agent.name, agent.incarnation)
            return _told(moved, "the session seed is read", (order,))
        case Step.SEED if agent.incarnation > going.base or (going.read and _may_end(agent, now)):
            return _new_session(agent, known, going, now)
        case Step.SESSION if agent.incarnation > going.base and isinstance(agent.state, Starting | Running):
            moved = _to(agent, known, replace(going, deadline=now.at + INJECT_WITHIN), Step.INJECT, now)
            return _told(moved, "persona, decisions, tasks and a new marker are given")
        case Step.INJECT if known.planting is not None and isinstance(agent.state, Running):
            moved = _to(agent, replace(known, due="restoration"), replace(going, deadline=None), Step.VERIFY, now)
            return _told(moved, "a code of the new marker is asked for at its first turn's end")
        case Step.INJECT if isinstance(agent.state, Parked) and going.deadline is not None:
            # Its clock stands still while a limit or an outage keeps the agent down.
            return _timed(agent, known, going, None)
        case Step.INJECT if isinstance(agent.state, Starting | Running) and going.deadline is None:
            return _timed(agent, known, going, now.at + INJECT_WITHIN)
        case Step.VERIFY if known.state == "intact":
            moved = _to(agent, known, going, Step.RESUME, now)
            return _told(moved, "verified: it goes on from the last checkpoint")
        case Step.VERIFY if isinstance(agent.state, Running) and _cannot_be_asked(agent):
            return _escalated(agent, f"the new session cannot be asked: {armed.can(agent).why_not}", now)
        case Step.VERIFY if _rests(agent, now) != (going.deadline is not None):
            # Its clock runs only while it rests: any turn ends with its check.
            return _timed(agent, known, going, now.at + VERIFY_WITHIN if going.deadline is None else None)
        case _:
            return None


def _timed(agent: Agent, known: Resonance, going: Restoration, at: Instant | None) -> Decision:
    return Decision(replace(agent, resonance=replace(known, restoration=replace(going, deadline=at))))


def deadline(agent: Agent) -> Instant | None:
    """When the present step is overdue."""
    known = agent.resonance
    if known is None or known.restoration is None or known.restoration.is_over:
        return None
    going = known.restoration
    if going.deadline is None and not going.tells and (since := _held_up_since(agent, going)) is not None:
        return since + TURN_WITHIN
    return going.deadline if isinstance(agent.state, Running | Starting) else None


def overdue(agent: Agent, now: Moment) -> Decision:
    """A step took too long: the seed is then made of what else is known, and a session without codes is given up."""
    known = agent.resonance
    assert known is not None
    assert known.restoration is not None
    going = known.restoration
    if going.deadline is None:
        return _held_up(agent, known, going)
    if going.step is Step.SEED:
        read = replace(going, read=True, rebuilt="it could not be read in time", deadline=None)
        changed = replace(agent, resonance=replace(known, restoration=read))
        return Decision(changed, reason="restoration: the seed was not read in time; the session begins without")
    if going.step is Step.VERIFY:
        return _opened(agent, known, going, now)
    if agent.parking is not None or agent.outage is not None:
        later = replace(known, restoration=replace(going, deadline=now.at + INJECT_WITHIN))
        return Decision(replace(agent, resonance=later), reason="restoration: it waits for the end of a limit")
    return _escalated(agent, f"no new session with its codes came about ({going.step.value})", now)


def hear_miss(agent: Agent, event: NotDelivered, seen: Seen, now: Moment) -> Decision:
    """Our words did not arrive. A person's own in the way make it no try: ours follow once the person is done."""
    known, decision = agent.resonance, seen.decision
    going = known.restoration if known is not None else None
    if known is None or going is None or not event.person or going.is_over or going.message != event.message_id:
        return decision
    waited = going.waited + 1
    again = replace(going, opened=going.opened - 1, deadline=now.at + VERIFY_WITHIN, message="", waited=waited)
    said = "restoration: somebody's words stand in its input line, so a turn is opened for its check later"
    asks = f"its marker is not checked while somebody's words stand in its input line: phoenixctl attach {agent.name}"
    return replace(
        decision,
        agent=replace(agent, resonance=replace(known, restoration=again)),
        actions=(*decision.actions, *((Alert(agent.name, CHECKS, asks),) if waited == MOST_OPENED else ())),
        reason=one_reason(decision.reason, said),
    )


def dropped(agent: Agent, why: str) -> Decision:
    """The restoration is over, because somebody or something else decides about the agent."""
    known = agent.resonance
    assert known is not None
    changed = replace(agent, resonance=replace(known, restoration=None))
    return Decision(changed, reason=f"its restoration is dropped: {why}")


def closed(decision: Decision, now: Moment) -> Decision:
    """A run is over, and `decision` says what follows: one whose marker is lost for good is quarantined."""
    agent = decision.agent
    if agent is None or decision.removed or agent.resonance is None or not _is_given_up(agent.resonance):
        return decision
    if not isinstance(agent.state, Stopped | BackingOff | Parked) or agent.desired is not Desired.RUNNING:
        return decision
    moved = quarantine(agent, Quarantined(f"{LOST}: {agent.resonance.lost}"), now)
    return replace(decision, agent=moved.agent, actions=(*decision.actions, *moved.actions), reason=moved.reason)


def is_owed(agent: Agent) -> bool:
    """Whether the run that ends is to be gone on with by the session in its place, although its turn is over.

    Work in its background would have begun a turn of it. Of a turn that ended with nothing in hand, nothing is left.
    """
    run = agent.run
    return run is not None and bool(run.jobs) and is_under_way(agent)


def is_under_way(agent: Agent) -> bool:
    """Whether what it lost of its context is being restored, also while none of its runs lives."""
    return agent.resonance is not None and agent.resonance.is_restoring


def rearmed(known: Resonance) -> Resonance:
    """What is known after an operator started the agent again: it begins with a new session and new codes."""
    return replace(known, restoration=None, restored=(), lost="", misses=0, state="not_applicable")


def elsewhere(known: Resonance) -> Resonance:
    """What is known once the agent goes back to another session: codes and losses belong to the session that it leaves.

    The other session is told new codes at a turn's end. To ask it for the old ones would find a loss where there is
    none.
    """
    return replace(rearmed(known), planting=None, due="")


def _is_given_up(known: Resonance) -> bool:
    return bool(known.lost) and known.restoration is not None and known.restoration.step is Step.ESCALATE


def _may_end(agent: Agent, now: Moment) -> bool:
    """Whether the run can be ended now: its turn is over, and nobody else owns it."""
    state = agent.state
    if not isinstance(state, Running):
        return True
    is_frozen = any(one.answer.purpose == "freeze" for one in armed.standing(agent, now.at))
    return not state.activity.turn_open and state.exit_due is None and agent.parking is None and not is_frozen


def _rests(agent: Agent, now: Moment) -> bool:
    """Whether no turn's end is to come by itself, and a turn may be opened."""
    state = agent.state
    if not isinstance(state, Running) or agent.outage is not None:
        return False
    return state.activity.waiting is None and _may_end(agent, now)


def _held_up_since(agent: Agent, going: Restoration) -> Instant | None:
    """Since when the step is held up by an open turn that waits for nobody; who waits for a person is told as that.

    The step may be older than the turn: a limit may have lain between.
    """
    state = agent.state
    if not isinstance(state, Running) or not state.activity.turn_open or state.activity.waiting is not None:
        return None
    return max(going.since, state.activity.turn_since or going.since)


def _held_up(agent: Agent, known: Resonance, going: Restoration) -> Decision:
    """The turn in which it works does not end, so it is neither renewed nor asked: a person is told, once a step."""
    left = "works on without the front of its context" if going.step is Step.SEED else "works unverified after a loss"
    said = f"it {left}: its turn has not ended for an hour"
    remedy = f"What ends that turn, and begins anew with the brief: phoenixctl restart {agent.name} --fresh"
    told = replace(agent, resonance=replace(known, restoration=replace(going, tells=True)))
    return Decision(told, (Alert(agent.name, CHECKS, f"{said}. {remedy}"),), f"restoration: {said}")


def _opened(agent: Agent, known: Resonance, going: Restoration, now: Moment) -> Decision:
    """It rests unverified: open a turn that ends with the question for the code; give up after MOST_OPENED of them."""
    if not _rests(agent, now):
        return Decision(replace(agent, resonance=replace(known, restoration=replace(going, deadline=None))))
    if not (able := armed.can(agent)):
        return _escalated(agent, f"the new session cannot be asked: {able.why_not}", now)
    if going.opened >= MOST_OPENED:
        return _escalated(agent, f"{MOST_OPENED} turns were opened for its check, and none verified it", now)
    number = going.opened + 1
    message_id = now.new_id(agent.name, agent.incarnation, "check", number)
    order = Deliver(
        agent.name,
        agent.incarnation,
        message_id,
        opening_text(known.persona or agent.spec.role),
        now.at + VERIFY_WITHIN,
    )
    later = replace(
        known, restoration=replace(going, opened=number, deadline=now.at + OPENED_WITHIN, message=message_id)
    )
    said = f"restoration, step 5, verify: it rests, so a turn is opened for its check ({number} of {MOST_OPENED})"
    return Decision(replace(agent, resonance=later), (order,), said)


def _new_session(agent: Agent, known: Resonance, going: Restoration, now: Moment) -> Decision:
    """Never the session that was cut (R38): back at work where that was broken off, and idle where it was idle."""
    moved = _to(agent, known, replace(going, deadline=None), Step.SESSION, now)
    fact = _fact(moved, Step.SESSION)
    why = "restoration, step 3, session: a new one begins"
    if isinstance(agent.state, Running) and agent.incarnation == going.base:
        return replace(end_run(moved, Afterwards.RESTART, why, now), facts=(fact,))
    return Decision(moved, reason=why, facts=(fact,))


def _cannot_be_asked(agent: Agent) -> bool:
    run = agent.run
    return run is not None and run.link > 0 and run.session_seen and not armed.can(agent)


def _escalated(agent: Agent, why: str, now: Moment) -> Decision:
    """Not verified: a person is called, and the agent is paused (R42)."""
    known = agent.resonance
    assert known is not None
    assert known.restoration is not None
    over = replace(known.restoration, step=Step.ESCALATE, since=now.at, deadline=None)
    given_up = replace(
        agent, resonance=replace(known, restoration=over, lost=why, challenge=None, due="", state="lost")
    )
    if given_up.session is not None:
        given_up = replace(given_up, session=replace(given_up.session, spoiled=LOST))
    alert = Alert(agent.name, LOST, f"{LOST}: {why}. It is paused; again: phoenixctl start {agent.name}")
    fact, said = _fact(given_up, Step.ESCALATE, why), f"restoration, step 7, escalate: {why}"
    if isinstance(agent.state, Running | Starting):
        ending = end_run(given_up, Afterwards.STAY, said, now)
        return replace(ending, actions=(*ending.actions, alert), facts=(fact,))
    return replace(closed(Decision(given_up, (alert,), said), now), facts=(fact,))


def _to(agent: Agent, known: Resonance, going: Restoration, step: Step, now: Moment) -> Agent:
    moved = replace(going, step=step, since=now.at, tells=False)
    return replace(agent, resonance=replace(known, restoration=moved))


def _told(agent: Agent, what: str, actions: tuple[Action, ...] = ()) -> Decision:
    assert agent.resonance is not None
    assert agent.resonance.restoration is not None
    step = agent.resonance.restoration.step
    said = f"restoration, step {NUMBER[step]}, {step.value}: {what}"
    return Decision(agent, actions, said, facts=(_fact(agent, step),))


def _fact(agent: Agent, step: Step, why: str = "") -> MarkerNoted:
    going = agent.resonance.restoration if agent.resonance is not None else None
    checkpoint = going.checkpoint if going is not None and step is Step.RESUME else None
    return MarkerNoted(agent.incarnation, "restoration", step=NUMBER[step], why=why, checkpoint=checkpoint)
