"""Which treatment the clinic adds to what other rules do, and whose the run is. Pure judgements; nothing is ordered.

The clinic starts no run and ends none: restart rules, limits and cut answers go first, and it looks what they have
decided. It adds what is missing: a fresh session where the old one has failed, facts in the brief, a person.
"""

from __future__ import annotations

from typing import Literal

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.cut import CUT
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff import triggers
from phoenixd.core.moment import Instant
from phoenixd.core.resonance import restoring
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import FAILED_TURN, TOO_LONG
from phoenixd.core.treatment.authority import AGENT_PERIOD, FLEET_PERIOD, Caps
from phoenixd.core.treatment.case import Case, Cases, Noticed
from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.core.treatment.words import Treatment

ASKS = frozenset({FAILED_TURN, "login", "billing", CUT, TOO_LONG})
"""Items by which a person is asked about a failure."""
SURE = 0.75
"""The confidence from which on more is done on a diagnosis than to tell the next run the facts."""

Owner = Literal["", "operator", "limits", "handoff", "restoration", "treatment"]


def owner(fleet: Fleet, agent: Agent, noticed: Noticed | None) -> tuple[Owner, str]:
    """Who has the run in hand, in the order of design section 8, and why; nobody: the clinic may treat."""
    state = agent.state
    if agent.removing or agent.found is not None or agent.desired is Desired.STOPPED:
        return "operator", "it is to be down" if agent.found is None else "an operator has to confirm what was found"
    if isinstance(state, BackingOff) and state.unattended is not None:
        return "operator", "it is being asked whether a person ended it"
    if any(item.kind in ASKS for item in agent.items):
        return "operator", "a person has been asked about this run"
    if agent.parking is not None or isinstance(state, Parked) or agent.outage is not None:
        return "limits", "a limit or an outage is waited out"
    seat = fleet.seats.get(agent.spec.seat) if agent.spec.seat else None
    if seat is not None and seat.handoff is not None and not seat.handoff.is_over:
        return "handoff", f"handoff {seat.handoff.id} is under way"
    if restoring.is_under_way(agent) or (noticed and noticed.occasion == "lost_marker"):
        return "restoration", "what it lost of its context is restored, or is not to be"
    return "", ""


def rival(cases: Cases, noticed: Noticed) -> Case | None:
    """The older Case that treats this very run already: of two, the older one owns it."""
    for case in cases.cases:
        if case.id != noticed.case and case.closed is None and any(
            (one.agent, one.incarnation, one.by, one.is_open) == (noticed.agent, noticed.incarnation, "clinic", True)
            for one in case.treated
        ):  # fmt: skip
            return case
    return None


def ladder(diagnosis: Diagnosis) -> tuple[Treatment, ...]:
    """What helps, the mildest first: by the rule's own row, with facts for the next run before a person is asked."""
    steps = diagnosis.treatments
    place = next((number for number, one in enumerate(steps) if one in ("ask", "abort")), len(steps))
    if "advise" in steps or place == 0:
        return steps
    return (*steps[:place], "advise", *steps[place:])


def tried(cases: Cases, case: Case, agent: str) -> frozenset[Treatment]:
    """What this Case has seen of the agent: what failed or goes on, and all that the clinic ordered or proposed."""
    done = {one.treatment for one in case.treated if one.agent == agent and one.outcome in ("failed", "open")}
    ours = {one.treatment for one in cases.prescribed if (one.case, one.agent) == (case.id, agent)}
    return frozenset(done | ours)


def has_come_back(case: Case, agent: str) -> bool:
    """Whether the cause came back although something was done about it."""
    return any(one.agent == agent and one.outcome == "failed" for one in case.treated)


def choose(
    fleet: Fleet, agent: Agent, diagnosis: Diagnosis, had: frozenset[Treatment], *, came_back: bool
) -> Treatment | None:
    """The mildest treatment that the Case has not had and that nobody else gives; None where nothing is missing."""
    given = given_by_others(agent)
    for one in ladder(diagnosis):
        if one in had or (one == "fresh" and "summarise" in had):
            continue
        if one == given or (one == "summarise" and given == "fresh"):
            # A fresh session is begun with the brief, which is the summary.
            return None
        if one == "handoff" and not _is_a_persons(fleet, agent):
            # The seat begins the next one by itself.
            return None
        if is_possible(agent, one, diagnosis, came_back=came_back):
            return one
    return None


def given_by_others(agent: Agent) -> Treatment | None:
    """What restart rules, limits, cut answers or the inbox do about it, as the agent stands after them."""
    if agent.parking is not None:
        return "park"
    if any(item.kind in ASKS for item in agent.items):
        return "ask"
    match agent.state:
        case BackingOff(mode=mode):
            return "fresh" if mode is Mode.FRESH else "resume"
        case Parked():
            return "park"
        case Quarantined():
            return "abort"
        case Stopping(spoiled=True):
            return "fresh"
        case Running() if agent.cut is not None and agent.cut.message_id and not agent.cut.taken:
            return "go_on"
        case Starting() | Running() | Stopping() | Stopped():
            return None


def is_possible(agent: Agent, treatment: Treatment, diagnosis: Diagnosis, *, came_back: bool) -> bool:
    """Whether the clinic can do this now: between two runs, but for a handoff. came_back: although it was treated.

    It waits out no limit, types nothing, and takes up no old session.
    """
    waits = isinstance(agent.state, BackingOff)
    match treatment:
        case "fresh" | "summarise":
            may_resume = isinstance(agent.state, BackingOff) and agent.state.mode is Mode.RESUME
            return may_resume and is_lasting(diagnosis)
        case "advise":
            return waits and agent.spec.kind is not Kind.EPHEMERAL
        case "ask" | "abort":
            # Once alone the restart rules judge it; what comes back although it was treated is another matter.
            return waits and came_back and is_lasting(diagnosis)
        case "handoff":
            return bool(agent.spec.seat) and isinstance(agent.state, Running) and not agent.is_restoring
        case "resume" | "park" | "go_on" | "lower_output" | "restore":
            return False


def is_lasting(diagnosis: Diagnosis) -> bool:
    """Whether a further run will fail alike, as far as is known.

    Of what passes, and of what nobody knows, the restart rules are the judge: when a session is given up, and when an
    agent is.
    """
    return diagnosis.cause not in (None, "transient_error") and diagnosis.confidence >= SURE


def over_a_cap(cases: Cases, case: str, agent: str, clinic: Caps, at: Instant) -> str:
    """Which cap forbids one more treatment, in words; empty where none does."""
    of_case = sum(one.case == case for one in cases.prescribed)
    if of_case >= clinic.per_case:
        return f"the clinic has ordered {of_case} treatments in this Case (clinic.per_case)"
    of_agent = sum(one.agent == agent and at - one.since < AGENT_PERIOD for one in cases.prescribed)
    if of_agent >= clinic.per_agent:
        return f"the clinic has ordered {of_agent} treatments of this agent in 6 h (clinic.per_agent)"
    of_fleet = sum(at - one.since < FLEET_PERIOD for one in cases.prescribed)
    if of_fleet >= clinic.per_fleet:
        return f"the clinic has ordered {of_fleet} treatments in an hour (clinic.per_fleet)"
    return ""


def _is_a_persons(fleet: Fleet, agent: Agent) -> bool:
    """Whether no further handoff begins unless a person asks for it, for those before came to nothing."""
    seat = fleet.seats.get(agent.spec.seat)
    return seat is not None and not triggers.may_begin(seat.handoff)
