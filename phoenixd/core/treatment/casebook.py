"""The clinic's part in the table of hearing: it stands last in each row, and reads what the other parts decided.

It orders nothing. Restart rules, limits, cut answers, the inbox and resonance treat, and core.treatment.acting adds
what is missing; here each failure gets its Case, and each treatment its outcome.
"""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Starting, Stopping
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.evidence import FailureStatusSeen, ScreenSeen
from phoenixd.core.events.fleet import EpochBegun, Rebooted, Tick
from phoenixd.core.events.runs import AgentExited, StartFailed
from phoenixd.core.facts import (
    AnswerFellShort,
    Asked,
    AskingOver,
    AttemptFailed,
    BeganParking,
    Fact,
    MarkerNoted,
    Ordered,
    PutInQuarantine,
    RunBegan,
    RunEnded,
    RunProductive,
    Treating,
    TreatmentDropped,
)
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.handoff.state import Step as HandoffStep
from phoenixd.core.hooks import Hook, TurnFailed
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.question.call import PROPOSAL
from phoenixd.core.resonance import restoring
from phoenixd.core.resonance.state import Step as RestorationStep
from phoenixd.core.treatment import attendance, gather, noting, outcome, turns
from phoenixd.core.treatment.authority import AGENT_PERIOD
from phoenixd.core.treatment.case import By, Cases, Patient, Prescribed
from phoenixd.core.treatment.choosing import ASKS
from phoenixd.core.treatment.effects import CASE
from phoenixd.core.treatment.opening import (
    SHARED,
    Book,
    changed,
    decide_all,
    dropped,
    notice,
    settled,
    treat,
    without_agent,
)
from phoenixd.core.treatment.triage import diagnose
from phoenixd.core.treatment.words import Occasion, Treatment

LOST_MARKER: Occasion = "lost_marker"
FIRST, GIVEN_UP = restoring.NUMBER[RestorationStep.LOG], restoring.NUMBER[RestorationStep.ESCALATE]
MOVES = frozenset({"start", "stop", "restart", "remove"})
"""Orders after which it can no longer be told what a treatment would have come to."""


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Open, join, treat and close Cases by what happened and by what was decided."""
    book = read(before, found, event, now)
    if book.cases is found.fleet.cases:
        return found
    known = found.fleet.cases
    found = replace(found, fleet=replace(found.fleet, cases=book.cases), kept=(*found.kept, *book.kept))
    return noting.told(found, known, book.kept, now)


def read(before: Fleet, found: Step, event: Event, now: Moment) -> Book:
    """The Cases as they are after what was decided so far."""
    book = Book(found.fleet.cases)
    if found.fleet.seats is not before.seats:
        # First: what is decided about a handoff that was rolled back, a proposal say, belongs to its Case.
        book = _hear_handoffs(before, found, book, now)
    if isinstance(event, Hook):
        book = turns.hear(before, found, book, event, now)
    elif isinstance(event, ScreenSeen):
        book = turns.hear_screen(before, book, event, now)
    elif isinstance(event, FailureStatusSeen):
        book = turns.hear_status(before, book, event, now)
    elif isinstance(event, StartFailed):
        book = _hear_start(before, found, book, event, now)
    elif isinstance(event, AttendanceSeen):
        book = attendance.hear(book, found.fleet.agents.get(event.agent), event, now)
    elif isinstance(event, Tick):
        book = turns.pass_time(found, book, now)
    elif isinstance(event, EpochBegun):
        book = _without_strangers(found, book, now)
    for decision in found.decisions:
        for fact in decision.facts:
            book = _take(before, found, book, decision, fact, event, now)
        if decision.removed and decision.agent is not None:
            book = without_agent(book, decision.agent.name, now)
    if book.cases is found.fleet.cases and not _is_answered(found):
        return book
    return settled(book, _asked_about(found.fleet), now)


def _is_answered(found: Step) -> bool:
    """Whether a person is no longer asked about a Case, so that it may be over."""
    return any(
        isinstance(fact, AskingOver) and fact.kind in (PROPOSAL, CASE)
        for decision in found.decisions for fact in decision.facts
    )  # fmt: skip


def _asked_about(fleet: Fleet) -> frozenset[str]:
    """The Cases about which a proposal waits."""
    items = (item for agent in fleet.agents.values() for item in agent.items if item.kind == PROPOSAL)
    return frozenset(item.about[0] for item in items if item.about)


def _without_strangers(found: Step, book: Book, now: Moment) -> Book:
    """At a daemon's begin: nobody will ever tell of an agent that is no more."""
    names = {patient.agent for patient in book.cases.patients}
    names |= {one.agent for one in book.cases.unsure}
    names |= {one.agent for case in book.cases.cases for one in case.treated if one.is_open}
    for name in sorted(names - found.fleet.agents.keys()):
        book = without_agent(book, name, now)
    return book


