"""The clinic treats: after the rules that restart, park and ask, and before the starts that are due are ordered.

It sees the same failures as the casebook, which stands last in the row and notes what is ordered here. A treatment that
is left out is told with the reason.
"""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Refusal
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.orders import HandoffRequested
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.facts import ProposalAnswered, RunProductive, Treating, TreatmentDropped
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import asking
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.moment import Moment
from phoenixd.core.question.call import PROPOSAL
from phoenixd.core.transitions import close_items
from phoenixd.core.treatment import advice, casebook, choosing, effects, proposals
from phoenixd.core.treatment.case import Case, Cases, Noticed
from phoenixd.core.treatment.effects import CASE
from phoenixd.core.treatment.words import Treatment


def act(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Treat what has just failed, do what a person has allowed, and close what is over."""
    found = _tidy(found, event, now)
    for decision in found.decisions:
        for fact in decision.facts:
            if isinstance(fact, ProposalAnswered) and fact.allowed and decision.agent is not None:
                found = _carry_out(before, found, decision.agent.name, fact, now)
    if not _may_tell_of_a_failure(before, found, event):
        return found
    book = casebook.read(before, found, event, now)
    for one in (noticed for kept in book.kept for noticed in kept.noticed):
        found = _treat(found, book.cases, one, now)
    return found


def _may_tell_of_a_failure(before: Fleet, found: Step, event: Event) -> bool:
    """Most events do not, and cost nothing here."""
    if isinstance(event, TurnFailed | StartFailed | AttendanceSeen) or found.fleet.seats is not before.seats:
        return True
    return any(decision.facts for decision in found.decisions)


def _treat(found: Step, cases: Cases, noticed: Noticed, now: Moment) -> Step:
    agent, case = found.fleet.agents.get(noticed.agent), cases.find(noticed.case)
    if agent is None or case is None or agent.incarnation != noticed.incarnation:
        return found
    if (older := _treated_now(found, noticed)) is not None:
        why = f"Case {case.id}, {case.detail}: nothing is ordered: Case {older}, which is older, treats this run"
        return put(found, Decision(agent, reason=why, weight="detail"), now)
    # What was asked about an earlier failure is over: this one is judged anew.
    asked = _asks(agent)
    agent = close_items(agent, PROPOSAL, CASE) if asked else agent
    had, again = choosing.tried(cases, case, agent.name), choosing.has_come_back(case, agent.name)
    treatment = choosing.choose(found.fleet, agent, noticed.diagnosis, had, came_back=again)
    if treatment is None:
        if not asked:
            return found
        told = f"Case {case.id}, {case.detail}: what was proposed for an earlier failure is over"
        return put(found, Decision(agent, reason=told, weight="detail"), now)
    return prescribe(found, agent, cases, case, noticed, treatment, now)


def prescribe(
    found: Step, agent: Agent, cases: Cases, case: Case, noticed: Noticed, treatment: Treatment, now: Moment
) -> Step:
    """Order one treatment, or propose it: within owner, caps and authority, and with the reason where it is dropped."""
    prescribed = f"Case {case.id}, {case.detail}: {treatment}"
    if why_not := _why_not(found.fleet, agent, cases, noticed, now):
        return put(found, Decision(agent, reason=f"{prescribed} is dropped: {why_not}", weight="detail"), now)
    authority = agent.spec.clinic.authority.over(treatment)
    if authority == "observe":
        told = f"{prescribed} is not ordered: its authority is observe"
        return put(found, Decision(agent, reason=told, weight="detail"), now)
    if authority == "propose" and treatment != "ask":
        return put(found, proposals.propose(agent, case, noticed, treatment, now), now)
    fact = Treating(noticed.incarnation, case.id, treatment)
    return put(found, effects.order(agent, case, treatment, advice.of(case, noticed), fact, now), now)


def _why_not(fleet: Fleet, agent: Agent, cases: Cases, noticed: Noticed, now: Moment) -> str:
    whose, why = choosing.owner(fleet, agent, noticed)
    if whose:
        return f"its owner is {whose}: {why}"
    if (older := choosing.rival(cases, noticed)) is not None:
        return f"Case {older.id}, which is older, treats this run"
    return choosing.over_a_cap(cases, noticed.case, agent.name, fleet.clinic, now.at)


def _treated_now(found: Step, noticed: Noticed) -> str | None:
    """The Case by which this run has just been treated, where one event tells of several failures."""
    return next(
        (
            fact.case for decision in found.decisions if decision.agent is not None for fact in decision.facts
            if isinstance(fact, Treating) and fact.incarnation == noticed.incarnation and fact.case != noticed.case
            and decision.agent.name == noticed.agent
        ),
        None,
    )  # fmt: skip


def _carry_out(before: Fleet, found: Step, name: str, fact: ProposalAnswered, now: Moment) -> Step:
    """Do what a person has allowed, if its Case goes on and nobody else has the run."""
    agent, case = found.fleet.agents.get(name), found.fleet.cases.find(fact.case)
    if agent is None:
        return found
    if case is None or case.closed is not None:
        return _dropped(found, agent, fact, f"Case {fact.case} is closed", now)
    whose, why = choosing.owner(found.fleet, agent, None)
    if whose not in ("", "limits"):
        return _dropped(found, agent, fact, f"its owner is {whose}: {why}", now)
    done = Treating(fact.incarnation, case.id, fact.treatment, allowed=True)
    if fact.treatment != "handoff":
        told_facts = advice.again(case, agent.name, fact.incarnation)
        return put(found, effects.order(agent, case, fact.treatment, told_facts, done, now), now)
    wanted = HandoffRequested(agent.spec.seat or name, fact.by, f"Case {case.id}")
    begun = asking.request(before, found, wanted, now)
    if begun.refusal is not None:
        return _dropped(found, agent, fact, begun.refusal.message, now)
    noted = begun.fleet.agents[name]
    return put(begun, Decision(noted, reason=f"Case {case.id}, {case.detail}: handoff", facts=(done,)), now)


def _dropped(found: Step, agent: Agent, fact: ProposalAnswered, why: str, now: Moment) -> Step:
    """What was allowed is not done: the operator who answered is told why, and the Case keeps it."""
    told = f"Case {fact.case}: {fact.treatment}, which {fact.by} allowed, is dropped: {why}"
    noted = TreatmentDropped(fact.incarnation, fact.case, fact.treatment, fact.by, why)
    kept = put(found, Decision(agent, reason=told, facts=(noted,), weight="story"), now)
    return replace(kept, refusal=Refusal("conflict", told, f"phoenixctl explain {agent.name}"))


def _asks(agent: Agent) -> bool:
    return any(item.kind in (PROPOSAL, CASE) for item in agent.items)


def _tidy(found: Step, event: Event, now: Moment) -> Step:
    """Close what asks about a failure that is over, and forget the facts of a failure whose outcome is known."""
    name = getattr(event, "agent", None)
    agent = found.fleet.agents.get(name) if isinstance(name, str) else None
    run = getattr(event, "incarnation", None)
    if agent is None or (run is not None and found.fleet.roster.living(agent.name, run) is None):
        # The words of a run that is over change nothing.
        return found
    if agent.advice is None and not _asks(agent):
        return found
    after, why = agent, ""
    if _asks(agent) and (over := _is_over(found, agent)):
        after, why = close_items(agent, PROPOSAL, CASE), f"what was asked about its failure is over: {over}"
    if agent.advice is not None and not _is_told_on(found.fleet.cases, agent):
        after = replace(after, advice=None)
    return put(found, Decision(after, reason=why), now) if after is not agent else found


def _is_over(found: Step, agent: Agent) -> str:
    asked = [item.incarnation for item in agent.items if item.kind in (PROPOSAL, CASE)]
    # What the failed run did to the work may be known only now.
    if any(
        isinstance(fact, RunProductive) and fact.incarnation > max(asked)
        for decision in found.decisions if decision.agent is not None and decision.agent.name == agent.name
        for fact in decision.facts
    ):  # fmt: skip
        return "a later run was productive"
    return "" if all(one <= agent.incarnation <= one + 1 for one in asked) else "a later run has begun"


def _is_told_on(cases: Cases, agent: Agent) -> bool:
    """Whether the facts of its last failure are told to its runs: until that treatment's outcome is known."""
    assert agent.advice is not None
    case: Case | None = cases.find(agent.advice.case)
    return case is not None and any(
        one.agent == agent.name and one.treatment == "advise" and one.is_open for one in case.treated
    )
