"""What the end of the agent's turn is to bring: a code that is asked for, codes that are told, or nothing.

It is derived anew with each event. A check is an armed answer to the hook of a turn's end (core.armed): it comes
neither inside a turn nor into what somebody types.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.actions import PlantCodes
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.decision import Decision
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.moment import Moment
from phoenixd.core.resonance.exchange import going_on, was_given
from phoenixd.core.resonance.state import ANCHOR, Challenge, Resonance, Why
from phoenixd.planting import Planting, challenge_text, renewal_text

MOST_DEFERRED = 3
"""Turns in a row that are left alone because they end with a question; the next one is asked all the same (F-RE-10)."""

LEAST_CODES = 2
"""Codes that have to be left: one that is asked for, and one that is asked for after a miss."""

ARMED_FOR = armed.MAX_SECONDS - 60.0
PURPOSE = "challenge"


def is_on(agent: Agent) -> bool:
    """Whether this agent is checked."""
    return agent.spec.has_resonance


def why_due(agent: Agent, known: Resonance) -> str:
    """Why a code is asked for at the end of the turn that is open or comes next; empty where none is."""
    if known.due:
        return known.due
    return "interval" if known.turns + 1 >= agent.spec.resonance.interval_turns else ""


def spared(agent: Agent, now: Moment) -> str:
    """Why the turn that has just ended was left alone, although a check stood ready."""
    return (
        "it is being handed over" if _is_frozen(agent, now) else "its turn ended with a question, or was held up before"
    )


def put_off(agent: Agent, known: Resonance) -> str:
    """Why a check that is due is not asked yet; empty where a turn's end is all that it waits for."""
    if not isinstance(agent.state, Running):
        return f"it is {agent.state.name.replace('_', ' ')}"
    if agent.parking is not None or agent.outage is not None:
        return "it waits for the end of a limit"
    if known.planting is None or known.ordered or not known.told:
        return "it is to be told its codes first"
    if not (able := armed.can(agent)):
        return able.why_not
    if any(one.answer.purpose == "freeze" for one in agent.armed):
        return "it is being handed over"
    if known.deferred:
        turns = "its last turn" if known.deferred == 1 else f"each of its last {known.deferred} turns"
        return f"{turns} ended with a question, or was held up before"
    return ""


def follow(agent: Agent, now: Moment) -> Decision | None:
    """Have ready what the next turn's end is to bring; None where it is, or nothing is to come."""
    known, state = agent.resonance, agent.state
    if known is None or not isinstance(state, Running) or state.exit_due is not None:
        return None
    if not is_on(agent) or not known.is_asked:
        taken = take_back(Decision(agent))
        return taken if taken.actions else None
    if known.planting is None or known.ordered or going_on(agent) is not None:
        return None
    if known.told and not known.misses and _is_nearly_spent(known.planting):
        return plant(agent, known, "spent", now)
    if known.told and not known.planting.unspent():
        return plant(agent, known, "spent", now)
    return _ready(agent, known, known.planting, now)


def plant(agent: Agent, known: Resonance, why: Why, now: Moment) -> Decision:
    """Order new codes in the middle of a session; the agent is told them at a turn's end."""
    ordered = replace(
        known, ordered=why, planting=None, told=False, proven=False, state="unverifiable", misses=0, deferred=0
    )
    decision = Decision(replace(agent, resonance=ordered))
    if known.challenge is not None:
        decision = armed.disarm(decision, known.challenge.id)
        assert decision.agent is not None
        decision = replace(decision, agent=replace(decision.agent, resonance=replace(ordered, challenge=None)))
    order = PlantCodes(agent.name, agent.incarnation, why)
    return replace(decision, actions=(*decision.actions, order), reason=f"new codes are planted: {REASONS[why]}")


REASONS: dict[Why, str] = {
    "start": "a session begins",
    "restoration": "a session begins in place of the lost one",
    "clear": "its context was emptied",
    "spent": "hardly a code is left that proves anything",
    "degraded": "a compaction dropped the ones before",
    "missing": "its session has none",
}