def _hear_start(before: Fleet, found: Step, book: Book, event: StartFailed, now: Moment) -> Book:
    """A start that failed without being an end, which the facts of an end tell."""
    known, agent = before.roster.living(event.agent, event.incarnation), found.fleet.agents.get(event.agent)
    if known is None or agent is None or known.run is None or known.run.pid is not None:
        return book
    if any(isinstance(fact, RunEnded) for decision in found.decisions for fact in decision.facts):
        return book
    if not isinstance(known.state, Starting) or not isinstance(agent.state, BackingOff | Starting):
        return book
    return notice(book, agent, event.incarnation, gather.of_start(known, event), now)


def _take(
    before: Fleet, found: Step, book: Book, decision: Decision, fact: Fact, event: Event, now: Moment
) -> Book:  # fmt: skip
    agent = decision.agent
    if agent is None:
        return book
    name = agent.name
    match fact:
        case RunEnded():
            return _hear_end(before.agents.get(name), decision, book, fact, _failed_with_it(event, agent), now)
        case RunBegan(incarnation=incarnation, mode=mode):
            book = turns.forget_turn(attendance.settle(book, agent, now), name, now)
            return _with_next_run(book, name, incarnation, "fresh" if mode is Mode.FRESH else "resume", now)
        case RunProductive(incarnation=incarnation):
            for case, one in book.cases.open_of(name):
                if 0 < one.run <= incarnation:
                    book = changed(book, case, outcome.productive(one, now), now)
            return book
        case BeganParking(kind=kind):
            return _hear_parking(before.agents.get(name), agent, book, kind, now)
        case PutInQuarantine():
            if book.cases.patient(name) is None:
                book = notice(book, agent, agent.incarnation, gather.of_other(agent, "quarantine"), now)
            if any(isinstance(one, Treating) for one in decision.facts):
                return book
            return _treated(book, name, "abort", "restart", 0, now)
        case AnswerFellShort(incarnation=incarnation, went_on=False):
            book = notice(book, agent, incarnation, gather.of_cut(agent), now)
            told = agent.cut is not None and bool(agent.cut.message_id)
            return _treated(book, name, "go_on", "cut answers", incarnation, now) if told else book
        case AttemptFailed(incarnation=incarnation):
            patient = book.cases.patient(name)
            if patient is not None and patient.incarnation == incarnation:
                # A hook has told of it.
                return book
            return notice(book, agent, incarnation, gather.of_attempt(agent, fact), now)
        case MarkerNoted(incarnation=incarnation, what="checked", verdict="lost"):
            book = notice(book, agent, incarnation, gather.of_other(agent, LOST_MARKER), now)
            if restoring.is_handed_over(agent):
                return _treated(book, name, "handoff", "resonance", agent.incarnation, now)
            return book
        case MarkerNoted(what="restoration", step=step, why=why):
            return _hear_restoration(book, name, step, why, now)
        case Treating():
            return _prescribed(book, agent, fact, now)
        case TreatmentDropped():
            return dropped(book, name, fact, now)
        case Asked(kind=kind) if kind in ASKS:
            return _treated(book, name, "ask", "inbox", agent.incarnation, now)
        case Ordered(verb=verb, taken=True, moved=True, by=by) if verb in MOVES:
            book = attendance.settle(book, agent, now)
            book = replace(book, cases=book.cases.without_patient(name))
            return decide_all(book, name, "moot", f"{verb} by {by} came between", now)
        case _:
            return book


