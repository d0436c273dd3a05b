"""A failure opens a Case, or joins the one that it belongs to: the same failure of the same scope within an hour."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.core.change import replace
from phoenixd.core.facts import TreatmentDropped
from phoenixd.core.moment import Moment
from phoenixd.core.treatment import outcome
from phoenixd.core.treatment.case import (
    JOINS_WITHIN,
    MOST_AGENTS,
    MOST_CASES,
    MOST_OPEN,
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

ENDS = frozenset({"crash", "overtime"})
"""How a run is over that was ended by no rule for its turn."""
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
    book = _fewer(book, now)
    told = _told_already(book, found)
    if told is not None and told.key != diagnosis.key:
        book, told = _explained(book, told, agent, diagnosis, now)
    book = _judged(book, agent.name, diagnosis.key, now, came_back=told is None)
    known = told or _newest(book, scope, diagnosis.key, now)
    if known is not None:
        book, case = _joined(book, known, found, now, goes_on=told is not None)
    else:
        book, case = _opened(book, agent, scope, diagnosis, found, now)
    patient = Patient(agent.name, incarnation, case.id, now.wall, number=case.incidents)
    if evidence.failure:
        patient = replace(
            patient, failure=evidence.failure, word=evidence.word, named=evidence.named, reset=evidence.reset,
            said=evidence.said, status=evidence.status, disks=evidence.disks,
        )  # fmt: skip
    return replace(book, cases=book.cases.with_patient(patient))


def complete(book: Book, agent: Agent, patient: Patient, evidence: Evidence, now: Moment) -> Book:
    """More is known of a patient's failure: its Case claims what follows from all that.

    Where that is another cause, and the Case has other failures, or one of that cause is there, it belongs to that.
    """
    case, diagnosis = book.cases.find(patient.case), diagnose(evidence)
    if case is None:
        return notice(book, agent, patient.incarnation, evidence, now)
    is_other = case.key != diagnosis.key
    if is_other and (case.incidents > 1 or _newest(book, _scope(agent, diagnosis), diagnosis.key, now) is not None):
        return notice(book, agent, patient.incarnation, evidence, now)
    more = Noticed(
        case.id, agent.name, patient.incarnation, evidence.occasion, patient.failed_at, evidence, diagnosis,
        patient.number, is_more=True, is_corrected=is_other,
    )  # fmt: skip
    told: tuple[Treated, ...] = ()
    if is_other:
        case, told = _claiming(case, agent, diagnosis), case.treated
    book = book.noting(case, noticed=(more,), treated=told)
    known = replace(patient, failure=evidence.failure, named=evidence.named, status=evidence.status)
    return replace(book, cases=book.cases.with_patient(known))


def _claiming(case: Case, agent: Agent, diagnosis: Diagnosis) -> Case:
    """The Case of one failure, by another diagnosis."""
    return replace(
        case, scope=_scope(agent, diagnosis), key=diagnosis.key, cause=diagnosis.cause, detail=diagnosis.detail,
        rule=diagnosis.rule, confidence=diagnosis.confidence,
    )  # fmt: skip


def treat(book: Book, patient: Patient, treatment: Treatment, by: By, run: int, now: Moment) -> Book:
    """Note what is done about a patient's failure. run: the incarnation that shows what comes of it."""
    case = book.cases.find(patient.case)
    if case is None:
        return book
    number = case.treatments + 1
    one = Treated(number, patient.agent, patient.incarnation, treatment, by, patient.failed_at, now.wall, run)
    kept, forgotten = _fewer_treated((*case.treated, one), now)
    after = replace(case, treated=kept, treatments=number, closed=None, outcome="open")
    return book.noting(after, treated=(*forgotten, one))


def dropped(book: Book, agent: str, fact: TreatmentDropped, now: Moment) -> Book:
    """Note what a person has allowed and nobody does: it is moot, and opens no Case again."""
    case = book.cases.find(fact.case)
    if case is None:
        return book
    number = case.treatments + 1
    one = Treated(number, agent, fact.incarnation, fact.treatment, "clinic", case.newest, now.wall)
    why = f"allowed by {fact.by}, and dropped: {fact.why}"
    kept, forgotten = _fewer_treated((*case.treated, outcome.decided(one, "moot", why, now)), now)
    return book.noting(replace(case, treated=kept, treatments=number), treated=(*forgotten, kept[-1]))


def changed(book: Book, case: Case, one: Treated, now: Moment) -> Book:
    """Take a newer state of a treatment in."""
    known = book.cases.find(case.id)
    if known is None or one in known.treated:
        return book
    return book.noting(known.with_treated(one), treated=(one,))


def settled(book: Book, asked: frozenset[str], now: Moment) -> Book:
    """Close the Cases that nobody waits for. asked: those about which a person has been asked, and has not answered."""
    waits = asked | {patient.case for patient in book.cases.patients}
    for case in book.cases.cases:
        if case.closed is None and case.id not in waits and not case.is_treated:
            # Of a Case that was over before anything was done, nothing can be said.
            came = case.treated[-1].outcome if case.treated else "moot"
            book = book.noting(replace(case, closed=now.wall, outcome=came))
    return book


def without_agent(book: Book, agent: str, now: Moment) -> Book:
    """An agent that is no more is no patient, and nobody will see what its treatments would have come to."""
    unsure = tuple(one for one in book.cases.unsure if one.agent != agent)
    book = replace(book, cases=replace(book.cases.without_patient(agent), unsure=unsure))
    return decide_all(book, agent, "moot", "it was removed", now)


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


