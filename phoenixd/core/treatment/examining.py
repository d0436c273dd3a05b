"""A failure that no rule knows is shown to a model, or to a program of the operator's, where one is configured.

No restart waits for it. What it says stands in the Case, and the next run is told of it as somebody's words, within the
authority that the operator gave to `advise`. It starts nothing, ends nothing, and cannot widen what may be done.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import ExamineCase
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.limits.waits import account_of
from phoenixd.core.moment import Moment
from phoenixd.core.treatment import acting, choosing
from phoenixd.core.treatment.case import Case, Cases, Noticed
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import (
    GRACE,
    MOST_ASKED,
    MOST_PENDING,
    MOST_TOKENS,
    PROBLEM_LIMIT,
    Examinations,
    FailureRead,
    Question,
    ReaderRules,
    bounded,
    why_not_believed,
)
from phoenixd.core.treatment.triage import Diagnosis, diagnose
from phoenixd.core.treatment.words import UNSURE

NO_ANSWER = "no answer came in time"


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Give up the questions whose time is over, and ask about what has just been noticed."""
    due = found.fleet.cases.examinations.due
    if due is not None and due <= now.at:
        found = _give_up(found, now)
    for noticed in (one for kept in found.kept for one in kept.noticed):
        if is_for_a_reader(noticed.diagnosis):
            found = _look(before, found, noticed, now)
    return found


def hear(before: Fleet, found: Step, event: CaseExamined, now: Moment) -> Step:
    """Take an answer in: what it cost always, what it says where it was asked for and is believed."""
    cases = found.fleet.cases
    asked = cases.examinations.find(event.number)
    spent = _paid(cases.examinations, event.tokens, now)
    if asked is None or (asked.case, asked.agent, asked.incarnation) != (event.case, event.agent, event.incarnation):
        found = _with(found, replace(cases, examinations=spent))
        return _told(found, event.agent, f"an answer about Case {event.case} changes nothing: it was given up")
    opinion = bounded(event.opinion) if event.opinion is not None else None
    problem = event.problem or "it gave no answer" if opinion is None else why_not_believed(opinion)
    answer = FailureRead(
        asked.incarnation, asked.case, found.fleet.clinic.reader.name, answered=now.wall,
        opinion=opinion if not problem else None, problem=problem[:PROBLEM_LIMIT], tokens=_tokens(event.tokens),
    )  # fmt: skip
    found = _with(found, replace(cases, examinations=spent))
    return _answered(found, asked, answer, now)


def is_for_a_reader(diagnosis: Diagnosis) -> bool:
    """Whether no rule knows the failure: what a rule knows and none of the causes names is no riddle."""
    return diagnosis.cause is None and diagnosis.confidence < UNSURE


def why_not_asked(fleet: Fleet, agent: Agent, reader: ReaderRules, now: Moment) -> str:
    """Why nothing is asked now, in words; empty where it may be. What is asked counts against the agent's account."""
    account = account_of(agent.spec)
    if agent.outage is not None or any(
        one.parking is not None and account_of(one.spec) == account for one in fleet.agents.values()
    ):
        return "its account is parked"
    today = fleet.cases.examinations.of_the_day(now.wall)
    if today.questions >= reader.questions_per_day:
        return f"the day's {reader.questions_per_day} questions are used up (clinic.questions_per_day)"
    if 0 < reader.tokens_per_day <= today.tokens:
        return f"the day's {reader.tokens_per_day} tokens are used up (clinic.tokens_per_day)"
    if len(today.pending) >= MOST_PENDING:
        return f"{MOST_PENDING} other questions are open"
    return ""


def _look(before: Fleet, found: Step, noticed: Noticed, now: Moment) -> Step:
    reader, cases = found.fleet.clinic.reader, found.fleet.cases
    agent, case = found.fleet.agents.get(noticed.agent), cases.find(noticed.case)
    if not reader.name or agent is None or case is None:
        return found
    known = case.examined
    if known is not None and known.opinion is not None:
        return _remind(found, agent, case, now)
    if _times(case, reader) >= MOST_ASKED or _is_open(cases, case):
        return found
    if why := why_not_asked(found.fleet, agent, reader, now):
        if known is not None and known.problem == why:
            return found
        left = FailureRead(noticed.incarnation, case.id, reader.name, _times(case, reader), problem=why)
        if known is None or known.answered is None:
            # What an answer came to, and cost, is not forgotten for a question that was never put.
            found = _with(found, cases.with_case(replace(case, examined=left)))
        told = f"Case {case.id}, {case.detail}: {reader.name} is not asked: {why}"
        return put(found, Decision(agent, reason=told, facts=(left,), weight="detail"), now)
    return _ask(before, found, agent, case, noticed, now)


def _times(case: Case, reader: ReaderRules) -> int:
    """How often this reader was asked about the Case: one that took another's place has been asked nothing yet."""
    known = case.examined
    return known.times if known is not None and known.by == reader.name else 0


