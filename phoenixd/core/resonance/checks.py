"""What hooks tell of checks: parts of the table. Each notes what happened; `moves.follow` does what comes of it."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.hooks import (
    Compacted,
    Hook,
    PromptSubmitted,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnKept,
)
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import due, noting, verdict
from phoenixd.core.resonance.exchange import going_on, was_given
from phoenixd.core.resonance.state import Challenge, Resonance

MOST_CALLS = 8


def hear(agent: Agent, event: Hook, seen: Seen, now: Moment) -> Decision:
    """Note what a hook of the main thread says of checks, of the context, and of codes in what was said."""
    known, decision = agent.resonance, seen.decision
    if known is None or event.sub or not seen.is_news or not isinstance(agent.state, Starting | Running):
        return decision
    match event:
        case TurnKept():
            return _kept(agent, _burnt(known, event.text), event, seen, now)
        case TurnEnded():
            return _ended(agent, known, event, seen, now)
        case TurnFailed():
            failed = replace(known, challenge=_unkept(agent, known), turns=known.turns + 1, due=known.due or "error")
            return noting.noted(decision, agent, failed)
        case PromptSubmitted():
            return noting.noted(decision, agent, _prompted(agent, known, event))
        case Compacted():
            return noting.noted(decision, agent, replace(known, compacted=True, due=known.due or "compaction"))
        case SessionStarted(beginning="startup" | "clear" | "other") if not due.is_on(agent):
            return noting.noted(decision, agent, _without_codes(known))
        case SessionStarted(beginning="startup" | "other", unheard=True) if _is_untold(agent, known):
            told = noting.noted(decision, agent, replace(known, told=False, misses=0))
            return replace(
                told, reason=one_reason(told.reason, "it began unheard: it is told its codes at a turn's end")
            )
        case SessionStarted(beginning="clear") if known.planting is not None:
            emptied = replace(known, compacted=False, degraded=0, due="")
            return noting.joined(decision, due.plant(replace(agent, resonance=emptied), emptied, "clear", now))
        case _:
            return decision


def hear_call(agent: Agent, event: ToolStarted, seen: Seen, now: Moment) -> Decision:
    """A tool that is called in a check is noted: what comes after it may have been read somewhere."""
    challenge, known = going_on(agent), agent.resonance
    if challenge is None or known is None or event.sub or not seen.is_news or len(challenge.calls) >= MOST_CALLS:
        return seen.decision
    tool = " ".join((event.tool or "a tool").split())[: noting.MOST_WORD]
    called = replace(challenge, calls=(*challenge.calls, tool))
    noted = noting.noted(seen.decision, agent, replace(known, challenge=called))
    return replace(noted, reason=one_reason(noted.reason, f"it called {tool} in a check, where it was to use no tool"))


def _is_untold(agent: Agent, known: Resonance) -> bool:
    """Whether a session that began while no daemon lived may know no code: nobody may have written its first words.

    Its codes are then told at a turn's end. To ask for what nobody told would find a loss where there is none.
    """
    is_fresh = agent.run is not None and agent.run.mode is not Mode.RESUME
    return is_fresh and known.planting is not None and known.told and known.state != "intact"


def _without_codes(known: Resonance) -> Resonance:
    """While resonance is off a session that begins is told no codes: it gets some at a turn's end, once it is on."""
    return replace(
        known, planting=None, ordered=None, told=False, proven=False, state="not_applicable", turns=0, due="",
        misses=0, compacted=False, degraded=0,
    )  # fmt: skip


def _kept(agent: Agent, known: Resonance, event: TurnKept, seen: Seen, now: Moment) -> Decision:
    challenge = known.challenge
    one = armed.of(agent, challenge.id) if challenge is not None else None
    if challenge is None or one is None or challenge.kept or challenge.incarnation != agent.incarnation:
        return noting.noted(seen.decision, agent, known)
    if one.over and not one.uses:
        return noting.noted(seen.decision, agent, known)
    held, noted = due.asked(agent, known, challenge, event.text, now)
    decision = noting.noted(seen.decision, agent, held)
    return replace(decision, facts=(*decision.facts, noted), weight=decision.weight or "detail")


def _ended(agent: Agent, known: Resonance, event: TurnEnded, seen: Seen, now: Moment) -> Decision:
    known = _dated(_burnt(known, event.text), now)
    challenge = known.challenge
    if challenge is not None and challenge.kept and event.check is not None:
        told = verdict.answered(replace(agent, resonance=known), known, challenge, event.check, now)
        return noting.joined(seen.decision, told)
    known = replace(known, challenge=_unkept(agent, known), turns=known.turns + 1)
    decision = noting.noted(seen.decision, agent, known)
    why = due.why_due(agent, replace(known, turns=known.turns - 1))
    if not why or not due.is_on(agent) or known.lost:
        return decision
    if known.planting is None and not known.ordered:
        return noting.joined(decision, due.plant(replace(agent, resonance=known), known, "missing", now))
    if not (able := armed.can(agent)):
        if known.note == able.why_not:
            return decision
        noted = replace(known, note=able.why_not, state="unverifiable")
        decision = noting.noted(decision, agent, noted)
        return replace(decision, reason=one_reason(decision.reason, f"it cannot be checked: {able.why_not}"))
    if challenge is None or not armed.standing(agent, now.at):
        return decision
    left = replace(known, deferred=known.deferred + 1)
    spared = due.spared(agent, now)
    said = f"the check ({why}) is put off to another turn's end, {left.deferred} of {due.MOST_DEFERRED}: {spared}"
    decision = noting.noted(decision, agent, left)
    return replace(decision, reason=one_reason(decision.reason, said))


def _prompted(agent: Agent, known: Resonance, event: PromptSubmitted) -> Resonance:
    challenge = going_on(agent)
    if challenge is None:
        return _burnt(known, event.text)
    if armed.are_ours(agent, event.text):
        return known
    return replace(_burnt(known, event.text), challenge=replace(challenge, disturbed=True))


def _unkept(agent: Agent, known: Resonance) -> Challenge | None:
    """An exchange that came to no answer is over; what stands ready stays, where another answer held the turn up."""
    challenge = known.challenge
    if challenge is None or was_given(agent, challenge):
        return None
    return replace(challenge, kept=False) if challenge.kept else challenge


def _burnt(known: Resonance, text: str) -> Resonance:
    """What was said can be copied from there."""
    if known.planting is None or (seen := known.planting.seen(text)) is known.planting:
        return known
    return replace(known, planting=seen)


def _dated(known: Resonance, now: Moment) -> Resonance:
    """A clock that was set back: nothing was verified in the future."""
    if known.last_verified_wall is None or known.last_verified_wall <= now.wall:
        return known
    return replace(known, last_verified_wall=now.wall)
