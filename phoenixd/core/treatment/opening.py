"""A failure opens a Case, or joins the one that it belongs to: the same failure of the same scope within an hour."""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.agent import Agent
from phoenixd.core.moment import Moment
from phoenixd.core.treatment import outcome
from phoenixd.core.treatment.case import (
    JOINS_WITHIN,
    MOST_AGENTS,
    MOST_CASES,
    MOST_TREATED,
    By,
    Case,
    Cases,
    Kept,
    Noticed,
    Patient,
    Treated,
)
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.triage import Diagnosis, diagnose
from phoenixd.core.treatment.words import Outcome, Treatment

SHARED = frozenset({"limit", "overload"})
"""Details of failures that all agents of an account have in common: they are one Case."""


@dataclass(frozen=True, slots=True)
class Book:
    """The Cases while one event is being taken in, and what of it goes into the journal's tables."""

    cases: Cases
    kept: tuple[Kept, ...] = ()

    def noting(self, case: Case, *, noticed: tuple[Noticed, ...] = (), treated: tuple[Treated, ...] = ()) -> Book:
        """With a newer state of a Case."""
        return Book(self.cases.with_case(case), (*self.kept, Kept(case, noticed, treated)))


def notice(book: Book, agent: Agent, incarnation: int, evidence: Evidence, now: Moment) -> Book:
    """Take a failure in: what was done against the same before has failed, and the agent is a patient now."""
    diagnosis = diagnose(evidence)
    scope = _scope(agent, diagnosis)
    found = Noticed("", agent.name, incarnation, evidence.occasion, now.wall, evidence, diagnosis)
    book = _moot_others(_fewer(book, now), agent.name, scope, diagnosis.key, now)
    known = next((one for one in book.cases.cases if (one.scope, one.key) == (scope, diagnosis.key)), None)
    if known is not None and now.wall - known.newest < JOINS_WITHIN:
        book, case = _joined(book, known, found, now, goes_on=_goes_on(book, known, found))
    else:
        book, case = _opened(book, agent, scope, diagnosis, found, now)
    patient = Patient(agent.name, incarnation, case.id, now.wall)
    if evidence.failure:
        patient = replace(
            patient, failure=evidence.failure, word=evidence.word, reset=evidence.reset, said=evidence.said
        )
    return replace(book, cases=book.cases.with_patient(patient))


def treat(book: Book, patient: Patient, treatment: Treatment, by: By, run: int, now: Moment) -> Book:
    """Note what is done about a patient's failure. run: the incarnation that shows what comes of it."""
    case = book.cases.find(patient.case)
    if case is None:
        return book
    number = case.treatments + 1
    one = Treated(number, patient.agent, patient.incarnation, treatment, by, patient.failed_at, now.wall, run)
    kept = (*case.treated, one)
    if len(kept) > MOST_TREATED:
        spare = next((old for old in kept if not old.is_open), kept[0])
        kept = tuple(old for old in kept if old is not spare)
    after = replace(case, treated=kept, treatments=number, closed=None, outcome="open")
    return book.noting(after, treated=(one,))


def changed(book: Book, case: Case, one: Treated, now: Moment) -> Book:
    """Take a newer state of a treatment in; a Case whose treatments are all decided is closed with the newest one's."""
    known = book.cases.find(case.id)
    if known is None or one in known.treated:
        return book
    after = known.with_treated(one)
    waits = any(patient.case == case.id for patient in book.cases.patients)
    if not waits and not any(treated.is_open for treated in after.treated):
        after = replace(after, closed=now.wall, outcome=after.treated[-1].outcome)
    return book.noting(after, treated=(one,))


def decide_all(book: Book, agent: str, what: Outcome, why: str, now: Moment) -> Book:
    """All treatments of an agent that are open come to this."""
    for case, one in book.cases.open_of(agent):
        book = changed(book, case, outcome.decided(one, what, why, now), now)
    return book


def _scope(agent: Agent, diagnosis: Diagnosis) -> str:
    if diagnosis.detail in SHARED:
        if agent.outage is not None:
            return agent.outage.group
        if agent.spec.account:
            return f"account {agent.spec.account}"
    return f"agent {agent.name}"


def _goes_on(book: Book, known: Case, found: Noticed) -> bool:
    """Whether the run has ended by what its turn had failed for: that is told already, and nothing has come back."""
    patient = book.cases.patient(found.agent)
    is_same = patient is not None and (patient.case, patient.incarnation) == (known.id, found.incarnation)
    return is_same and found.occasion not in ("failed_turn", "cut_answer")


def _joined(book: Book, known: Case, found: Noticed, now: Moment, *, goes_on: bool) -> tuple[Book, Case]:
    agent = found.agent
    for one in known.treated:
        if one.agent == agent and one.is_open and not goes_on:
            failed = outcome.decided(one, "failed", f"the cause came back: {known.rule}", now)
            book = changed(book, known, failed, now)
    current = book.cases.find(known.id) or known
    agents = current.agents if agent in current.agents else (*current.agents, agent)[-MOST_AGENTS:]
    case = replace(
        current,
        newest=now.wall,
        incidents=current.incidents + (not goes_on),
        agents=agents,
        closed=None,
        outcome="open",
    )
    return book.noting(case, noticed=(replace(found, case=case.id),)), case


def _opened(
    book: Book, agent: Agent, scope: str, diagnosis: Diagnosis, found: Noticed, now: Moment
) -> tuple[Book, Case]:
    case = Case(
        f"c{book.cases.next}", scope, diagnosis.key, diagnosis.cause, diagnosis.detail, diagnosis.rule,
        diagnosis.confidence, agent.spec.harness, now.wall, now.wall, (agent.name,),
    )  # fmt: skip
    numbered = replace(book, cases=replace(book.cases, next=book.cases.next + 1))
    return numbered.noting(case, noticed=(replace(found, case=case.id),)), case


def _moot_others(book: Book, agent: str, scope: str, key: str, now: Moment) -> Book:
    """What was done against another cause can no longer be judged."""
    for case, one in book.cases.open_of(agent):
        if (case.scope, case.key) != (scope, key):
            book = changed(book, case, outcome.decided(one, "moot", f"another cause came: {key}", now), now)
    return book


def _fewer(book: Book, now: Moment) -> Book:
    """Without the Cases that nothing can join any more; the journal keeps them."""
    waits = {patient.case for patient in book.cases.patients}
    kept = tuple(
        one for one in book.cases.cases
        if one.closed is None or one.id in waits or now.wall - one.newest < JOINS_WITHIN
    )  # fmt: skip
    kept = kept[-MOST_CASES:]
    return book if len(kept) == len(book.cases.cases) else replace(book, cases=replace(book.cases, cases=kept))
