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
from phoenixd.core.handoff.state import Handoff, Late, Letter
from phoenixd.core.hooks import PromptSubmitted
from phoenixd.core.moment import Moment
from phoenixd.core.tasks.names import is_notice

AFTER_SNAPSHOT = frozenset({states.Step.SNAPSHOT, states.Step.SPAWN, states.Step.AWAIT_ACK})
MOST, TEXT_LIMIT = 50, 4000
"""Prompts that are kept, and characters of each; of more the number is told."""


def hear_prompt(before: Fleet, found: Step, event: PromptSubmitted, now: Moment) -> Step:
    """Somebody submits something to the predecessor, which the package does not know any more."""
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
    """Another daemon: an addendum that the one before may not have written is ordered again."""
    for seat in tuple(found.fleet.seats.values()):
        handoff, holder = seat.handoff, found.fleet.agents.get(seat.holder)
        if handoff is None or holder is None or handoff.addendum != "asked":
            continue
        order = WriteAddendum(handoff.seat, handoff.id)
        why = f"handoff {handoff.id}: a daemon began, and its addendum is ordered again"
        found = put(found, Decision(holder, (order,), why, weight="detail"), now)
    return found


def hear_written(before: Fleet, found: Step, event: AddendumWritten, now: Moment) -> Step:
    """The addendum is written, or cannot be, or nothing came too late: the successor is told of what there is."""
    seat = before.seats.get(event.agent)
    handoff = seat.handoff if seat is not None else None
    holder = found.fleet.agents.get(seat.holder) if seat is not None else None
    if handoff is None or holder is None or (handoff.id, handoff.addendum) != (event.handoff, "asked"):
        return found
    made = replace(handoff, addendum="made")
    text = _told(handoff, event)
    if not text:
        return _taken(found, made, Decision(holder, reason=f"handoff {handoff.id}: nothing came too late"), now)
    letter = Letter(f"handoff-{handoff.id}-addendum", text, "phoenixd")
    why = event.why or f"{event.files} files changed and {event.said} prompts came after the package was written"
    told = Decision(holder, reason=f"handoff {handoff.id}: {why}", weight="story")
    return _taken(found, replace(made, letters=(*made.letters, letter)), told, now)


def owed(last: Handoff) -> tuple[Letter, ...]:
    """The word of an addendum that is not written as the next handoff begins: what was submitted must not be lost."""
    if last.addendum != "asked":
        return ()
    unknown = f"the addendum of the handoff before ({last.id}) was not written yet: look yourself which files changed."
    return (Letter(f"handoff-{last.id}-addendum", _in_words(last, unknown), "phoenixd"),)


def _told(handoff: Handoff, event: AddendumWritten) -> str:
    if event.path:
        files = f"{event.files} file{'' if event.files == 1 else 's'} changed"
        said = f"{event.said} prompt{'' if event.said == 1 else 's'} came to the session before you"
        return f"{words.ADDENDUM}{files}, and {said}. Read the addendum: {event.path}"
    if not event.why:
        return ""
    return _in_words(handoff, "its addendum could not be written, so look yourself which files changed.")


def _in_words(handoff: Handoff, unknown: str) -> str:
    """The prompts, which are known here; only what changed on the disk is not."""
    told = [f"- {one.text}" for one in handoff.late]
    listed = "\n".join(["What was submitted to the session before you meanwhile:", *told]) if told else ""
    return f"{words.ADDENDUM}{unknown} {listed}".strip()


def _is_ours(event: PromptSubmitted) -> bool:
    return event.source == "machine" or words.is_ours(event.text) or is_notice(event.text) or cut.is_ours(event.text)


def _taken(found: Step, handoff: Handoff, decision: Decision, now: Moment) -> Step:
    seat = found.fleet.seats[handoff.seat]
    seats = {**found.fleet.seats, seat.name: replace(seat, handoff=handoff)}
    return put(replace(found, fleet=replace(found.fleet, seats=seats)), decision, now)
