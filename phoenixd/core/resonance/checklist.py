"""What a conductor has to see to, as the seed lists it: what of an agent's marker is done, and what is due. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.core.resonance import due
from phoenixd.core.resonance.state import STEPS, Resonance, Step

LAST_OF_THE_OLD = STEPS.index(Step.SESSION) + 1
"""The step of a restoration until which what is known of the codes is about the session that was lost."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to see to. well: None where nothing can be said yet."""

    name: str
    well: bool | None
    what: str


def checks(agent: Agent) -> tuple[Check, ...]:
    """The whole list; one sentence where there is no marker."""
    known = agent.resonance
    if known is None:
        return (Check("marker", None, "none was given: its session began without one"),)
    return (_marker(known), _codes(agent, known), _check(agent, known), _footer(known), _restoration(known))


def _marker(known: Resonance) -> Check:
    if known.planting is None:
        return Check("marker", False if known.note else None, known.note or "codes are being planted")
    if known.lost or (known.is_restoring and known.step <= LAST_OF_THE_OLD):
        return Check("marker", False, "the session has lost it")
    given = (
        "it stands in the session's context" if known.proven else "the session was given it, and nothing shows it yet"
    )
    where = given if known.told else "the agent is told it at its turn's end"
    return Check("marker", True, where)


def _codes(agent: Agent, known: Resonance) -> Check:
    if known.planting is None:
        return Check("codes", None, "none")
    left, rules = len(known.planting.unspent()), agent.spec.resonance
    if rules.mode == "classic":
        return Check("codes", True, "the marker's own code is asked for each time: an echo of it passes")
    return Check("codes", left > 1, f"{left} of {len(known.planting.codes)} were neither asked for nor seen")


def _check(agent: Agent, known: Resonance) -> Check:
    if known.note:
        return Check("check", None, f"it cannot be checked: {known.note}")
    left = max(0, agent.spec.resonance.interval_turns - known.turns)
    waits = due.put_off(agent, known) if known.due or known.turns >= agent.spec.resonance.interval_turns else ""
    why = f"; put off, for {waits}" if waits else ""
    if known.due:
        return Check("check", None, f"due at its next turn's end: {known.due}{why}")
    what = f"due in {left} turns{why}"
    if known.misses:
        return Check("check", False, f"{known.misses} missed in a row; {what}")
    return Check("check", True if known.last_verified_wall is not None else None, what)


def _footer(known: Resonance) -> Check:
    role, state = known.footer
    if not state:
        return Check("footer", None, "none was seen")
    is_other = bool(known.persona) and role != known.persona
    told = f"role {role}, state {state}" + (f", and it is {known.persona}" if is_other else "")
    return Check("footer", state == "Stable" and not is_other, told)


def _restoration(known: Resonance) -> Check:
    if known.lost:
        return Check("restoration", False, f"it waits for a person: {known.lost}")
    going = known.restoration
    if going is None:
        return Check("restoration", True, "none was needed")
    if going.is_over:
        return Check("restoration", True, f"the newest one came to its end: {going.step.value}")
    return Check("restoration", False, f"step {known.step} of {len(STEPS)}, {going.step.value}: {going.why}")