def _failed_with_it(event: Event, agent: Agent) -> TurnFailed | None:
    """What had failed by the word of the run's transcript, where that is told with its end."""
    ends = event.ended if isinstance(event, Rebooted) else (event,)
    return next(
        (one.failed for one in ends if isinstance(one, AgentExited)
         and (one.agent, one.incarnation) == (agent.name, agent.incarnation)), None,
    )  # fmt: skip


def _hear_end(
    known: Agent | None, decision: Decision, book: Book, end: RunEnded, failed: TurnFailed | None, now: Moment
) -> Book:
    agent = decision.agent
    assert agent is not None
    last = agent.last_exit
    if end.cause == "reboot":
        book = decide_all(book, agent.name, "moot", "the host was restarted", now)
    if known is None or last is None:
        return book
    patient = book.cases.patient(agent.name)
    if end.meaning == "limit" and known.parking is None:
        # It waits by what this end tells.
        return notice(book, agent, end.incarnation, gather.of_end(known, agent, last, patient, failed), now)
    if end.cause == "reboot":
        return book
    by_rule = isinstance(known.state, Stopping) and known.state.spoiled
    if end.meaning == "asked" and not by_rule:
        book = replace(book, cases=book.cases.without_patient(agent.name))
        if agent.resonance is not None and agent.resonance.is_restoring:
            # The restoration ends the run of the session that was cut, and goes on in the next one.
            return book
        return decide_all(book, agent.name, "moot", "it was ended by order", now)
    if end.meaning in ("death", "unstarted", "no answer", "attempt") or (by_rule and patient is None):
        evidence = gather.of_end(known, agent, last, patient, failed)
        if end.meaning != "no answer" and attendance.is_asked(decision):
            return attendance.keep(book, agent, end.incarnation, evidence)
        return notice(book, agent, end.incarnation, evidence, now)
    goes_on = end.meaning == "finished" and end.then != "stay"
    if end.meaning in ("finished", "sealed") and not goes_on:
        return decide_all(book, agent.name, "moot", "it ended on purpose before that was known", now)
    if end.meaning in ("iteration", "answer") or goes_on:
        return turns.hear_iteration(book, known, agent, now)
    return book


def _hear_restoration(book: Book, agent: str, step: int, why: str, now: Moment) -> Book:
    """A loss is treated from the restoration's first step on, and has failed where a person is called."""
    patient = book.cases.patient(agent)
    case = book.cases.find(patient.case) if patient is not None else None
    if step == FIRST and case is not None and case.detail == LOST_MARKER:
        return _treated(book, agent, "restore", "resonance", 0, now)
    if step != GIVEN_UP:
        return book
    for case, one in book.cases.open_of(agent):
        if one.treatment == "restore":
            book = changed(book, case, outcome.decided(one, "failed", why, now), now)
    return book


def _prescribed(book: Book, agent: Agent, fact: Treating, now: Moment) -> Book:
    """Note what the clinic ordered: by this its caps are counted, and no treatment is ordered twice."""
    case = book.cases.find(fact.case)
    if case is None:
        return book
    if not fact.allowed:
        one = Prescribed(case.id, agent.name, fact.incarnation, fact.treatment, now.wall, now.at)
        book = replace(book, cases=replace(book.cases, prescribed=(*_recent(book.cases, now), one)))
    if fact.proposed:
        return book
    patient = book.cases.patient(agent.name) or Patient(agent.name, fact.incarnation, case.id, case.newest)
    lives = agent.incarnation if agent.run is not None and fact.treatment in ("ask", "handoff") else 0
    return treat(book, patient, fact.treatment, "clinic", lives, now)


