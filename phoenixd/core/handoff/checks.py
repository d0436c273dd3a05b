"""What a person looks at where a handoff went wrong, or its successor is full (E75, E76). It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff import spacing as between
from phoenixd.core.handoff import triggers
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Moment
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat

ROOM = 0.5


@dataclass(frozen=True, slots=True)
class Check:
    """One look. well: None where it cannot be told yet."""

    name: str
    well: bool | None
    what: str


def checks(fleet: Fleet, seat: Seat) -> tuple[Check, ...]:
    """All of them, for the handoff that goes on or the last one; none where there was none."""
    handoff = seat.handoff
    if handoff is None:
        return ()
    return (_updates(handoff), _package(handoff), _loaded(handoff), _predecessor(fleet, handoff), _room(fleet, handoff))


def spacing(fleet: Fleet, seat: Seat, now: Moment) -> tuple[Check, ...]:
    """That the next one is due and waits for the time between two."""
    holder = fleet.agents.get(seat.holder)
    if holder is None or holder.removing or seat.handoff is None or not seat.handoff.is_over:
        return ()
    wait = triggers.waiting(holder, seat.handoff, now)
    return (Check("next handoff", None, between.words(wait, holder, now)),) if wait is not None else ()


def past(handoff: Handoff) -> tuple[Check, ...]:
    """Those of a handoff that is over, by what it had come to then."""
    down = handoff.step is Step.DONE
    gone = Check("predecessor down", down, "it is gone" if down else "it went on")
    return (_updates(handoff), _package(handoff), _loaded(handoff), gone, _taken(handoff.share))


def _updates(handoff: Handoff) -> Check:
    name, is_back = "updates finished", handoff.step in (Step.ROLLBACK, Step.ROLLED_BACK)
    if handoff.step is Step.SNAPSHOT or _is_past(handoff, Step.SNAPSHOT):
        return Check(name, not handoff.stale, handoff.stale or "plans, contexts and manifests are up to date")
    if is_back and _is_past(handoff, Step.UPDATE) and not handoff.is_back_by_order:
        return Check(name, False, handoff.why_back)
    return Check(name, None, f"the project's files are at {handoff.step.value}")


def _package(handoff: Handoff) -> Check:
    if handoff.package:
        return Check("package written", True, f"hash {handoff.package[:12]}, session {handoff.session}")
    over = handoff.step in (Step.ROLLBACK, Step.ROLLED_BACK)
    return Check("package written", False if over else None, handoff.why_back or "not yet")


def _loaded(handoff: Handoff) -> Check:
    if handoff.acked:
        return Check("package loaded", True, f"generation {handoff.successor} quoted it")
    over = handoff.step in (Step.ROLLBACK, Step.ROLLED_BACK)
    return Check("package loaded", False if over else None, f"tries: {handoff.tries}; {_no_ack(handoff)}")


def _no_ack(handoff: Handoff) -> str:
    return f"the newest ack was refused: {handoff.refused}" if handoff.refused else "no good ack yet"


def _predecessor(fleet: Fleet, handoff: Handoff) -> Check:
    name = generation_name(handoff.seat, handoff.predecessor)
    agent = fleet.agents.get(name)
    if handoff.step is Step.DONE:
        return Check("predecessor down", agent is None, "it is gone" if agent is None else f"{name} is still there")
    return Check("predecessor down", None, f"{name} is {agent.state_words}" if agent is not None else f"{name} is gone")


def _room(fleet: Fleet, handoff: Handoff) -> Check:
    agent = fleet.agents.get(generation_name(handoff.seat, handoff.successor))
    present = read(meters.of(agent), agent.spec.context).share if agent is not None else None
    if handoff.share is None and present is not None:
        return Check(
            "room in the successor", None, f"{present:.1%} of its window is taken so far; what is at its ack is awaited"
        )
    return _taken(handoff.share)


def _taken(share: float | None) -> Check:
    if share is None:
        return Check("room in the successor", None, "how full it is was not told")
    return Check("room in the successor", share <= ROOM, f"{share:.1%} of its window was taken at its ack")


def _is_past(handoff: Handoff, step: Step) -> bool:
    return any(one.step is step for one in handoff.times)
