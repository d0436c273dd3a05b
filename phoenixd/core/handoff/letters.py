"""Texts that were sent to a seat while it passed: each is kept, and goes to the next holder."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import armed, requests
from phoenixd.core.actions import Alert, Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events import Event
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.events.runs import Delivered, NotDelivered, RunAdopted
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import freezing
from phoenixd.core.handoff.state import Handoff, Letter
from phoenixd.core.handoff.words import CALLED_OFF
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.question import leftover
from phoenixd.core.seat.state import Seat

ALERT = "handoff"
"""The alert that a text did not arrive, of the kind of all that goes wrong with a handoff."""

MOST_MISSES = 3
"""How often a text that was kept over a handoff may fail to arrive before it is given up, with an alert."""

AGAIN = 60.0
"""Seconds after which a text that did not arrive is tried again, where no turn's end is waited for."""

TYPED_WITHIN = 60.0
"""Seconds within which a word of phoenixd's own has to be begun, before it is tried again."""


def texts(handoff: Handoff) -> tuple[Letter, ...]:
    """What was sent meanwhile and is not known to have arrived."""
    return (handoff.posted, *handoff.letters) if handoff.posted is not None else handoff.letters


def arrived(found: Step, seat: Seat, event: Delivered | NotDelivered, now: Moment) -> Step:
    """The text that was being typed arrived, or did not: then it waits again, and a few times only."""
    handoff = seat.handoff
    if handoff is None or handoff.posted is None:
        return found
    if isinstance(event, Delivered):
        return _with(found, seat, replace(handoff, posted=None))
    if _is_past(handoff, handoff.posted):
        return _with(found, seat, replace(handoff, posted=None))
    missed = replace(handoff.posted, misses=handoff.posted.misses + 1, due=now.at + AGAIN)
    if missed.misses < MOST_MISSES:
        seat = replace(seat, handoff=replace(handoff, posted=missed))
        return put_back(found, seat, f"a text that was kept over the handoff did not arrive: {event.reason}", now)
    found = _with(found, seat, replace(handoff, posted=None))
    holder = found.fleet.agents.get(seat.holder)
    if holder is None:
        return found
    text = (
        f"a text from {missed.by} that was kept over handoff {handoff.id} did not arrive in {MOST_MISSES} tries: "
        f"{event.reason}. Send it again: phoenixctl send {seat.name} TEXT"
    )
    alert = Alert(holder.name, ALERT, text, about=(missed.message_id,))
    return put(found, Decision(holder, (alert,), text, weight="story"), now)


def put_back(found: Step, seat: Seat, why: str, now: Moment) -> Step:
    """Keep the text that was being typed: it is not known to have arrived, and twice is better than never."""
    handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
    if handoff is None or handoff.posted is None:
        return found
    if _is_past(handoff, handoff.posted):
        return _with(found, seat, replace(handoff, posted=None))
    found = _with(found, seat, replace(handoff, posted=None, letters=texts(handoff)))
    return put(found, Decision(holder, (), f"{why}: it waits", weight="story"), now) if holder is not None else found


def deliver(found: Step, seat: Seat, event: Event, now: Moment) -> Step:
    """What was sent meanwhile goes to the next holder as soon as that can read, one text after the other."""
    handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
    if handoff is None or holder is None or not texts(handoff):
        return found
    if handoff.posted is not None:
        if holder.run is not None and (holder.name, holder.incarnation) == (handoff.posted_to, handoff.posted_run):
            return found
        found = put_back(found, seat, "the run that a text was typed into has ended", now)
        return deliver(found, found.fleet.seats[seat.name], event, now)
    if not isinstance(holder.state, Running):
        return found
    if _waits(handoff.letters[0], holder.spec.has_hooks or holder.hooks_seen, holder.state, event, now):
        return found
    return _post(found, seat, holder, now)


def due(handoff: Handoff, now: Moment) -> Instant | None:
    """When a text that did not arrive is tried again; None where that waits for no time."""
    at = handoff.letters[0].due if handoff.letters and handoff.posted is None else None
    return at if at is not None and at > now.at else None


def owe(found: Step, seat: Seat, word: Letter, now: Moment) -> Step:
    """Give the holder a word of phoenixd's own before all else: now, or as soon as it can read it."""
    handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
    if handoff is None or holder is None:
        return found
    found = _with(found, seat, replace(handoff, letters=(word, *handoff.letters)))
    return found if handoff.posted is not None else _post(found, found.fleet.seats[seat.name], holder, now)