def _ready(agent: Agent, known: Resonance, planting: Planting, now: Moment) -> Decision | None:
    why = why_due(agent, known)
    if known.told and not why:
        return None
    number = planting.unspent()[0] if known.told else ANCHOR
    spares = known.deferred < MOST_DEFERRED
    if known.challenge is not None and was_given(agent, known.challenge):
        # The shim tells of its use before, or after, the hook that it answered; that one is on its way.
        return None
    if known.challenge is not None and _stands(agent, known.challenge, planting, known.told, spares, now):
        return None
    if not armed.can(agent) or _is_frozen(agent, now):
        return None
    answer = ArmedAnswer(
        now.new_id(agent.name, agent.incarnation, PURPOSE),
        "stop",
        _text(known, planting, number, agent.spec.resonance.footer),
        now.at + ARMED_FOR,
        PURPOSE,
        spares_questions=spares,
    )
    decision = Decision(agent)
    if known.challenge is not None:
        decision = armed.disarm(decision, known.challenge.id)
    assert decision.agent is not None
    if armed.refusal(decision.agent, answer, now):
        return None
    armed_now = armed.arm(replace(decision, reason=""), answer, now)
    assert armed_now.agent is not None
    challenge = Challenge(answer.id, number, agent.incarnation, spares)
    ready = replace(armed_now.agent, resonance=replace(known, challenge=challenge, note=""))
    what = f"code number {number} is asked for ({why})" if number > 0 else f"the marker's code is asked for ({why})"
    said = f"at its next turn's end {what if number != ANCHOR else 'it is told its new codes'}"
    return replace(armed_now, agent=ready, reason=said, weight="detail")


def take_back(decision: Decision) -> Decision:
    """What stands ready is not asked: resonance was switched off, the session is lost, or a handoff owns the run."""
    agent = decision.agent
    known = agent.resonance if agent is not None else None
    if agent is None or known is None or known.challenge is None:
        return decision
    if known.challenge.kept or was_given(agent, known.challenge):
        return decision
    decision = armed.disarm(decision, known.challenge.id)
    assert decision.agent is not None
    return replace(decision, agent=replace(decision.agent, resonance=replace(known, challenge=None)))


def _stands(agent: Agent, challenge: Challenge, planting: Planting, told: bool, spares: bool, now: Moment) -> bool:
    """Whether what stands ready is still what is wanted."""
    one = armed.of(agent, challenge.id)
    if one is None or not one.stands(agent.incarnation, now.at) or (challenge.spares and not spares):
        return False
    return challenge.number == ANCHOR if not told else challenge.number in planting.unspent()


def _text(known: Resonance, planting: Planting, number: int, footer: bool) -> str:
    if number == ANCHOR:
        # A session in place of a lost one may have begun without its first words, and then it lacks the seed as well.
        seed = known.restoration.seed if known.restoration is not None and known.is_restoring else ""
        return renewal_text(planting, known.persona, known.project, footer, seed)
    return challenge_text(number, known.persona, again=known.misses > 0)


def _is_nearly_spent(planting: Planting) -> bool:
    return planting.mode == "one_time" and len(planting.unspent()) < LEAST_CODES


def _is_frozen(agent: Agent, now: Moment) -> bool:
    """Whether the agent is being handed over: one owner of a run at a time."""
    return any(one.answer.purpose == "freeze" for one in armed.standing(agent, now.at))


def asked(
    agent: Agent, known: Resonance, challenge: Challenge, words: str, now: Moment
) -> tuple[Resonance, MarkerNoted]:
    """A turn's end was held up: the code is asked for, and never again."""
    planting = known.planting
    if planting is not None and challenge.number > 0:
        planting = planting.asked(challenge.number)
    held = replace(challenge, kept=True, kept_wall=now.wall, words=words)
    noted = MarkerNoted(agent.incarnation, "asked", number=max(challenge.number, 0), why=why_due(agent, known))
    return replace(known, planting=planting, challenge=held, asked_wall=now.wall), noted
