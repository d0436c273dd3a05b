"""Escape on its way to an agent's screen: it says no to one dialog, or ends one turn, and is pressed at most once.

`hear` judges what was seen for one order. The key goes only where the newest look shows what it is meant for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.typing.outcomes import RUN_OVER

ENDS_WITHIN = 25.0
"""Seconds after Escape in which a turn comes to its end."""
LEAVES_WITHIN = 10.0
"""Seconds after Escape in which a dialog leaves the screen, also where the processors are busy."""
LOOK_INTERVAL = 0.3
"""Seconds between two looks for that end."""

DIALOG_GONE = "the dialog is no longer on its screen"
MEANS_MORE = "Escape does more to this dialog than to say no"
NO_TURN = "it is at no turn any more, or it asks something"
SAID_NO = "Escape went to the dialog, which has left its screen"
STANDS = f"Escape went to the dialog, which stands all the same, {LEAVES_WITHIN:.0f} s later"
LOOKED_IDLE = "Escape went to its turn, and a screen that looked idle before cannot tell the end"
ENDED = "Escape went to its turn, and two looks agree on what its screen shows since"
GOES_ON = f"Escape went to its turn, and no two looks within {ENDS_WITHIN:.0f} s agreed that it ended"


@dataclass(frozen=True, slots=True)
class Judging:
    """The screen must show what Escape is meant for."""


@dataclass(frozen=True, slots=True)
class Pressing:
    """Escape is under way. tells_end: the screen showed work, so that another one after it is the turn's end."""

    tells_end: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """The turn comes to its end. before: what the last look found; a late frame of before does not come twice."""

    until: Instant
    before: str = "working"


@dataclass(frozen=True, slots=True)
class Leaving:
    """The dialog leaves the screen."""

    until: Instant


@dataclass(frozen=True, slots=True)
class Over:
    """The verdict is out."""


@dataclass(frozen=True, slots=True)
class Escaping:
    """One order under way. dialog: the one to say no to, in words for people; None where a turn is to end."""

    dialog: str | None
    step: Judging | Pressing | Ending | Leaving | Over
    pressed: bool = False


# --- what was seen ---


@dataclass(frozen=True, slots=True)
class Looked:
    """A look at the screen. verdict: the harness's word for it; dismisses: Escape says no to that, and does no more.

    is_over, turn_open: what is known of the run after the look: it has ended; it is at a turn and asks nobody.
    """

    verdict: str
    dismisses: bool = False
    is_over: bool = False
    turn_open: bool = True


@dataclass(frozen=True, slots=True)
class Pressed:
    """Escape went to the terminal."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The terminal could not be asked."""

    why: str


Seen = Looked | Pressed | Unreachable

# --- what to do next ---


@dataclass(frozen=True, slots=True)
class Look:
    """Look at the screen at `at`."""

    at: Instant


@dataclass(frozen=True, slots=True)
class PressEscape:
    """Press Escape, once."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The order is carried out, or comes to nothing. shows: what is to be told of the screen; empty: nothing."""

    pressed: bool
    why: str
    shows: str = ""


Order = Look | PressEscape | Verdict


class Outcome(NamedTuple):
    """The order as it is now, what the runtime is to do, and why."""

    escaping: Escaping
    order: Order
    reason: str


def begin(dialog: str | None, now: Moment) -> Outcome:
    """Begin. dialog: the one to say no to, in words for people; None where a turn is to end."""
    return Outcome(Escaping(dialog, Judging()), Look(now.at), "whether its screen shows what Escape is meant for")


def hear(escaping: Escaping, seen: Seen, now: Moment) -> Outcome:
    """Judge what was seen; a terminal that does not answer ends it, and the key is never pressed again."""
    match escaping.step, seen:
        case Over(), _:
            raise ValueError("the verdict is out")
        case _, Unreachable(why=why):
            return _over(escaping, why)
        case _, Looked(is_over=True):
            return _over(escaping, RUN_OVER)
        case Judging(), Looked():
            return _judge(escaping, seen) if escaping.dialog is None else _judge_dialog(escaping, escaping.dialog, seen)
        case Pressing(tells_end=tells_end), Pressed():
            if tells_end:
                ending = replace(escaping, step=Ending(now.at + ENDS_WITHIN))
                return Outcome(ending, Look(now.at + LOOK_INTERVAL), "whether the turn ends")
            if escaping.dialog is None:
                return _over(escaping, LOOKED_IDLE)
            leaving = replace(escaping, step=Leaving(now.at + LEAVES_WITHIN))
            return Outcome(leaving, Look(now.at + LOOK_INTERVAL), "whether the dialog has left its screen")
        case Leaving() as step, Looked(verdict=verdict):
            if SCREEN_DIALOGS.get(verdict) != escaping.dialog:
                return _over(escaping, SAID_NO)
            if now.at >= step.until:
                return _over(escaping, STANDS, verdict)
            return Outcome(escaping, Look(now.at + LOOK_INTERVAL), "whether the dialog has left its screen")
        case Ending() as step, Looked(verdict=verdict):
            agrees = verdict == step.before != "working"
            if agrees or now.at >= step.until:
                return _over(escaping, ENDED if agrees else GOES_ON, verdict)
            again = replace(escaping, step=replace(step, before=verdict))
            return Outcome(again, Look(now.at + LOOK_INTERVAL), "whether the turn has ended")
        case _:
            raise ValueError(f"{type(seen).__name__} was not asked for at {type(escaping.step).__name__}")


def _judge_dialog(escaping: Escaping, dialog: str, seen: Looked) -> Outcome:
    """Escape goes to that very dialog, and to no other."""
    if SCREEN_DIALOGS.get(seen.verdict) != dialog:
        return _over(escaping, DIALOG_GONE)
    if not seen.dismisses:
        return _over(escaping, MEANS_MORE, seen.verdict)
    return _press(escaping, Pressing(), "the dialog stands")


def _judge(escaping: Escaping, seen: Looked) -> Outcome:
    """Escape goes to an open turn, and never to a dialog, which it would answer.

    A screen that looks idle although the turn is open, as while some CLI draws an answer, cannot tell its end.
    """
    if not seen.turn_open:
        # It ended meanwhile, and a person may write at the prompt.
        return _over(escaping, NO_TURN)
    if seen.verdict not in ("working", "idle"):
        return _over(escaping, f"its screen shows no turn, but: {seen.verdict}", seen.verdict)
    return _press(escaping, Pressing(tells_end=seen.verdict == "working"), "its turn is open")


def _press(escaping: Escaping, step: Pressing, reason: str) -> Outcome:
    return Outcome(replace(escaping, step=step, pressed=True), PressEscape(), reason)


def _over(escaping: Escaping, why: str, shows: str = "") -> Outcome:
    return Outcome(replace(escaping, step=Over()), Verdict(escaping.pressed, why, shows), why)
