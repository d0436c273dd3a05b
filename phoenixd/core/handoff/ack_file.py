"""A successor acknowledges by a file in its session's directory, as a program does that runs no phoenixctl (E47).

Any process of the same user can write that file, so it names the run that wrote it. One of the predecessor, or of the
successor of an earlier try, is no word of this successor's, and is ignored. Parts of the table.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import AckFileSeen
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import freezing, orders
from phoenixd.core.handoff import state as states
from phoenixd.core.handoff.following import taken
from phoenixd.core.handoff.move import Move
from phoenixd.core.handoff.state import Claim, Handoff
from phoenixd.core.moment import Moment

MOST_FILES = 20
"""Files of one try that are judged. Each that is refused is a text to the successor."""

MOST_REFUSED = 200
"""Characters of why a file was refused that are kept."""

NO_RUN = "it does not say run: the value of the environment variable PHOENIX_RUN_ID"


def hear(before: Fleet, found: Step, event: AckFileSeen, now: Moment) -> Step:
    """The file stands there: what it says is held against the disk, and then judged as `handoff ack` is."""
    seat = found.fleet.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    if handoff is None or handoff.id != event.handoff or handoff.step is not states.Step.AWAIT_ACK or handoff.acked:
        return found
    new = orders.new_of(found, handoff)
    if new is None or new.run is None or event.mark == handoff.ack_file or handoff.ack_files >= MOST_FILES:
        return found
    heard = replace(handoff, ack_file=event.mark, ack_files=handoff.ack_files + 1)
    why = None if event.fault else _is_of_another(heard, event, orders.old_of(found, heard), new)
    if why is not None:
        return taken(found, Move(heard, f"its handoff-ack.json is ignored: {why}"), now)
    fault = event.fault or ("" if event.run else NO_RUN)
    if fault:
        noted = replace(heard, refused=fault[:MOST_REFUSED])
        return refused(taken(found, Move(noted, f"its handoff-ack.json is refused: {fault}"), now), noted, fault, now)
    claimed = replace(heard, claim=Claim(event.package, event.word, event.facts, by_file=True))
    return taken(found, Move(claimed, "its handoff-ack.json acknowledges: looking at the package", ("check",)), now)


def refused(found: Step, handoff: Handoff, why: str, now: Moment) -> Step:
    """Tell the successor why its file was not believed; no reminder has to follow."""
    new = orders.new_of(found, handoff)
    told = freezing.refuse_file(new, handoff, why, now) if new is not None else None
    if told is None or not told.actions:
        return found
    seat = found.fleet.seats[handoff.seat]
    seats = {**found.fleet.seats, seat.name: replace(seat, handoff=replace(handoff, reminded=True))}
    return put(replace(found, fleet=replace(found.fleet, seats=seats)), told, now)


def _is_of_another(handoff: Handoff, event: AckFileSeen, old: Agent | None, new: Agent) -> str | None:
    """Why it is no word of the run that is to acknowledge; None where nothing says so."""
    assert new.run is not None
    if event.generation and event.generation != str(handoff.successor):
        return f"it says that it is of another generation than {handoff.successor}"
    if event.session and event.session != handoff.session:
        return f"it says that it is of another session than {handoff.session}"
    if not event.run or event.run == new.run.run_id:
        return None
    if old is not None and old.run is not None and event.run == old.run.run_id:
        return f"its predecessor, generation {handoff.predecessor}, wrote it"
    return f"it names another run than the one that generation {handoff.successor} is at"