def hand_on(found: Step, seat: Seat, old: Agent) -> Step:
    """Keep what a person has answered to questions that the predecessor left, and that no run of it was told."""
    handoff = seat.handoff
    given = [one for one in old.items if one.left and one.answer]
    if handoff is None or not given:
        return found
    told = tuple(Letter(f"{_of(handoff)}answer-{one.id}", leftover.words_of(one)) for one in given)
    return _with(found, seat, replace(handoff, letters=(*handoff.letters, *told)))


def passed_on(last: Handoff) -> Handoff:
    """What the next handoff takes over: all texts but the word that the last handoff was called off.

    Where that word is being typed it stays known until its verdict, for no other text may be typed meanwhile.
    """
    return replace(last, letters=tuple(one for one in last.letters if one.text != CALLED_OFF))


def called_off(handoff: Handoff) -> Letter:
    """The word to go on, once for each round of a handoff."""
    return Letter(f"{_of(handoff)}{handoff.rounds}-off", CALLED_OFF, "phoenixd")


def go_on(before: Fleet, found: Step, event: RunAdopted, now: Moment) -> Step:
    """A holder whose shim holds answers of a handoff that the journal has lost was told to begin nothing: it gets its
    tools back, and is told so. A part.
    """
    holder = found.fleet.roster.living(event.agent, event.incarnation)
    seat = found.fleet.seats.get(holder.spec.seat) if holder is not None and holder.spec.seat else None
    if holder is None or seat is None or seat.holder != holder.name:
        return found
    if seat.handoff is not None and not seat.handoff.is_over:
        return found
    strange = (id for id, _ in event.armed or () if armed.of(holder, id) is None)
    lost = sorted(begins for id in strange if (begins := freezing.begins_with(id)) is not None)
    if not lost or not isinstance(holder.state, Running) or requests.unheard(holder) is not None:
        return found
    told = Deliver(holder.name, holder.incarnation, f"{lost[-1]}-off", CALLED_OFF, now.at + TYPED_WITHIN)
    why = "told to go on: the journal has lost the handoff that it was told to finish for"
    return put(found, Decision(holder, (told,), why, weight="story"), now)


def _is_past(handoff: Handoff, letter: Letter) -> bool:
    """Whether it is the word that an earlier handoff was called off."""
    return letter.text == CALLED_OFF and not letter.message_id.startswith(_of(handoff))


def _of(handoff: Handoff) -> str:
    """How the ids of this handoff's own words begin."""
    return f"handoff-{handoff.id}-"


def _waits(letter: Letter, tells_turns: bool, state: Running, event: Event, now: Moment) -> bool:
    """Whether a text that did not arrive is not tried now: the end of a turn counts where one is told of, else time."""
    if not letter.misses:
        return False
    is_due = letter.due is None or letter.due <= now.at
    if not tells_turns:
        return not is_due
    return state.activity.turn_open or (isinstance(event, NotDelivered) and not is_due)


def _post(found: Step, seat: Seat, holder: Agent, now: Moment) -> Step:
    """Type the first text that waits, where the holder can read it."""
    handoff, state = seat.handoff, holder.state
    if handoff is None or not isinstance(state, Running) or requests.unheard(holder) is not None:
        return found
    letter = handoff.letters[0]
    posting = replace(
        handoff, letters=handoff.letters[1:], posted=letter, posted_to=holder.name, posted_run=holder.incarnation
    )
    found = _with(found, seat, posting)
    if letter.text == CALLED_OFF:
        # Nobody asks for anything by it, so it does not count as a message of somebody's.
        text = Deliver(holder.name, holder.incarnation, letter.message_id, letter.text, now.at + TYPED_WITHIN)
        return put(found, Decision(holder, (text,), "told to go on"), now)
    order = SendRequested(holder.name, letter.message_id, letter.text, letter.by)
    sent = requests.send(holder, order, Seen(holder, Decision(holder)), now)
    return put(found, replace(sent, reason=f"kept over the handoff: {sent.reason}", weight="story"), now)


def _with(found: Step, seat: Seat, handoff: Handoff) -> Step:
    seats = {**found.fleet.seats, seat.name: replace(seat, handoff=handoff)}
    return replace(found, fleet=replace(found.fleet, seats=seats))
