"""The next step of a handoff, derived from what it has come to and from what both generations are now. Pure.

    freeze -> drain -> update -> snapshot -> spawn -> await_ack -> fence -> shutdown -> done
       |        |        |          |          |  ^       |
       +--------+--------+----------+----------+--|-------+---> rollback -> rolled_back
                                               +--+ one more try

Nothing of it can get lost with the daemon: whatever is waited for is a fact about an agent, or is ordered anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Running, Starting, Stopped, Stopping
from phoenixd.core.handoff.generations import has_died, is_down, is_hard, is_resting, no_ack_of
from phoenixd.core.handoff.holding import held, predecessor_lost
from phoenixd.core.handoff.move import (
    COMING_UP,
    ENDING,
    ESCAPING,
    SAYING,
    WORK_LIMIT,
    Move,
    Order,
    back,
    ended,
    entered,
)
from phoenixd.core.handoff.state import Handoff, Said, Step, Trigger
from phoenixd.core.handoff.work import work_failed
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.rules import HandoffRules


def begin(
    seat: str, project: str, generation: int, last: Handoff | None, trigger: Trigger, why: str, by: str, now: Moment
) -> Handoff:
    """A new handoff of a seat that this generation holds."""
    id_ = now.new_id(seat, generation, "handoff")[:8]
    session = last.known_session if last is not None else ""
    failed = last.rollbacks if last is not None and last.step is Step.ROLLED_BACK else 0
    degraded = (f"the predecessor has lost the front of its context: {why}",) if trigger == "marker" else ()
    return Handoff(
        id_, seat, project, generation, trigger, why, now.wall, Step.FREEZE, now.at, now.wall, by,
        deadline=now.at + SAYING, rollbacks=failed, previous_session=session,
        degraded=degraded, spaced_before=last.spaced_from if last is not None else None,
    )  # fmt: skip


def advance(
    handoff: Handoff, old: Agent | None, new: Agent | None, rules: HandoffRules, way: Said, waits: str, now: Moment
) -> Move | None:
    """The next move; None while something has to be waited for.

    old, new: the predecessor and the newest successor, where they exist. way: how the predecessor can be told to finish
    now. waits: why no agent can be started now.
    """
    if handoff.is_over:
        return None
    if handoff.is_before_fence and (moved := predecessor_lost(handoff, old, new, now)) is not None:
        return moved
    if (moved := held(handoff, old, new, waits, now)) is not None:
        return moved
    overdue = not handoff.held and handoff.deadline is not None and now.at >= handoff.deadline
    move = _next(handoff, old, new, rules, way, overdue, now)
    if move is None and overdue:
        # Processes that end have deadlines of their own.
        return Move(
            replace(handoff, deadline=None), "its deadline has passed, and a run is being ended: waiting for that"
        )
    return move


def _next(
    handoff: Handoff, old: Agent | None, new: Agent | None, rules: HandoffRules, way: Said, overdue: bool, now: Moment
) -> Move | None:
    match handoff.step:
        case Step.FREEZE:
            return _freeze(handoff, old, rules, way, overdue, now)
        case Step.DRAIN:
            return _drain(handoff, old, rules, overdue, now)
        case Step.UPDATE | Step.SNAPSHOT:
            what = "the project's files were not brought up to date" if handoff.step is Step.UPDATE else "no package"
            return work_failed(handoff, f"{what} within {WORK_LIMIT:.0f} s", old, now) if overdue else None
        case Step.SPAWN:
            return _spawn(handoff, new, rules, overdue, now)
        case Step.AWAIT_ACK:
            return _await_ack(handoff, new, rules, overdue, now)
        case Step.FENCE:
            retiring = entered(handoff, Step.SHUTDOWN, now, ENDING)
            return Move(retiring, f"generation {handoff.predecessor} is shut down", ("retire",))
        case Step.SHUTDOWN:
            return _shut_down(handoff, old, overdue, now)
        case Step.ROLLBACK:
            return _roll_back(handoff, old, new, overdue, now)
        case Step.DONE | Step.ROLLED_BACK:
            return None
        case _:
            assert_never(handoff.step)


def _shut_down(handoff: Handoff, old: Agent | None, overdue: bool, now: Moment) -> Move | None:
    if old is None:
        done = ended(replace(handoff, rollbacks=0), Step.DONE, now)
        return Move(done, f"generation {handoff.successor} holds the seat alone")
    if not old.removing:
        return Move(handoff, "its predecessor is shut down", ("retire",))
    if handoff.lingers:
        return None
    if handoff.deadline is None:
        # A journal of before that deadline.
        return Move(replace(handoff, deadline=now.at + ENDING), f"generation {handoff.predecessor} is being ended")
    lingers = replace(handoff, deadline=None, lingers=True)
    return Move(lingers, f"generation {handoff.predecessor} cannot be ended: waiting for that") if overdue else None


def acked(handoff: Handoff, share: float | None) -> Move:
    """A good ack came."""
    return Move(replace(handoff, acked=True, share=share), f"generation {handoff.successor} has acknowledged")


def due(handoff: Handoff) -> Instant | None:
    """When a Tick is needed for it."""
    return None if handoff.is_over or handoff.held else handoff.deadline


def _freeze(
    handoff: Handoff, old: Agent | None, rules: HandoffRules, way: Said, overdue: bool, now: Moment
) -> Move | None:
    if handoff.alone:
        return _to_update(handoff, "its predecessor is down", now) if is_down(old) else None
    if handoff.said == "" and old is not None and isinstance(old.state, Running) and not handoff.held:
        told = replace(handoff, said=way)
        words = {"armed": "at the end of its turn", "sending": "by a text"}.get(way, "not, for nothing can tell it so")
        return Move(told, f"generation {handoff.predecessor} is told to finish: {words}", ("freeze",))
    if handoff.said not in ("", "sending") or overdue:
        said: Said = handoff.said if handoff.said not in ("", "sending") else "unsaid"
        draining = entered(handoff, Step.DRAIN, now, rules.drain, said=said)
        return Move(draining, "frozen: waiting for the end of its turn")
    return None


def _drain(handoff: Handoff, old: Agent | None, rules: HandoffRules, overdue: bool, now: Moment) -> Move | None:
    if handoff.alone:
        return _to_update(handoff, "its predecessor is down", now) if is_down(old) else None
    if old is None or not isinstance(old.state, Starting | Running) or handoff.held:
        return None
    rests = is_resting(old)
    jobs = old.run.jobs if old.run is not None else ()
    if rests and not jobs:
        return _to_update(handoff, "its turn is over", now)
    if not overdue and (handoff.escaped or not is_hard(old)):
        return None
    why = "for its context leaves no time" if is_hard(old) else f"after {in_words(rules.drain)}"
    if not rests and not handoff.escaped and old.spec.escape_ends_turn:
        # What is broken off can be rolled back to as it is; what is ended has to be resumed.
        left = replace(
            handoff, escaped=True, deadline=now.at + ESCAPING,
            degraded=(*handoff.degraded, f"its turn was cut off {why}"),
        )  # fmt: skip
        return Move(left, f"its turn is broken off {why}", ("escape",))
    if rests:
        left = replace(handoff, degraded=(*handoff.degraded, f"background tasks end with it: {'; '.join(jobs)[:500]}"))
        return _to_update(left, f"its turn is over, and its background tasks are not waited for {why}", now)
    if handoff.escaped:
        return Move(replace(handoff, alone=True), "its turn did not end by Escape: its run is ended", ("cut",))
    cut = replace(handoff, alone=True, degraded=(*handoff.degraded, f"its turn was cut off {why}"))
    return Move(cut, f"its turn is cut off {why}", ("cut",))


def _to_update(handoff: Handoff, why: str, now: Moment) -> Move:
    updating = entered(handoff, Step.UPDATE, now, WORK_LIMIT, attempt=1)
    return Move(updating, f"{why}: bringing the project's files up to date", ("update",))


def _spawn(handoff: Handoff, new: Agent | None, rules: HandoffRules, overdue: bool, now: Moment) -> Move | None:
    if not handoff.made:
        if new is not None:
            # The one of the try before; a new generation starts when nothing of it is left.
            if not new.removing:
                return Move(handoff, "the successor of the last try goes", ("dismiss",))
            return back(handoff, "the successor of the last try cannot be ended", now) if overdue else None
        made = replace(handoff, made=True, tries=handoff.tries + 1, deadline=now.at + COMING_UP)
        return Move(made, f"generation {made.successor} is started, try {made.tries} of {rules.tries}", ("make",))
    if new is not None and isinstance(new.state, Running):
        waiting = entered(handoff, Step.AWAIT_ACK, now, rules.ack, attempt=0)
        return Move(waiting, f"generation {handoff.successor} runs: waiting for its acknowledgement")
    if new is None or has_died(handoff, new):
        return _try_failed(handoff, no_ack_of(handoff, new), rules, now)
    if overdue:
        return _try_failed(handoff, f"generation {handoff.successor} did not run within {COMING_UP:.0f} s", rules, now)
    return None


def _await_ack(handoff: Handoff, new: Agent | None, rules: HandoffRules, overdue: bool, now: Moment) -> Move | None:
    if new is None or has_died(handoff, new):
        return _try_failed(handoff, no_ack_of(handoff, new), rules, now)
    if handoff.acked and isinstance(new.state, Running):
        fenced = entered(handoff, Step.FENCE, now)
        return Move(
            fenced, f"generation {handoff.successor} holds the seat; {handoff.predecessor} is fenced", ("pass",)
        )
    is_to_be_told = not handoff.reminded and handoff.claim is None
    if is_to_be_told and not overdue and not handoff.held and new.hooks_seen and is_resting(new):
        return Move(replace(handoff, reminded=True), "its successor's turn is over without an ack", ("remind",))
    if overdue:
        # Also one that is being ended: its end may never be known, and the predecessor is denied its tools meanwhile.
        why = f"generation {handoff.successor} did not acknowledge within {in_words(rules.ack)}"
        return _try_failed(handoff, why, rules, now)
    return None


def _try_failed(handoff: Handoff, why: str, rules: HandoffRules, now: Moment) -> Move:
    if handoff.tries >= rules.tries:
        return back(handoff, f"{why}, and {handoff.tries} tries are all", now)
    again = entered(handoff, Step.SPAWN, now, ENDING, made=False, acked=False, reminded=False, claim=None, ack_files=0)
    return Move(again, f"{why}: once more", ("dismiss",))


def _roll_back(handoff: Handoff, old: Agent | None, new: Agent | None, overdue: bool, now: Moment) -> Move | None:
    if new is not None and not new.removing:
        return Move(handoff, "its successor goes", ("dismiss",))
    if new is not None:
        lingers = replace(handoff, deadline=None, lingers=True)
        return Move(lingers, f"generation {handoff.successor} cannot be ended: waiting for that") if overdue else None
    unfrozen: tuple[Order, ...] = () if handoff.called_off else ("unfreeze",)
    if handoff.stays or old is None or old.desired is Desired.STOPPED:
        how = "rolled back" if old is not None and isinstance(old.state, Running) else "rolled back, and down"
        return Move(ended(handoff, Step.ROLLED_BACK, now), f"{how}: {handoff.why_back}", unfrozen)
    if isinstance(old.state, Stopping):
        return None
    down: tuple[Order, ...] = ("resume",) if isinstance(old.state, Stopped) else ()
    if handoff.again and down:
        return Move(handoff, "its predecessor is started again", down)
    if handoff.again and isinstance(old.state, BackingOff | Parked | Starting):
        return None
    if handoff.again and isinstance(old.state, Running):
        anew = entered(
            handoff, Step.FREEZE, now, SAYING, again=False, alone=False, said="", made=False, tries=0, acked=False,
            reminded=False, escaped=False, rounds=handoff.rounds + 1, why_back="", called_off=False, lingers=False,
            remedy="", late=(), later=0, stale="", claim=None, ack_files=0,
        )  # fmt: skip
        return Move(anew, f"rolled back ({handoff.why_back}): it begins once more")
    over = handoff if handoff.is_back_by_order else replace(handoff, rollbacks=handoff.rollbacks + 1)
    return Move(ended(over, Step.ROLLED_BACK, now), f"rolled back: {handoff.why_back}", (*down, *unfrozen))