def _told_already(book: Book, found: Noticed) -> Case | None:
    """The Case of a run that has ended by what its turn had failed for, however long ago: nothing has come back.

    Where that one claims no cause, the end says more of the same failure, for nothing was begun in between.
    """
    patient = book.cases.patient(found.agent)
    if patient is None or patient.incarnation != found.incarnation or found.occasion in ("failed_turn", "cut_answer"):
        return None
    case = book.cases.find(patient.case)
    if case is None or case.key == found.diagnosis.key:
        return case
    is_its_end = bool(patient.failure) and found.occasion in ENDS and not found.evidence.turn_open
    return case if is_its_end and case.cause is None else None


def _explained(
    book: Book, told: Case, agent: Agent, diagnosis: Diagnosis, now: Moment
) -> tuple[Book, Case | None]:  # fmt: skip
    """The Case of a failed turn by what the end of its run adds; None where the failure belongs to another Case."""
    if told.incidents > 1 or _newest(book, _scope(agent, diagnosis), diagnosis.key, now) is not None:
        return book, None
    case = _claiming(told, agent, diagnosis)
    return book.noting(case, treated=case.treated), case


def _newest(book: Book, scope: str, key: str, now: Moment) -> Case | None:
    """The Case that the failure joins. Several of one cause stand here where hours lay between them."""
    same = [one for one in book.cases.cases if (one.scope, one.key) == (scope, key) and _is_recent(one, now)]
    return max(same, key=lambda one: one.seen, default=None)


def _is_recent(case: Case, now: Moment) -> bool:
    return now.at - case.seen < JOINS_WITHIN


def _joined(book: Book, known: Case, found: Noticed, now: Moment, *, goes_on: bool) -> tuple[Book, Case]:
    agent = found.agent
    current = book.cases.find(known.id) or known
    agents = current.agents if agent in current.agents else (*current.agents, agent)[-MOST_AGENTS:]
    case = replace(
        current,
        newest=now.wall,
        seen=now.at,
        incidents=current.incidents + (not goes_on),
        agents=agents,
        closed=None,
        outcome="open",
    )
    return book.noting(case, noticed=(replace(found, case=case.id, number=case.incidents),)), case


def _opened(
    book: Book, agent: Agent, scope: str, diagnosis: Diagnosis, found: Noticed, now: Moment
) -> tuple[Book, Case]:
    case = Case(
        f"c{book.cases.next}", scope, diagnosis.key, diagnosis.cause, diagnosis.detail, diagnosis.rule,
        diagnosis.confidence, agent.spec.harness, now.wall, now.wall, (agent.name,), seen=now.at,
    )  # fmt: skip
    numbered = replace(book, cases=replace(book.cases, next=book.cases.next + 1))
    return numbered.noting(case, noticed=(replace(found, case=case.id),)), case


def _judged(book: Book, agent: str, key: str, now: Moment, *, came_back: bool) -> Book:
    """What was done against this cause has failed, in whichever Case; of what was done against another one, nothing
    can be said any more."""
    for case, one in book.cases.open_of(agent):
        if case.key != key:
            book = changed(book, case, outcome.decided(one, "moot", f"another cause came: {key}", now), now)
        elif came_back:
            book = changed(book, case, outcome.decided(one, "failed", f"the cause came back: {case.rule}", now), now)
    return book


def _fewer_treated(treated: tuple[Treated, ...], now: Moment) -> tuple[tuple[Treated, ...], tuple[Treated, ...]]:
    """Without the oldest whose outcome is known; beyond all bounds what is open is moot, and told. Both, in order."""
    spare = len([one for one in treated if not one.is_open]) - MOST_TREATED
    over = {one.number for one in [one for one in treated if not one.is_open][: max(0, spare)]}
    unclosed = [one for one in treated if one.is_open][:-MOST_OPEN]
    forgotten = tuple(outcome.decided(one, "moot", "too many treatments of one Case are open", now) for one in unclosed)
    over |= {one.number for one in forgotten}
    return tuple(one for one in treated if one.number not in over), forgotten


def _fewer(book: Book, now: Moment) -> Book:
    """Without the Cases that nothing can join any more; the journal keeps them.

    Where the book is full, what is over goes first, and of what is open that goes which was quiet for longest.
    """
    kept = [one for one in book.cases.cases if one.closed is None or _is_recent(one, now)]
    over = sorted((one for one in kept if one.closed is not None), key=lambda one: one.seen)
    unclosed = sorted((one for one in kept if one.closed is None), key=lambda one: one.seen)
    spare = max(0, len(kept) + 1 - MOST_CASES)
    left = {one.id for one in over[:spare]}
    for case in unclosed[: max(0, spare - len(over))]:
        book = _given_up(book, case, now)
        left.add(case.id)
    if not left and len(kept) == len(book.cases.cases):
        return book
    stands = {one.id for one in kept} - left
    cases = tuple(one for one in book.cases.cases if one.id in stands)
    return replace(book, cases=replace(book.cases, cases=cases))


def _given_up(book: Book, case: Case, now: Moment) -> Book:
    """Tell of a Case that has no room any more: its treatments are moot, and its agents are no patients of it."""
    for one in case.treated:
        if one.is_open:
            full = f"more than {MOST_CASES} Cases were open"
            book = changed(book, case, outcome.decided(one, "moot", full, now), now)
    for patient in book.cases.patients:
        if patient.case == case.id:
            book = replace(book, cases=book.cases.without_patient(patient.agent))
    return book
