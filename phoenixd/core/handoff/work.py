"""What becomes of a handoff by its work on files: papers brought up to date, the package written, or written again."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import PackageWritten
from phoenixd.core.handoff.generations import is_hard
from phoenixd.core.handoff.move import MOST_ATTEMPTS, WORK_LIMIT, Move, Order, back, entered
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.moment import Moment


def updated(handoff: Handoff, now: Moment, note: str = "") -> Move:
    """The project's files are up to date. note: what went otherwise than the configuration says."""
    writing = entered(handoff, Step.SNAPSHOT, now, WORK_LIMIT, attempt=1)
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
        known = _told_again(known)
    if handoff.made:
        return Move(known, f"the package was written again: {event.package[:12]}")
    return Move(entered(known, Step.SPAWN, now), f"the package is written: {event.package[:12]}")


def work_failed(handoff: Handoff, why: str, old: Agent | None, now: Moment, *, final: bool = False) -> Move:
    """Work on files failed: once more, then without it where no way leads back, else back (E73, X30)."""
    order: Order = "update" if handoff.step is Step.UPDATE else "write"
    if handoff.attempt < MOST_ATTEMPTS and not final:
        again = replace(handoff, attempt=handoff.attempt + 1, deadline=now.at + WORK_LIMIT)
        return Move(again, f"{why}: once more", (order,))
    if handoff.step is Step.UPDATE and not final and (handoff.alone or is_hard(old)):
        poorer = replace(handoff, degraded=(*handoff.degraded, why), stale=why)
        moved = updated(poorer, now)
        return replace(moved, reason=f"{why}; its context leaves no time: degraded")
    return back(handoff, why, now)


def changed(handoff: Handoff, now: Moment) -> Move | None:
    """The successor met a package that was changed: it is written again, but not for ever; None beyond that."""
    return rewritten(handoff, "the package file was changed: it is written again", now)


def rewritten(handoff: Handoff, why: str, now: Moment) -> Move | None:
    """A package that cannot be rested on, such as one that names a file that is gone: likewise (E35, F-HO-7)."""
    if handoff.attempt >= MOST_ATTEMPTS:
        return None
    later = max(handoff.deadline or 0.0, now.at + WORK_LIMIT)
    again = replace(handoff, attempt=handoff.attempt + 1, deadline=later)
    return Move(again, why, ("write",))


def not_written_again(handoff: Handoff, why: str, now: Moment, *, final: bool) -> Move:
    """The package that was changed could not be written again; its successor asks once more, or runs out of time."""
    return back(handoff, why, now) if final else Move(_told_again(handoff), f"the package was not written again: {why}")


def _told_again(handoff: Handoff) -> Handoff:
    """A successor whose last words were refused rests: nothing but a text tells it to read its package again."""
    return handoff if handoff.claim is None else replace(handoff, claim=None, reminded=False)
