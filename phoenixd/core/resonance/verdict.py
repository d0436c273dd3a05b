"""What the answer to a check means: the agent still has the front of its context, or may have lost it, or has.

One miss is a whim, and asked again; two are a loss. After a compaction the first one only means that the summary left
the codes out: the agent is told new ones, and only they can be lost (X27, F-RE-11).
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Readings
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, restoring
from phoenixd.core.resonance.state import ANCHOR, Asked, Challenge, Resonance
from phoenixd.planting import Verdict

MOST_DEGRADED = 3
"""Compactions in a row that may cost the codes without a check that succeeds in between."""


def answered(agent: Agent, known: Resonance, challenge: Challenge, answer: str, now: Moment) -> Decision:
    """Judge an answer, and say what follows of it."""
    planting = known.planting
    known = replace(known, challenge=None, turns=0, deferred=0)
    if planting is None or not due.is_on(agent) or not known.is_asked:
        return Decision(replace(agent, resonance=known))
    # What the agent wrote could be copied from there.
    known = replace(known, planting=planting.seen(answer))
    if challenge.number == ANCHOR:
        # It was held up with them, and answered: so they stand in its context.
        told = replace(known, told=True, proven=bool(answer.strip()), due="new codes")
        return Decision(replace(agent, resonance=told), reason="it was told its new codes", weight="detail")
    code, judged = planting.code(challenge.number), planting.judge(challenge.number, answer)
    readings: Readings = (("number", challenge.number), ("answer", judged), ("misses", known.misses))
    if judged == "intact" and (challenge.calls or challenge.shown):
        return replace(_unproven(agent, known, challenge, now), readings=readings)
    if judged == "intact":
        proof = Asked(code, challenge.kept_wall, now.wall)
        return replace(_intact(agent, replace(known, asked=proof), now), readings=readings)
    if not answer.strip():
        return replace(_untold(agent, known, now), readings=readings)
    if challenge.disturbed:
        why = "somebody else's prompt came in between"
        void = replace(known, due=known.due or "again")
        return _noted(agent, void, "unverifiable", f"the check proves nothing: {why}", why, readings)
    if not known.proven:
        return replace(_unseen(agent, known, now), readings=readings)
    if known.compacted and known.degraded < MOST_DEGRADED:
        return replace(_degraded(agent, known, judged, now), readings=readings)
    if challenge.calls and agent.spec.resonance.overflow == "compaction" and not known.is_restoring:
        return replace(_worked_on(agent, known, challenge, now), readings=readings)
    if not known.misses:
        missed = replace(known, state=judged, misses=1, due="again")
        said = f"the answer to a check does not hold the code that was asked for: {judged}; it is asked again"
        return _noted(agent, missed, judged, said, "", readings)
    lost = replace(known, state="lost", misses=known.misses + 1, due="")
    return replace(restoring.lost(agent, lost, f"two checks in a row failed ({judged})", now), readings=readings)


def withdrawn(agent: Agent, known: Resonance, codes: frozenset[str], at: float) -> Decision | None:
    """A code that was answered well had been seen in a tool's call or result while it was asked for: no proof."""
    proof = known.asked
    if proof is None or proof.code not in codes:
        return None
    # The clock may have been set back between the question and its answer.
    began, ended = sorted((proof.asked_wall, proof.judged_wall))
    if not began <= at <= ended:
        return None
    why = "the code stood in a call or its result while it was asked for"
    doubt = replace(known, state="unverifiable", due=known.due or "again", asked=None)
    return _noted(agent, doubt, "unverifiable", f"the newest check proves nothing: {why}", why, ())


def cost(agent: Agent) -> int:
    """What a check took: one request, which holds the whole context. 0: unknown."""
    return agent.meter.tokens or 0


def _intact(agent: Agent, known: Resonance, now: Moment) -> Decision:
    sure = replace(
        known, state="intact", proven=True, last_verified_wall=now.wall, due="", misses=0, compacted=False, degraded=0,
        note="",
    )  # fmt: skip
    decision = _noted(agent, sure, "intact", "it still has the front of its context: the code was right", "", ())
    return replace(decision, weight="detail")


def _unproven(agent: Agent, known: Resonance, challenge: Challenge, now: Moment) -> Decision:
    tools = ", ".join(dict.fromkeys(challenge.calls))
    why = f"it called {tools} before it answered" if tools else "the code was seen elsewhere meanwhile"
    doubt = replace(known, state="unverifiable", due="again", note=why)
    noted = _noted(agent, doubt, "unverifiable", f"the code was right, and proves nothing: {why}", why, ())
    return replace(noted, actions=(Alert(agent.name, restoring.CHECKS, f"a check proves nothing: {why}"),))


def _untold(agent: Agent, known: Resonance, now: Moment) -> Decision:
    """Nothing of the answer was told: a hook program that is given no words, or a CLI that has another name for them.

    It is asked after the interval: what nobody heard is neither a miss nor a proof.
    """
    why = "its CLI told no words of the answer"
    doubt = replace(known, state="unverifiable", due="", note=why)
    noted = _noted(agent, doubt, "unverifiable", f"the check proves nothing: {why}", why, ())
    return replace(noted, actions=(Alert(agent.name, restoring.CHECKS, f"a check proves nothing: {why}"),))


def _unseen(agent: Agent, known: Resonance, now: Moment) -> Decision:
    """Nothing shows that its session ever had the codes: a hook that printed too late, a CLI that dropped what it said.

    Not to know what one was never told is no loss. It is told them at a turn's end, which shows, and is asked then.
    """
    why = "nothing shows that its session was given its codes"
    doubt = replace(known, state="unverifiable", told=False, due="", misses=0, note=why)
    said = f"the check proves nothing: {why}; it is told them at a turn's end"
    return _noted(agent, doubt, "unverifiable", said, why, ())


def _worked_on(agent: Agent, known: Resonance, challenge: Challenge, now: Moment) -> Decision:
    """It was at work where it was to recite: another hook may have held up the same turn's end, and told it to go on.

    Where nothing drops the front in silence, that is likelier than a loss. It is told, and asked after the interval.
    """
    tools = ", ".join(dict.fromkeys(challenge.calls))
    why = f"it called {tools} and gave no code; another hook may hold up its turn's end as well"
    doubt = replace(known, state="unverifiable", due="", note=why)
    noted = _noted(agent, doubt, "unverifiable", f"the check proves nothing: {why}", why, ())
    return replace(noted, actions=(Alert(agent.name, restoring.CHECKS, f"a check proves nothing: {why}"),))


def _degraded(agent: Agent, known: Resonance, judged: Verdict, now: Moment) -> Decision:
    said = f"a compaction dropped the codes ({judged}): it is told new ones"
    fewer = replace(known, state=judged, misses=0, compacted=False, degraded=known.degraded + 1, due="")
    planted = due.plant(agent, fewer, "degraded", now)
    assert planted.agent is not None
    noted = MarkerNoted(agent.incarnation, "checked", verdict=judged, why="degraded", tokens=cost(agent))
    return replace(planted, reason=said, facts=(*planted.facts, noted))


def _noted(agent: Agent, known: Resonance, verdict: Verdict, said: str, why: str, readings: Readings) -> Decision:
    fact = MarkerNoted(agent.incarnation, "checked", verdict=verdict, why=why, tokens=cost(agent))
    return Decision(replace(agent, resonance=known), reason=said, readings=readings, facts=(fact,))
