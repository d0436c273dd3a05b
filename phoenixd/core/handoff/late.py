"""What came too late for the package: prompts to the predecessor, and files that changed. Parts of the table.

Both stand in an addendum beside the package, which is written at the fence. The successor is told where it lies.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core import cut
from phoenixd.core.actions import WriteAddendum
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.handoffs import AddendumWritten
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.handoff import state as states
from phoenixd.core.handoff import words
from phoenixd.core.handoff.state import Handoff, Late, Letter, OwedAddendum
from phoenixd.core.hooks import PromptSubmitted
from phoenixd.core.moment import Moment
from phoenixd.core.tasks.names import is_notice

AFTER_SNAPSHOT = frozenset({states.Step.SNAPSHOT, states.Step.SPAWN, states.Step.AWAIT_ACK})
MOST, TEXT_LIMIT = 50, 4000
"""Prompts that are kept, and characters of each; of more the number is told."""


def hear_prompt(before: Fleet, found: Step, event: PromptSubmitted, now: Moment) -> Step:
    """Somebody submits a prompt to the predecessor, too late for the package."""
    agent = before.roster.living(event.agent, event.incarnation)
    seat = found.fleet.seats.get(agent.spec.seat) if agent is not None and agent.spec.seat else None
    handoff = seat.handoff if seat is not None else None
    if agent is None or handoff is None or handoff.step not in AFTER_SNAPSHOT:
        return found
    if event.sub or agent.spec.generation != handoff.predecessor or not event.text.strip() or _is_ours(event):
        return found
    late = Late(event.text[:TEXT_LIMIT], now.wall)
    if late.text in {one.text for one in handoff.late}:
        return found
    kept = replace(handoff, late=(*handoff.late, late)[:MOST], later=handoff.later + (len(handoff.late) >= MOST))
    why = f"handoff {handoff.id}: what was submitted goes into the addendum of its package"
    return _taken(found, kept, Decision(found.fleet.agents[agent.name], reason=why, weight="story"), now)


def ordered(handoff: Handoff) -> tuple[Handoff, tuple[WriteAddendum, ...]]:
    """The handoff at its fence, and the order to write down what came too late."""
    if handoff.step is not states.Step.FENCE or handoff.addendum:
        return handoff, ()
    return replace(handoff, addendum="asked"), (WriteAddendum(handoff.seat, handoff.id),)


def begin_anew(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """Another daemon: an addendum that the one before may not have written is ordered again.

    Before all other work on files, for a package that is written notes anew how the workspace is.
    """
    for seat in tuple(found.fleet.seats.values()):
        handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
        if handoff is None or holder is None:
            continue
        for one in owed(handoff):
            order = WriteAddendum(handoff.seat, one.id)
            why = f"handoff {one.id}: a daemon began, and its addendum is ordered again"
            found = put(found, Decision(holder, (order,), why, weight="detail"), now)
    return found


def hear_written(before: Fleet, found: Step, event: AddendumWritten, now: Moment) -> Step:
    """The addendum is written, or cannot be, or nothing came too late: the successor is told of what there is."""
    seat = before.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    holder = found.fleet.agents.get(seat.holder) if seat is not None else None
    one = asked_for(handoff, event.handoff) if handoff is not None else None
    if handoff is None or holder is None or one is None:
        return found
    if is_own := one.id == handoff.id:
        made = replace(handoff, addendum="made")
    else:
        made = replace(handoff, owed=tuple(other for other in handoff.owed if other.id != one.id))
    text = _told(one, event, "the session before you" if is_own else f"the session that handoff {one.id} ended")
    if not text:
        return _taken(found, made, Decision(holder, reason=f"handoff {one.id}: nothing came too late"), now)
    letter = Letter(f"handoff-{one.id}-addendum", text, "phoenixd")
    why = event.why or f"{event.files} files changed and {event.said} prompts came after the package was written"
    told = Decision(holder, reason=f"handoff {one.id}: {why}", weight="story")
    return _taken(found, replace(made, letters=(*made.letters, letter)), told, now)


def owed(last: Handoff) -> tuple[OwedAddendum, ...]:
    """The addenda that are not written yet as the next handoff begins: it brings them to an end."""
    if last.addendum != "asked":
        return last.owed
    own = OwedAddendum(
        last.id, last.project, last.predecessor, last.rounds, last.package, last.previous_session, last.session,
        last.late, last.later,
    )  # fmt: skip
    return (*last.owed, own)


def asked_for(handoff: Handoff, id: str) -> OwedAddendum | None:
    """The addendum of the handoff of this id, whether that is the present one or one before; None: none is wanted."""
    return next((one for one in owed(handoff) if one.id == id), None)


def _told(one: OwedAddendum, event: AddendumWritten, whom: str) -> str:
    if event.path:
        files = f"{event.files} file{'' if event.files == 1 else 's'} changed"
        said = f"{event.said} prompt{'' if event.said == 1 else 's'} came to {whom}"
        return f"{words.ADDENDUM}{files}, and {said}. Read the addendum: {event.path}"
    if not event.why:
        return ""
    # The prompts are known here; only what changed on the disk is not.
    listed = [f"- {late.text}" for late in one.late]
    told = "\n".join([f" What was submitted to {whom} meanwhile:", *listed]) if listed else ""
    return f"{words.ADDENDUM}its addendum could not be written, so look yourself which files changed.{told}"


def _is_ours(event: PromptSubmitted) -> bool:
    return event.source == "machine" or words.is_ours(event.text) or is_notice(event.text) or cut.is_ours(event.text)


def _taken(found: Step, handoff: Handoff, decision: Decision, now: Moment) -> Step:
    seat = found.fleet.seats[handoff.seat]
    seats = {**found.fleet.seats, seat.name: replace(seat, handoff=handoff)}
    return put(replace(found, fleet=replace(found.fleet, seats=seats)), decision, now)
