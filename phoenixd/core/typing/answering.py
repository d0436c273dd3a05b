"""An operator's answer on its way to a held request: the dialog first, then the shim's word, then the proof.

`hear` judges what was seen of one answer. No key is pressed: the shim hands the answer to the hook that waits. After
the daemon's death `begin_again` goes on with it, from what the shim says now: no shim gives two answers to one request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from phoenixd.core.actions import OrphanAnswer
from phoenixd.core.moment import Instant, Moment

APPEARS_WITHIN = 5.0
"""Seconds that a dialog may take to be drawn after its hook."""
WORD_WITHIN = 5.0
"""Seconds in which a shim says whether an answer was taken."""
DENIAL_WITHIN = 10.0
"""Seconds in which a denial stands in the transcript, if it counted."""
ALLOWANCE_WITHIN = 2.0
"""Seconds in which a call that is over may tell who allowed it; what still runs then was allowed, no matter by whom."""
NEIGHBOUR_GRACE = 1.0
"""Seconds in which the end of a call may be that of another one."""
LOOK_INTERVAL = 0.05

TERMINAL_FIRST = "the terminal was first"
DIALOG_GONE = f"{TERMINAL_FIRST}: the dialog has left its screen"
NOT_WAITING = f"{TERMINAL_FIRST}: the agent no longer waited for an answer"
NOT_COUNTED = f"{TERMINAL_FIRST}: the agent's transcript says so"
NOT_KEPT = "phoenixd was restarted before it was given, and does not know its words any more; it can be given again"
NO_TRACE = "phoenixd was restarted while it was given, and nothing tells what became of it"
NO_WORD = f"its shim did not say within {WORD_WITHIN:.0f} s what became of it"


@dataclass(frozen=True, slots=True)
class Standing:
    """The dialog must be on the screen: somebody may have answered it there."""

    until: Instant


@dataclass(frozen=True, slots=True)
class Handing:
    """The shim has the answer, and says whether the agent took it."""


@dataclass(frozen=True, slots=True)
class Orphaned:
    """An earlier daemon may have given it; the shim may yet say so. says: it says what came of each answer."""

    says: bool


@dataclass(frozen=True, slots=True)
class Counting:
    """The agent took the answer; its transcript may say that another one settled the matter before.

    is_orphan: an earlier daemon gave it, and what the transcript says of other calls may be older than that.
    """

    since: Instant
    is_orphan: bool = False


@dataclass(frozen=True, slots=True)
class LettingGo:
    """The shim is told that no answer comes."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The verdict is out."""


@dataclass(frozen=True, slots=True)
class Answering:
    """One answer under way. allow: whether it is a yes."""

    allow: bool
    step: Orphaned | Standing | Handing | Counting | LettingGo | Answered


# --- what was seen ---


@dataclass(frozen=True, slots=True)
class DialogLooked:
    """A look at the screen. stands: whether a dialog has the keyboard."""

    stands: bool


@dataclass(frozen=True, slots=True)
class WordHeard:
    """What the shim said. taken: whether the agent took the answer; None where the shim said nothing in time."""

    taken: bool | None


@dataclass(frozen=True, slots=True)
class ProofSought:
    """What the transcript says. counted: whether this answer settled it, None where it does not say. closed: a program
    without a transcript has gone on, and so has written what it ever will."""

    counted: bool | None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class HeldLetGo:
    """The shim was told that no answer comes."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Shim or terminal could not be asked."""

    why: str


Seen = DialogLooked | WordHeard | ProofSought | HeldLetGo | Unreachable

# --- what to do next ---


@dataclass(frozen=True, slots=True)
class LookForDialog:
    """Look at the screen at `at`."""

    at: Instant


@dataclass(frozen=True, slots=True)
class HandOver:
    """Give the answer to the shim, and wait for its word. within: seconds."""

    within: float = WORD_WITHIN


@dataclass(frozen=True, slots=True)
class AwaitWord:
    """Give nothing, and wait for the shim's word on what it was given. within: seconds."""

    within: float = WORD_WITHIN


@dataclass(frozen=True, slots=True)
class SeekProof:
    """Look into the transcript at `at`. is_orphan: also at what it said some time before this daemon began."""

    at: Instant
    is_orphan: bool = False


@dataclass(frozen=True, slots=True)
class LetGo:
    """Tell the shim that no answer comes, so that the agent goes by its terminal."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tell what became of it. held: the question is open still."""

    taken: bool
    why: str = ""
    held: bool = False


