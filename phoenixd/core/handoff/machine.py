"""The next step of a handoff, derived from what it has come to and from what both generations are now. Pure.

    freeze -> drain -> update -> snapshot -> spawn -> await_ack -> fence -> shutdown -> done
       |        |        |          |          |  ^       |
       +--------+--------+----------+----------+--|-------+---> rollback -> rolled_back
                                               +--+ one more try

Nothing of it can get lost with the daemon: whatever is waited for is a fact about an agent, or is ordered anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.events.handoffs import PackageWritten
from phoenixd.core.handoff.state import Handoff, Said, Step, StepTime, Trigger
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.spec import HandoffRules

Order = Literal[
    "freeze",
    "silence",
    "renew",
    "unfreeze",
    "leave",
    "escape",
    "cut",
    "update",
    "write",
    "make",
    "dismiss",
    "remind",
    "pass",
    "retire",
    "resume",
]
"""What a step asks of the fleet.

freeze: tell the predecessor to finish, and deny it to begin work. silence: deny it every tool. renew: deny it both for
longer. unfreeze: take both back, and say so. leave: it is down, and is not to be restarted. escape: break its turn off.
cut: end its run. update, write: work on files. make: declare and start the next generation. dismiss: remove the newest
successor. remind: ask it for its ack once more. pass: the successor holds the seat. retire: remove the predecessor.
resume: start it again.
"""

SAYING = 60.0
"""Seconds in which the predecessor has to be told to finish."""
ESCAPING = 30.0
"""Seconds in which a turn has to be over, once Escape was pressed on it."""
WORK_LIMIT = 120.0
"""Seconds after which work on files is taken for failed."""
MOST_ATTEMPTS = 2
COMING_UP = 120.0
"""Seconds in which a successor has to run, once its start was asked for."""
ENDING = 300.0
"""Seconds after which a generation that was told to end is taken for one that cannot be ended."""
MOST_ROUNDS = 2
"""How often one handoff may begin: a reboot takes both generations, and is no reason to give up."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move: what the handoff is then, why, and what is ordered, in this order."""

    handoff: Handoff
    reason: str
    orders: tuple[Order, ...] = ()