def _recent(cases: Cases, now: Moment) -> tuple[Prescribed, ...]:
    """Without what neither a Case nor a cap needs any more."""
    stands = {one.id for one in cases.cases}
    return tuple(one for one in cases.prescribed if one.case in stands or now.at - one.since < AGENT_PERIOD)


def _hear_parking(known: Agent | None, agent: Agent, book: Book, kind: ParkingKind, now: Moment) -> Book:
    """Note the wait as what is done about the failure that it is for. It is a failure of its own for nobody who failed
    himself: what his Case claims follows from the facts of his failure, and a class is one of them."""
    patient = book.cases.patient(agent.name)
    case = book.cases.find(patient.case) if patient is not None else None
    is_its_own = _met(known, agent)
    if case is not None and not is_its_own and case.detail not in SHARED:
        # It waits for what others met, and something else had ended its run before.
        if kind is not ParkingKind.OUTAGE or case.cause is not None:
            return book
        case = None
    if case is None:
        if kind is ParkingKind.LIMIT and not is_its_own and not _is_claimed(book, agent):
            return book
        book = notice(book, agent, agent.incarnation, gather.of_limit(agent, kind), now)
    run = agent.incarnation if agent.run is not None else 0
    return _treated(book, agent.name, "park", "limits", run, now)


def _met(known: Agent | None, agent: Agent) -> bool:
    """Whether it waits by what its own turn, or the end of its own run, has told."""
    if agent.run is not None:
        return agent.parking is not None and agent.parking.owes
    last = agent.last_exit
    is_new = known is None or known.last_exit is None or last is None or known.last_exit.incarnation < last.incarnation
    return is_new and last is not None and last.limited


def _is_claimed(book: Book, agent: Agent) -> bool:
    """Whether a Case that goes on says that the account of this agent is at its limit."""
    key = diagnose(gather.of_limit(agent, ParkingKind.LIMIT)).key
    scope = f"account {agent.spec.account}"
    return any((one.scope, one.key, one.closed) == (scope, key, None) for one in book.cases.cases)


def _with_next_run(book: Book, agent: str, incarnation: int, treatment: Treatment, now: Moment) -> Book:
    """A run begins: it is what was done about the failure, and shows what came of what was done before."""
    waiting = [
        one for one in book.cases.open_of(agent)
        if one[1].run == 0 and (one[1].treatment in ("park", "restore") or one[1].by == "clinic")
    ]  # fmt: skip
    for case, one in waiting:
        if (current := book.cases.find(case.id)) is not None:
            book = changed(book, current, replace(one, run=incarnation), now)
    patient = book.cases.patient(agent)
    if patient is not None and all(one.treatment == "advise" for _, one in waiting):
        book = treat(book, patient, treatment, "restart", incarnation, now)
    return replace(book, cases=book.cases.without_patient(agent))


def _treated(book: Book, agent: str, treatment: Treatment, by: By, run: int, now: Moment) -> Book:
    patient = book.cases.patient(agent)
    return treat(book, patient, treatment, by, run, now) if patient is not None else book


def _hear_handoffs(before: Fleet, found: Step, book: Book, now: Moment) -> Book:
    """A handoff that was rolled back is a failure of its seat, but for one that somebody called off."""
    for name, seat in found.fleet.seats.items():
        known = before.seats.get(name)
        earlier = known.handoff if known is not None else None
        over = (
            seat.handoff is not None and seat.handoff.step is HandoffStep.ROLLED_BACK
            and not seat.handoff.is_back_by_order
        )  # fmt: skip
        if not over or (earlier is not None and seat.handoff is not None and earlier.id == seat.handoff.id
                        and earlier.step is HandoffStep.ROLLED_BACK):  # fmt: skip
            continue
        holder = next((one for one in found.fleet.agents.values() if one.spec.seat == name
                       and one.spec.generation == seat.generation), None)  # fmt: skip
        if holder is not None and seat.handoff is not None:
            evidence = gather.of_rollback(holder, seat.handoff.why_back)
            book = notice(book, holder, holder.incarnation, evidence, now)
    return book