Order = LookForDialog | HandOver | AwaitWord | SeekProof | LetGo | Verdict


class Outcome(NamedTuple):
    """The answer as it is now, what the runtime is to do, and why."""

    answering: Answering
    order: Order
    reason: str


def begin(now: Moment, *, allow: bool, shows: bool, was_seen: bool) -> Outcome:
    """Begin. shows: the request has a dialog on the screen, was_seen: it was seen there before."""
    if not shows:
        return Outcome(Answering(allow, Handing()), HandOver(), "its dialog is on no screen")
    until = now.at if was_seen else now.at + APPEARS_WITHIN
    return Outcome(Answering(allow, Standing(until)), LookForDialog(now.at), "whether its dialog is on the screen")


def begin_again(now: Moment, *, allow: bool, shows: bool, was_seen: bool, orphan: OrphanAnswer) -> Outcome:
    """Go on with the answer that an earlier daemon was at: give it only where its shim was given none."""
    answering = Answering(allow, Orphaned(orphan.says))
    if orphan.taken is not None:
        return hear(answering, WordHeard(orphan.taken), now)
    if not orphan.held:
        return Outcome(answering, AwaitWord(), "its shim holds the request no longer, and has yet to say why")
    if not orphan.whole:
        return _over(answering, Verdict(taken=False, why=NOT_KEPT, held=True))
    return begin(now, allow=allow, shows=shows, was_seen=was_seen)


def hear(answering: Answering, seen: Seen, now: Moment) -> Outcome:
    """Judge what was seen: taken or not, never perhaps; what fails leaves the question open."""
    match answering.step, seen:
        case _, Unreachable(why=why):
            return _over(answering, Verdict(taken=False, why=why, held=True))
        case Orphaned(), WordHeard(taken=True):
            if answering.allow:
                # It may go on; whether a yes at the terminal was first makes no difference any more.
                return _over(answering, Verdict(taken=True))
            counting = replace(answering, step=Counting(now.at, is_orphan=True))
            return Outcome(counting, SeekProof(now.at, is_orphan=True), "the agent took an earlier daemon's answer")
        case Orphaned(says=says), WordHeard(taken=taken):
            return _over(answering, Verdict(taken=False, why=NOT_WAITING if says or taken is False else NO_TRACE))
        case Standing(), DialogLooked(stands=True):
            return Outcome(replace(answering, step=Handing()), HandOver(), "its dialog stands")
        case Standing(until=until), DialogLooked():
            if now.at >= until:
                return Outcome(replace(answering, step=LettingGo()), LetGo(), DIALOG_GONE)
            return Outcome(answering, LookForDialog(now.at + LOOK_INTERVAL), "its dialog is not drawn yet")
        case Handing(), WordHeard(taken=True):
            return Outcome(replace(answering, step=Counting(now.at)), SeekProof(now.at), "the agent took the answer")
        case Handing(), WordHeard(taken=taken):
            lost = Verdict(taken=False, why=NOT_WAITING)
            return _over(answering, lost if taken is False else Verdict(taken=False, why=NO_WORD, held=True))
        case Counting() as step, ProofSought():
            return _count(answering, step, seen, now)
        case LettingGo(), HeldLetGo():
            return _over(answering, Verdict(taken=False, why=DIALOG_GONE))
        case _:
            raise ValueError(f"{type(seen).__name__} was not asked for at {type(answering.step).__name__}")


def _count(answering: Answering, step: Counting, seen: ProofSought, now: Moment) -> Outcome:
    """Whether the answer settled it: a Yes at the terminal leaves the agent waiting for ours, which goes unread."""
    counted = False if seen.counted is None and seen.closed and not answering.allow else seen.counted
    waited = now.at - step.since
    if counted is False and (waited < NEIGHBOUR_GRACE or step.is_orphan):
        counted = None
    if counted is None and waited >= (ALLOWANCE_WITHIN if answering.allow else DENIAL_WITHIN):
        counted = answering.allow
    if counted is None:
        return Outcome(answering, SeekProof(now.at + LOOK_INTERVAL, step.is_orphan), "its transcript does not say yet")
    return _over(answering, Verdict(taken=True) if counted else Verdict(taken=False, why=NOT_COUNTED))


def _over(answering: Answering, verdict: Verdict) -> Outcome:
    return Outcome(replace(answering, step=Answered()), verdict, verdict.why or "the answer counted")
