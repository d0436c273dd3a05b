"""What turns tell of treatments whose outcome is open: whether the run came to something, and how much work since."""

from __future__ import annotations

from phoenixd.core import restart
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Live, Running
from phoenixd.core.change import replace
from phoenixd.core.events.evidence import FailureStatusSeen, ScreenSeen
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.hooks import Hook, PromptSubmitted, TurnEnded, TurnFailed
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.productive import WELL
from phoenixd.core.treatment import gather, outcome, unheard
from phoenixd.core.treatment.case import Treated
from phoenixd.core.treatment.opening import Book, changed, complete, notice


def hear(before: Fleet, found: Step, book: Book, event: Hook, now: Moment) -> Book:
    """A turn that failed opens a Case; those that begin and end are counted for what was done before."""
    if not isinstance(event, TurnFailed | TurnEnded | PromptSubmitted) or event.sub or not _is_news(before, event):
        return book
    agent = found.fleet.agents.get(event.agent)
    known = before.agents.get(event.agent)
    if agent is None or known is None:
        return book
    if isinstance(event, TurnFailed):
        return notice(book, agent, event.incarnation, gather.of_failed_turn(known, event), now)
    if isinstance(event, PromptSubmitted):
        book = _show_turn(book, event.agent, event.incarnation, well=False, now=now)
        return _take_over(book, event, now) if _is_taken_over(known, agent) else book
    began = _open_since(known, now)
    if agent.spec.stops_either_way:
        return _note_turn(book, event, began, now)
    for case, one in book.cases.open_of(event.agent):
        if _lives_on(one, event.incarnation):
            after = outcome.productive(one, now)
        else:
            after = outcome.turn_ends(one, began, now)
        book = changed(book, case, after, now)
    return _is_back(book, event.agent, event.incarnation)


def _is_taken_over(before: Agent, after: Agent) -> bool:
    """Whether a person, or `send`, asked for something in the middle of a turn that nobody had asked for."""
    if before.run is None or after.run is None or _open_turn(before) is None:
        return False
    return after.run.merit.asked and not before.run.merit.asked


def _take_over(book: Book, event: PromptSubmitted, now: Moment) -> Book:
    """What that run would have come to by itself is not known any more, unless it was productive already."""
    for case, one in book.cases.open_of(event.agent):
        if one.productive is None and one.run == event.incarnation and one.run != one.incarnation:
            why = "a person asked for something else before that was known"
            book = changed(book, case, outcome.decided(one, "moot", why, now), now)
    return book


def _open_turn(agent: Agent) -> Instant | None:
    return agent.activity.open_since if agent.activity is not None else None


def _lives_on(one: Treated, incarnation: int) -> bool:
    """Whether the run that failed goes on; of another run its own rule says whether it was productive."""
    return one.productive is None and one.run == one.incarnation == incarnation


def _is_back(book: Book, agent: str, incarnation: int) -> Book:
    patient = book.cases.patient(agent)
    if patient is None or patient.incarnation != incarnation:
        return book
    return replace(book, cases=book.cases.without_patient(agent))


def _note_turn(book: Book, event: TurnEnded, began: Instant | None, now: Moment) -> Book:
    """A turn is over whose hook comes either way: a look at the screen shows whether it ended well."""
    for case, one in book.cases.open_of(event.agent):
        if _lives_on(one, event.incarnation):
            after = replace(one, ended=0.0)
        else:
            after = outcome.turn_is_over(one, began, now)
        book = changed(book, case, after, now)
    patient = book.cases.patient(event.agent)
    if patient is None or patient.incarnation != event.incarnation:
        return book
    return replace(book, cases=book.cases.with_patient(replace(patient, ended=True)))


def _show_turn(book: Book, agent: str, incarnation: int, *, well: bool, now: Moment) -> Book:
    """What is known now of the turn that was over: its screen was seen, or the next one begins without that."""
    for case, one in book.cases.open_of(agent):
        if one.ended is None:
            continue
        is_first = well and _lives_on(one, incarnation)
        after = outcome.productive(one, now) if is_first else outcome.turn_is_shown(one, well, now)
        book = changed(book, case, after, now)
    patient = book.cases.patient(agent)
    if patient is None or not patient.ended or patient.incarnation != incarnation:
        return book
    if well:
        return _is_back(book, agent, incarnation)
    return replace(book, cases=book.cases.with_patient(replace(patient, ended=False)))


def hear_screen(before: Fleet, book: Book, event: ScreenSeen, now: Moment) -> Book:
    """A look at the screen shows whether the turn that was over ended well."""
    agent = before.roster.living(event.agent, event.incarnation)
    if agent is None or not isinstance(agent.state, Running):
        return book
    return _show_turn(book, event.agent, event.incarnation, well=event.verdict in WELL, now=now)


def hear_status(before: Fleet, book: Book, event: FailureStatusSeen, now: Moment) -> Book:
    """What the API answered to the turn that failed stands in the transcript, a moment after its hook."""
    agent, patient = before.roster.living(event.agent, event.incarnation), book.cases.patient(event.agent)
    if agent is None or agent.run is None or patient is None or patient.incarnation != event.incarnation:
        return book
    if not patient.failure or patient.status == event.status:
        return book
    return complete(book, agent, patient, gather.of_status(agent, patient, event), now)


def forget_turn(book: Book, agent: str, now: Moment) -> Book:
    """The next run begins: no look will show any more how the last turn of the one before ended."""
    for case, one in book.cases.open_of(agent):
        book = changed(book, case, outcome.turn_is_shown(one, False, now), now)
    return book


def _open_since(agent: Agent, now: Moment) -> Instant | None:
    """When its turn began, put off by the time for which it has waited for a person until now."""
    activity = agent.activity
    if activity is None or activity.open_since is None or activity.waiting is None:
        return activity.open_since if activity is not None else None
    return activity.open_since + max(0.0, now.at - activity.waiting.since)


def pass_time(found: Step, book: Book, now: Moment) -> Book:
    """Close what time alone decides; no Tick is asked for, since the looks at an open turn bring enough of them."""
    for case, one, agent in unheard.productive(book.cases, found.fleet.agents):
        if agent.activity is None:
            continue
        activity, began = agent.activity, unheard.since(agent)
        if began is None:
            after = outcome.time_passes(one, activity.open_since, activity.evidence_at, now)
        else:
            after = outcome.life_passes(one, began, activity.evidence_at if unheard.gives_signs(agent) else now.at, now)
        book = changed(book, case, after, now)
    return book


def hear_iteration(book: Book, before: Agent, after: Agent, now: Moment) -> Book:
    """A loop that shows no turns has ended an iteration: where that ended well, it stands for a turn that did."""
    began, end = unheard.since(before), after.last_exit
    if began is None or end is None or not restart.ended_well(after.spec, end):
        return book
    for case, one in book.cases.open_of(after.name):
        book = changed(book, case, outcome.turn_ends(one, began, now), now)
    return book


def _is_news(before: Fleet, event: Hook) -> bool:
    agent = before.roster.living(event.agent, event.incarnation)
    if agent is None or not isinstance(agent.state, Live):
        return False
    return event.seq == 0 or event.seq > agent.state.run.hook_seq