def _ask(before: Fleet, found: Step, agent: Agent, case: Case, noticed: Noticed, now: Moment) -> Step:
    reader, cases = found.fleet.clinic.reader, found.fleet.cases
    today = cases.examinations.of_the_day(now.wall)
    number, times = today.next, _times(case, reader) + 1
    question = Question(
        number, case.id, agent.name, noticed.incarnation, noticed.occasion,
        now.at + reader.timeout + GRACE, replace(noticed.evidence, said=""),
    )  # fmt: skip
    # A question is counted before it is asked, so that a crash in it is paid for.
    asked = replace(today, next=number + 1, pending=(*today.pending, question), questions=today.questions + 1)
    waits = FailureRead(noticed.incarnation, case.id, reader.name, times, problem="it has not answered yet")
    found = _with(found, replace(cases.with_case(replace(case, examined=waits)), examinations=asked))
    action = ExamineCase(
        agent.name, noticed.incarnation, case.id, number, reader, noticed.diagnosis.rule, case.incidents,
        noticed.evidence, _command(before.agents.get(agent.name)),
    )  # fmt: skip
    told = f"Case {case.id}, {case.detail}: no rule knows it, so {reader.name} is asked"
    return put(found, Decision(agent, (action,), told, weight="detail"), now)


def _give_up(found: Step, now: Moment) -> Step:
    for one in found.fleet.cases.examinations.pending:
        if one.until <= now.at:
            late = FailureRead(one.incarnation, one.case, found.fleet.clinic.reader.name, problem=NO_ANSWER)
            found = _answered(found, one, late, now)
    return found


def _answered(found: Step, asked: Question, answer: FailureRead, now: Moment) -> Step:
    """A question is over: what came of it stands in its Case, and what is believed is told to the next run."""
    cases = found.fleet.cases
    over = replace(cases.examinations.without(asked.number), problem=answer.problem)
    case = cases.find(asked.case)
    if case is None:
        found = _with(found, replace(cases, examinations=over))
        return _told(found, asked.agent, f"what was asked about Case {asked.case} changes nothing: it is long closed")
    # As it was asked: the configuration may name another reader by now.
    waits = case.examined or FailureRead(asked.incarnation, asked.case, answer.by, 1)
    answer = replace(answer, by=waits.by, times=waits.times)
    case = replace(case, examined=answer)
    found = _with(found, replace(cases.with_case(case), examinations=over))
    agent = found.fleet.agents.get(asked.agent)
    told = f"Case {case.id}, {case.detail}: {_words(answer)}"
    if agent is None:
        return replace(found, decisions=(*found.decisions, Decision(None, reason=told, facts=(answer,))))
    found = put(found, Decision(agent, reason=told, facts=(answer,), weight="story"), now)
    is_news = answer.opinion is not None and case.closed is None
    return _advise(found, agent, case, asked, now) if is_news else found


def _words(answer: FailureRead) -> str:
    if answer.opinion is None:
        return f"the rules alone decide, for of {answer.by or 'its reader'} it is told: {answer.problem}"
    said = answer.opinion
    return f"{answer.by} says {said.cause} (confidence {said.confidence:g}), and prescribes {said.action}"


def _advise(found: Step, agent: Agent, case: Case, asked: Question, now: Moment) -> Step:
    """Have the next run told what was said, within authority and caps, and while it still waits."""
    patient = found.fleet.cases.patient(agent.name)
    if not isinstance(agent.state, BackingOff) or patient is None or patient.case != case.id:
        # The run that goes on has begun with its brief, and another failure has another Case.
        return found
    if agent.advice is not None and agent.advice.case == case.id:
        return _remind(found, agent, case, now)
    diagnosis = diagnose(asked.evidence)
    had = choosing.tried(found.fleet.cases, case, agent.name)
    if "advise" in had or not choosing.is_possible(agent, "advise", diagnosis, came_back=False):
        return found
    evidence = asked.evidence if patient.incarnation == asked.incarnation else Evidence(asked.occasion)
    noticed = Noticed(case.id, agent.name, patient.incarnation, asked.occasion, patient.failed_at, evidence, diagnosis)
    return acting.prescribe(found, agent, found.fleet.cases, case, noticed, "advise", now)


def _remind(found: Step, agent: Agent, case: Case, now: Moment) -> Step:
    """Put what was said into the facts that stand for the next run already."""
    known, told = agent.advice, case.examined
    if known is None or known.case != case.id or told is None or told.opinion in (None, known.reading):
        return found
    after = replace(agent, advice=replace(known, reading=told.opinion))
    why = f"Case {case.id}: the brief tells what {told.by} said"
    return put(found, Decision(after, reason=why, weight="detail"), now)


def _is_open(cases: Cases, case: Case) -> bool:
    return any(one.case == case.id for one in cases.examinations.pending)


def _command(known: Agent | None) -> str:
    """What the call runs that was open when it failed."""
    activity = known.activity if known is not None else None
    if activity is None:
        return ""
    return next((one.command for one in activity.leases if not one.sub), "")


def _paid(examinations: Examinations, tokens: int, now: Moment) -> Examinations:
    today = examinations.of_the_day(now.wall)
    return replace(today, tokens=today.tokens + _tokens(tokens))


def _tokens(told: int) -> int:
    return max(0, min(told, MOST_TOKENS))


def _with(found: Step, cases: Cases) -> Step:
    return replace(found, fleet=replace(found.fleet, cases=cases))


def _told(found: Step, name: str, words: str) -> Step:
    decision = Decision(found.fleet.agents.get(name), reason=words, weight="detail")
    return replace(found, decisions=(*found.decisions, decision))
