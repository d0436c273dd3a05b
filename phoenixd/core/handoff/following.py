"""Every handoff goes as far as it can with each event; those that are due begin. Parts of the table."""

from __future__ import annotations

from phoenixd.core.actions import Action, Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event, RunEvent
from phoenixd.core.events.fleet import Rebooted, Tick
from phoenixd.core.events.resonance import RestorationRequested
from phoenixd.core.facts import Fact, HandoffEnded
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import compaction, freezing, late, letters, machine, orders, records, spacing, triggers
from phoenixd.core.handoff import state as states
from phoenixd.core.handoff.move import Move
from phoenixd.core.handoff.state import Handoff, Trigger
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import restoring
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat

ALERT = "handoff"
"""The alert that a handoff came to nothing, that a generation cannot be ended, or that its successor is half full."""

ROOM = 0.5
"""The share of its window beyond which a successor cannot have read its package and little else (E76, F-HO-17)."""

ROOM_WITHIN = 60.0
"""Seconds after its end in which the first reading of a successor still says how full it was at its ack."""

MOST_MOVES = 50
"""Moves of one handoff by one event. A rule that goes round is a fault, and must not stop the daemon's loop."""


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Advance every handoff as far as it goes now; begin what is due."""
    about = getattr(event, "agent", None)
    for name, seat in found.fleet.seats.items():
        handoff = seat.handoff
        is_idle = handoff is None or (handoff.is_over and not letters.texts(handoff))
        if is_idle and about not in (name, seat.holder) and not isinstance(event, Tick):
            continue  # Only its own events and deadlines begin one: the cost of others' does not grow with the seats.
        found = _follow_one(_still_wanted(before, found, handoff, event, now), name, event, now)
    return found


def _still_wanted(before: Fleet, found: Step, handoff: Handoff | None, event: Event, now: Moment) -> Step:
    """A predecessor whose run ended on purpose stays wanted: its seat goes on, and a rollback starts it again.

    What an operator orders has called the handoff off before this is asked, and what is found of an old journal is no
    end of a run.
    """
    if handoff is None or not handoff.is_before_fence or not isinstance(event, RunEvent | Rebooted):
        return found
    old = orders.old_of(found, handoff)
    known = before.agents.get(old.name) if old is not None else None
    if old is None or known is None or (known.desired, old.desired) != (Desired.RUNNING, Desired.STOPPED):
        return found
    why = "its seat passes on: it stays wanted"
    return put(found, Decision(replace(old, desired=Desired.RUNNING), reason=why, weight="detail"), now)


def begin(found: Step, seat: Seat, trigger: Trigger, why: str, by: str, now: Moment) -> Step:
    """Begin a handoff of a seat that has none under way."""
    started = machine.begin(seat.name, seat.project, seat.generation, seat.handoff, trigger, why, by, now)
    if (last := seat.handoff) is not None:
        last = letters.passed_on(last)
        started = replace(
            started, letters=last.letters, posted=last.posted, posted_to=last.posted_to, posted_run=last.posted_run,
            owed=late.owed(last),
        )  # fmt: skip
    said = f"begun by {by}: {why}" if why else f"begun by {by}"
    holder = found.fleet.agents.get(seat.holder)
    if holder is not None and any(one.kind == ALERT for one in holder.alerts):
        # What it asks for is done by this: beside a handoff that goes on it would hide its steps.
        rest = tuple(one for one in holder.alerts if one.kind != ALERT)
        found = put(
            found, Decision(replace(holder, alerts=rest), reason="the next handoff begins", weight="detail"), now
        )
    return taken(found, Move(started, said), now)


def taken(found: Step, move: Move, now: Moment) -> Step:
    """Take a move into the fleet: the value first, then what it orders."""
    handoff, addenda = late.ordered(move.handoff)
    seat = found.fleet.seats[handoff.seat]
    found = replace(
        found, fleet=replace(found.fleet, seats={**found.fleet.seats, seat.name: replace(seat, handoff=handoff)})
    )
    agent = _teller(found, handoff)
    actions: tuple[Action, ...] = (*_alerts(agent, handoff), *addenda, *records.ordered(handoff))
    reason = f"handoff {handoff.id}, {handoff.step.value}: {move.reason}"
    facts = _ended(handoff)
    if agent is not None:
        if handoff.is_over and handoff.lingers:
            # What could not be ended is gone; a text that did not arrive is still one.
            agent = replace(agent, alerts=tuple(one for one in agent.alerts if one.kind != ALERT or one.about))
        decision = Decision(agent, actions, reason, _readings(handoff), facts=facts, weight="story")
        found = put(found, decision, now)
    else:
        found = replace(found, decisions=(*found.decisions, Decision(None, (), reason, facts=facts, weight="story")))
    for order in move.orders:
        found = orders.carry_out(found, found.fleet.seats[handoff.seat].handoff or handoff, order, now)
    return found


def _follow_one(found: Step, name: str, event: Event, now: Moment) -> Step:
    for _ in range(MOST_MOVES):
        seat = found.fleet.seats.get(name)
        if seat is None:
            return found
        handoff = seat.handoff
        if handoff is None or handoff.is_over:
            found = _note_room(letters.deliver(found, seat, event, now), name, now)
            if (present := found.fleet.agents.get(seat.holder)) is not None:
                found = compaction.keep(found, present, handoff, now)
            return _begin_if_due(found, found.fleet.seats[name], event, now)
        old, new = orders.old_of(found, handoff), orders.new_of(found, handoff)
        holder = old if old is not None else new
        if holder is None:
            return found
        move = machine.advance(
            handoff, old, new, holder.spec.handoff, freezing.way_to_tell(old), _waits(found.fleet), now
        )
        if move is None and handoff.step is states.Step.ROLLBACK and not handoff.again:
            # The predecessor holds the seat afterwards, whatever its successor's end takes.
            return letters.deliver(found, seat, event, now)
        if move is None:
            return _kept_from_much(found, handoff, now) if handoff.is_before_fence else found
        found = taken(found, move, now)
    return found


def _kept_from_much(found: Step, handoff: Handoff, now: Moment) -> Step:
    """What the predecessor is kept from stays so for as long as the handoff goes on."""
    found = orders.carry_out(found, handoff, "renew", now)
    old = orders.old_of(found, handoff)
    return compaction.keep(found, old, handoff, now) if old is not None else found


def _begin_if_due(found: Step, seat: Seat, event: Event, now: Moment) -> Step:
    if not isinstance(event, Tick) and getattr(event, "agent", None) not in (seat.name, seat.holder):
        return found
    holder = found.fleet.agents.get(seat.holder)
    if holder is None or holder.removing:
        return found
    due, by = triggers.found(holder, seat.handoff, now), "phoenixd"
    if isinstance(event, RestorationRequested) and isinstance(holder.state, Running):
        # An operator's order is held back by nothing that keeps handoffs from beginning by themselves.
        if lost := restoring.hands_over(holder):
            due, by = ("marker", lost), event.by
    if due is None:
        return spacing.note(found, seat, holder, now)
    if orders_of_others(found, seat):
        return found
    if (stranger := name_taken(found, seat)) is not None:
        return _told_of_stranger(found, holder, stranger, now)
    trigger, why = due
    return _follow_one(begin(found, seat, trigger, why, by, now), seat.name, event, now)


def orders_of_others(found: Step, seat: Seat) -> bool:
    """Whether another generation of the seat still exists, so that the next one has to wait."""
    return any(
        agent.spec.seat == seat.name and agent.spec.generation != seat.generation
        for agent in found.fleet.agents.values()
    )


def name_taken(found: Step, seat: Seat) -> str | None:
    """The next generation's name, where an agent has it that is no generation, from before such names were reserved."""
    name = generation_name(seat.name, seat.generation + 1)
    agent = found.fleet.agents.get(name)
    return name if agent is not None and agent.spec.seat != seat.name else None