def begin(
    seat: str, project: str, generation: int, last: Handoff | None, trigger: Trigger, why: str, by: str, now: Moment
) -> Handoff:
    """A new handoff of a seat that this generation holds."""
    id_ = now.new_id(seat, generation, "handoff")[:8]
    session = "" if last is None else last.session if last.step is Step.DONE else last.previous_session
    failed = last.rollbacks if last is not None and last.step is Step.ROLLED_BACK else 0
    degraded = (f"the predecessor has lost the front of its context: {why}",) if trigger == "marker" else ()
    return Handoff(
        id_, seat, project, generation, trigger, why, now.wall, Step.FREEZE, now.at, now.wall, by,
        deadline=now.at + SAYING, rollbacks=failed, previous_session=session,
        degraded=degraded,
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
    if handoff.is_before_fence and (moved := _predecessor_lost(handoff, old, new, now)) is not None:
        return moved
    if (moved := _held(handoff, old, new, waits, now)) is not None:
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
            retiring = _entered(handoff, Step.SHUTDOWN, now, ENDING)
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
        done = _ended(replace(handoff, rollbacks=0), Step.DONE, now)
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


def back(handoff: Handoff, why: str, now: Moment, *, stays: bool = False, again: bool = False) -> Move:
    """Give a handoff up: its successor goes, and the predecessor holds the seat as before."""
    again = again and handoff.rounds < MOST_ROUNDS
    undone = _entered(
        handoff, Step.ROLLBACK, now, ENDING, why_back=why, stays=stays, again=again, called_off=True
    )  # fmt: skip
    # The end of a successor may take long, and the predecessor need not wait for it.
    return Move(undone, f"rolling back: {why}", ("unfreeze", "dismiss"))


def updated(handoff: Handoff, now: Moment, note: str = "") -> Move:
    """The project's files are up to date. note: what went otherwise than the configuration says."""
    writing = _entered(handoff, Step.SNAPSHOT, now, WORK_LIMIT, attempt=1)
    return Move(
        writing,
        f"the project's files are up to date{f' ({note})' if note else ''}: writing the package",
        ("silence", "write"),
    )


def written(handoff: Handoff, event: PackageWritten, now: Moment) -> Move:
    """The package stands on disk. Where it was written again, the successor that is there goes on with it."""
    known = replace(
        handoff, package=event.package, word=event.word, facts=event.facts, opening=event.opening,
        previous_session=event.previous, session=event.session,
    )  # fmt: skip
    if handoff.made:
        return Move(known, f"the package was written again: {event.package[:12]}")
    return Move(_entered(known, Step.SPAWN, now), f"the package is written: {event.package[:12]}")


def work_failed(handoff: Handoff, why: str, old: Agent | None, now: Moment, *, final: bool = False) -> Move:
    """Work on files failed: once more, then without it where no way leads back, else back (E73, X30)."""
    order: Order = "update" if handoff.step is Step.UPDATE else "write"
    if handoff.attempt < MOST_ATTEMPTS and not final:
        again = replace(handoff, attempt=handoff.attempt + 1, deadline=now.at + WORK_LIMIT)
        return Move(again, f"{why}: once more", (order,))
    if handoff.step is Step.UPDATE and not final and (handoff.alone or _is_hard(old)):
        poorer = replace(handoff, degraded=(*handoff.degraded, why), stale=why)
        moved = updated(poorer, now)
        return replace(moved, reason=f"{why}; its context leaves no time: degraded")
    return back(handoff, why, now)


def changed(handoff: Handoff, now: Moment) -> Move | None:
    """The successor met a package that was changed: it is written again, but not for ever; None beyond that."""
    if handoff.attempt >= MOST_ATTEMPTS:
        return None
    later = max(handoff.deadline or 0.0, now.at + WORK_LIMIT)
    again = replace(handoff, attempt=handoff.attempt + 1, deadline=later)
    return Move(again, "the package file was changed: it is written again", ("write",))


def not_written_again(handoff: Handoff, why: str, now: Moment, *, final: bool) -> Move:
    """The package that was changed could not be written again; its successor asks once more, or runs out of time."""
    return back(handoff, why, now) if final else Move(handoff, f"the package was not written again: {why}")


def acked(handoff: Handoff, share: float | None) -> Move:
    """A good ack came."""
    return Move(replace(handoff, acked=True, share=share), f"generation {handoff.successor} has acknowledged")


def due(handoff: Handoff) -> Instant | None:
    """When a Tick is needed for it."""
    return None if handoff.is_over or handoff.held else handoff.deadline


def is_down(agent: Agent | None) -> bool:
    """Whether nothing of the agent runs, and nothing of it will by itself."""
    return agent is None or isinstance(agent.state, Stopped | Quarantined)


def _predecessor_lost(handoff: Handoff, old: Agent | None, new: Agent | None, now: Moment) -> Move | None:
    """The predecessor's end is no reason to restart it: the handoff goes on from files."""
    if old is not None and old.run is not None:
        return None
    if handoff.alone:
        is_due = old is not None and isinstance(old.state, BackingOff | Parked)
        return (
            Move(handoff, "its predecessor is not restarted: the handoff goes on without it", ("leave",))
            if is_due
            else None
        )
    if handoff.made and _has_died(handoff, new):
        return back(handoff, "both generations ended", now, again=True)
    end = old.last_exit if old is not None else None
    full = meters.of(old).full if old is not None else ""
    how = full or (end.text if end is not None else "it does not run")
    asked = handoff.trigger == "recycle" and handoff.step is Step.FREEZE
    what = "the predecessor could say nothing any more" if full else "the predecessor ended before the fence"
    degraded = handoff.degraded if asked else (*handoff.degraded, f"{what}: {how}")
    lone = replace(handoff, alone=True, degraded=degraded, held="")
    return Move(lone, f"its predecessor is down ({how}): the handoff goes on from files", ("leave",))


def _held(handoff: Handoff, old: Agent | None, new: Agent | None, waits: str, now: Moment) -> Move | None:
    """Stop the deadline, or let it run on."""
    why = _holding(handoff, old, new, waits)
    if why == handoff.held:
        return None
    if not handoff.held:
        return Move(replace(handoff, held=why, held_at=now.at), f"its deadline stands still: {why}")
    if why:
        return Move(replace(handoff, held=why), f"its deadline stands still: {why}")
    later = None if handoff.deadline is None else handoff.deadline + (now.at - handoff.held_at)
    return Move(replace(handoff, held="", deadline=later), "its deadline runs on")


def _holding(handoff: Handoff, old: Agent | None, new: Agent | None, waits: str) -> str:
    if handoff.step in (Step.FREEZE, Step.DRAIN):
        agent = old
    elif handoff.step in (Step.SPAWN, Step.AWAIT_ACK) and handoff.made:
        agent = new
    else:
        return ""
    if agent is None:
        return ""
    if agent.parking is not None:
        return f"{agent.name} is parked"
    if agent.outage is not None:
        return f"{agent.name} waits out an outage"
    if agent.activity is not None and agent.activity.waiting is not None:
        return f"{agent.name} asks a person ({agent.activity.waiting.kind})"
    if waits and isinstance(agent.state, BackingOff):
        return waits
    return ""


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
        draining = _entered(handoff, Step.DRAIN, now, rules.drain, said=said)
        return Move(draining, "frozen: waiting for the end of its turn")
    return None


def _drain(handoff: Handoff, old: Agent | None, rules: HandoffRules, overdue: bool, now: Moment) -> Move | None:
    if handoff.alone:
        return _to_update(handoff, "its predecessor is down", now) if is_down(old) else None
    if old is None or not isinstance(old.state, Starting | Running) or handoff.held:
        return None
    rests = _rests(old)
    jobs = old.run.jobs if old.run is not None else ()
    if rests and not jobs:
        return _to_update(handoff, "its turn is over", now)
    if not overdue and (handoff.escaped or not _is_hard(old)):
        return None
    why = "for its context leaves no time" if _is_hard(old) else f"after {in_words(rules.drain)}"
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
    updating = _entered(handoff, Step.UPDATE, now, WORK_LIMIT, attempt=1)
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
        waiting = _entered(handoff, Step.AWAIT_ACK, now, rules.ack, attempt=0)
        return Move(waiting, f"generation {handoff.successor} runs: waiting for its acknowledgement")
    if new is None or _has_died(handoff, new):
        return _try_failed(handoff, f"generation {handoff.successor} ended before its ack: {_end_of(new)}", rules, now)
    if overdue and isinstance(new.state, BackingOff | Starting):
        return _try_failed(handoff, f"generation {handoff.successor} did not run within {COMING_UP:.0f} s", rules, now)
    return None


def _await_ack(handoff: Handoff, new: Agent | None, rules: HandoffRules, overdue: bool, now: Moment) -> Move | None:
    if new is None or _has_died(handoff, new):
        return _try_failed(handoff, f"generation {handoff.successor} ended before its ack: {_end_of(new)}", rules, now)
    if handoff.acked and isinstance(new.state, Running):
        fenced = _entered(handoff, Step.FENCE, now)
        return Move(
            fenced, f"generation {handoff.successor} holds the seat; {handoff.predecessor} is fenced", ("pass",)
        )
    if not handoff.reminded and not overdue and not handoff.held and new.hooks_seen and _rests(new):
        return Move(replace(handoff, reminded=True), "its successor's turn is over without an ack", ("remind",))
    if overdue and not isinstance(new.state, Stopping):
        why = f"generation {handoff.successor} did not acknowledge within {in_words(rules.ack)}"
        return _try_failed(handoff, why, rules, now)
    return None


def _try_failed(handoff: Handoff, why: str, rules: HandoffRules, now: Moment) -> Move:
    if handoff.tries >= rules.tries:
        return back(handoff, f"{why}, and {handoff.tries} tries are all", now)
    again = _entered(handoff, Step.SPAWN, now, ENDING, made=False, acked=False, reminded=False)
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
        return Move(_ended(handoff, Step.ROLLED_BACK, now), f"{how}: {handoff.why_back}", unfrozen)
    if isinstance(old.state, Stopping):
        return None
    down: tuple[Order, ...] = ("resume",) if isinstance(old.state, Stopped) else ()
    if handoff.again and down:
        return Move(handoff, "its predecessor is started again", down)
    if handoff.again and isinstance(old.state, BackingOff | Parked | Starting):
        return None
    if handoff.again and isinstance(old.state, Running):
        anew = _entered(
            handoff, Step.FREEZE, now, SAYING, again=False, alone=False, said="", made=False, tries=0, acked=False,
            reminded=False, escaped=False, rounds=handoff.rounds + 1, why_back="", called_off=False, lingers=False,
            late=(), later=0, stale="",
        )  # fmt: skip
        return Move(anew, f"rolled back ({handoff.why_back}): it begins once more")
    failed = replace(handoff, rollbacks=handoff.rollbacks + 1)
    return Move(_ended(failed, Step.ROLLED_BACK, now), f"rolled back: {handoff.why_back}", down or unfrozen)


def _entered(handoff: Handoff, step: Step, now: Moment, seconds: float | None = None, **changes: Any) -> Handoff:
    took = StepTime(handoff.step, handoff.since_wall, round(now.at - handoff.since, 3))
    deadline = None if seconds is None else now.at + seconds
    fresh = replace(
        handoff, step=step, since=now.at, since_wall=now.wall, deadline=deadline, held="",
        times=(*handoff.times[-40:], took),
    )  # fmt: skip
    return replace(fresh, **changes)


def _ended(handoff: Handoff, step: Step, now: Moment) -> Handoff:
    # Neither the word nor the prompt is of use to anybody any more.
    return _entered(handoff, step, now, ended=now.at, word="", facts=(), opening="")


def _rests(agent: Agent) -> bool:
    """Whether no turn of it is open, as far as anything can tell; of a program without hooks nothing can."""
    state = agent.state
    if not isinstance(state, Running) or state.activity.waiting is not None or agent.parking is not None:
        return False
    can_tell = agent.hooks_seen or agent.spec.has_hooks
    return not can_tell or not state.activity.turn_open


def _is_hard(agent: Agent | None) -> bool:
    """Whether the context is so full that nothing can be waited for (X17)."""
    if agent is None:
        return False
    share = read(meters.of(agent), agent.spec.context).share
    return share is not None and share >= agent.spec.context.hard


def _has_died(handoff: Handoff, new: Agent | None) -> bool:
    """Whether a successor that began has ended, or was kept from beginning; it is not restarted before its ack."""
    if new is None or new.removing or isinstance(new.state, Stopped | Quarantined):
        return True
    return new.incarnation > handoff.base and new.run is None


def _end_of(agent: Agent | None) -> str:
    end = agent.last_exit if agent is not None else None
    return end.text if end is not None else (agent.reason if agent is not None else "it is gone")