def _told_of_stranger(found: Step, holder: Agent, stranger: str, now: Moment) -> Step:
    if any(one.kind == ALERT and not one.about for one in holder.alerts):
        return found
    text = (
        f"a handoff is due and cannot begin: its next generation would be called {stranger}, and another agent is. "
        f"Declare that one under another name, then: phoenixctl remove {stranger}"
    )
    return put(found, Decision(holder, (Alert(holder.name, ALERT, text),), f"the name {stranger} is taken"), now)


def _note_room(found: Step, name: str, now: Moment) -> Step:
    """Note how full a successor was, where its ack came before the first reading of its transcript (E76, F-HO-17)."""
    seat = found.fleet.seats[name]
    handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
    if handoff is None or handoff.step is not states.Step.DONE or handoff.share is not None or holder is None:
        return found
    is_same_run = (holder.spec.generation, holder.incarnation) == (handoff.successor, handoff.base + 1)
    if not is_same_run or now.at > handoff.ended + ROOM_WITHIN:
        return found
    share = read(meters.of(holder), holder.spec.context).share
    if share is None:
        return found
    noted = replace(handoff, share=share)
    seats = {**found.fleet.seats, name: replace(seat, handoff=noted)}
    found = replace(found, fleet=replace(found.fleet, seats=seats))
    why = f"handoff {handoff.id}: its context was {share:.1%} full"
    return put(found, Decision(holder, _alerts(holder, noted), why, _readings(noted), facts=_ended(noted)), now)


def _alerts(agent: Agent | None, handoff: Handoff) -> tuple[Alert, ...]:
    """Their kind is handoff, and every face says that before the text."""
    if agent is None:
        return ()
    if handoff.step is states.Step.ROLLED_BACK and not handoff.is_back_by_order:
        most = triggers.MOST_ROLLBACKS
        last = f"; after {most} in a row phoenixd begins none by itself" if handoff.rollbacks >= most else ""
        text = (
            f"{handoff.id} was rolled back: {handoff.why_back}{last}. "
            f"Look: phoenixctl handoff status {handoff.seat}; {_again(handoff)}"
        )
        return (Alert(agent.name, ALERT, text),)
    if handoff.step is states.Step.ROLLBACK and handoff.lingers:
        successor = generation_name(handoff.seat, handoff.successor)
        text = (
            f"{handoff.id} is rolled back, and its successor cannot be ended; no other handoff can begin "
            f"before that. Look: phoenixctl explain {successor}"
        )
        return (Alert(agent.name, ALERT, text),)
    if handoff.step is states.Step.SHUTDOWN and handoff.lingers:
        predecessor = generation_name(handoff.seat, handoff.predecessor)
        text = (
            f"{handoff.id}: generation {handoff.successor} holds the seat, and generation "
            f"{handoff.predecessor} cannot be ended; no other handoff can begin, and no restart, before it is gone. "
            f"End its processes as root, kill -9 PID; which, and why they live: phoenixctl explain {predecessor}"
        )
        return (Alert(agent.name, ALERT, text),)
    if handoff.step is states.Step.DONE and handoff.share is not None and handoff.share > ROOM:
        text = (
            f"{handoff.id}: {handoff.share:.0%} of the successor's window was taken at its acknowledgement. "
            f"Look whether only the present phase is loaded: phoenixctl handoff status {handoff.seat}"
        )
        return (Alert(agent.name, ALERT, text),)
    return ()


def _again(handoff: Handoff) -> str:
    anew = f"phoenixctl handoff start {handoff.seat}"
    return f"bring that back, or begin it anew: {handoff.remedy} && {anew}" if handoff.remedy else f"again: {anew}"


def _teller(found: Step, handoff: Handoff) -> Agent | None:
    """The generation in whose story a move stands: the holder's."""
    seat = found.fleet.seats[handoff.seat]
    holder: Agent | None = found.fleet.agents.get(seat.holder)
    return holder


def _ended(handoff: Handoff) -> tuple[Fact, ...]:
    return (HandoffEnded(replace(handoff, letters=(), posted=None, late=(), owed=())),) if handoff.is_over else ()


def _readings(handoff: Handoff) -> tuple[tuple[str, str | int | float | None], ...]:
    return (("handoff", handoff.id), ("step", handoff.step.value), ("tries", handoff.tries))


def _waits(fleet: Fleet) -> str:
    """Why no agent can be started now."""
    if fleet.halted is not None:
        return "starts wait for the journal"
    return "starts wait for the terminal" if fleet.hold_until is not None else ""
