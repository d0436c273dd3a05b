"""What the end of a worker's run means for its task: done, failed, canceled, or one more try (E59, F-PH-7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core import restart
from phoenixd.core.agent.run import LastExit
from phoenixd.core.facts import AttemptFailed
from phoenixd.core.limits import waits
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.moment import in_words
from phoenixd.core.rules import LimitRules
from phoenixd.core.tasks.state import Outcome, Sealed, Task

ENDINGS = {"failed": "failed", "interrupted": "was broken off", "cut": "was cut before its answer was whole"}
UNSEALED: dict[Sealed, str] = {
    "cut": "the end of its answer is missing, or was not sealed",
    "front lost": "the beginning of its answer is missing",
}
"""Answers that are not taken for whole, though the process ended well."""
MOST_SPARED, MOST_LIMITED = 5, 8
"""Runs of one task that may end through no fault of its own before that counts as well; and such as ended by a limit,
or a service that failed. The pauses after these grow, so that eight outlast an outage of two hours."""
WORDS_LIMIT = 500
PAUSE, PAUSE_MAX = 10.0, 600.0
"""Seconds before the next run after a failure, doubled each time."""


RESIDENTS = LimitRules()
"""How long a service that failed is waited out where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of the task. again: seconds until the next run, None for none. spared: this run does not count.

    asks: its worker is asked for the seal of its answer first, once, where its CLI can be asked.
    """

    state: Literal["done", "failed", "canceled"]
    why: str
    again: float | None = None
    spared: bool = False
    asks: bool = False


def judge(
    task: Task,
    end: LastExit | None,
    outcome: Outcome,
    *,
    stopped: bool = False,
    wall: float,
    limits: LimitRules = RESIDENTS,
    chance: float = 0.5,
) -> Verdict:
    """Judge the newest run of a task. end: how the run ended; None where none began. stopped: by somebody's order.

    wall: now. limits: of its worker. chance: from 0 to 1, by which those are parted that failed together.
    """
    if task.sealing and (task.cut is None or task.cut.kind == "timeout"):
        return _asked(task, end, outcome)
    if task.cut is not None:
        return Verdict("canceled" if task.cut.kind == "canceled" else "failed", task.cut.words)
    if stopped:
        return Verdict("canceled", f"its worker {task.agent} was stopped by an order")
    if end is None:
        return _once_more(task, "its worker could not be started")
    if end.code == 0 and end.cause == "exit" and not (end.limited and outcome.stop == "failed"):
        return _finished(task, outcome)
    if end.code is None and end.signal is None and outcome.stop == "done":
        # What sticks in the kernel can keep back the record of an end that was well; the transcript has its answer.
        return Verdict("done", "its last answer is whole, and how its process ended is not known")
    how = _in_words(end, outcome)
    if end.code in (restart.NOT_EXECUTABLE, restart.NOT_FOUND) and not end.lived >= PAUSE:
        return Verdict("failed", f"the command cannot run: {how}")
    most = MOST_LIMITED if end.limited else MOST_SPARED if restart.is_blameless(end) else 0
    if task.spared >= most:
        return _once_more(task, how)
    pause = PAUSE
    if end.limited and end.until_wall is not None:
        # Before the limit is over, the next run would only meet it again.
        pause = max(PAUSE, end.until_wall - wall)
    elif end.limited:
        # Its worker begins anew, so what a run had done before it failed makes the next pause no shorter.
        pause = max(PAUSE, waits.apart(waits.growing(limits, ParkingKind.OVERLOAD, task.spared), chance))
    return Verdict("failed", f"{how}, which does not count", pause, spared=True)


def untold_failure(task: Task, end: LastExit | None, outcome: Outcome, judged: Verdict) -> AttemptFailed | None:
    """The failure of a run whose end tells of none: its time was over, or it ended with 0 and without a whole answer.

    What could not be read of it tells nothing.
    """
    if end is None or judged.state != "failed" or task.sealing:
        return None
    if task.cut is not None:
        return AttemptFailed(end.incarnation, task.id, "timeout", task.cut.words)
    if end.code != 0 or end.cause != "exit" or outcome.problem:
        return None
    match outcome.stop:
        case "failed" | "interrupted" | "cut" | "open" | "missing":
            return AttemptFailed(end.incarnation, task.id, outcome.stop, outcome.words[-WORDS_LIMIT:])
        case _:
            return AttemptFailed(end.incarnation, task.id, "cut", judged.why[-WORDS_LIMIT:])


def _finished(task: Task, outcome: Outcome) -> Verdict:
    match outcome.stop:
        case "done" | "none" if outcome.seal in UNSEALED:
            return _once_more(task, f"its worker ended with 0, and {UNSEALED[outcome.seal]}")
        case "done" | "none" if outcome.seal == "unsealed":
            why = "its worker ended with 0; its answer has no seal, and only its CLI says it is whole"
            return Verdict("done", why, asks=True)
        case "done" | "none":
            return Verdict("done", "its worker ended with 0")
        # What ended with 0 may have done its work: to do it twice would be worse than to give it back.
        case "missing":
            lacks = outcome.problem or "it left no transcript from which its answer can be read"
            return Verdict("failed", f"its worker ended with 0, and {lacks}")
        case "open":
            return Verdict("failed", "its worker ended with 0 in the middle of a turn")
        case _:
            said = f": {outcome.words}" if outcome.words else ""
            return _once_more(task, f"its last turn {ENDINGS.get(outcome.stop, outcome.stop)}{said}")


def _asked(task: Task, end: LastExit | None, outcome: Outcome) -> Verdict:
    """Its work was done before it was asked, so whatever came of that, the work stands."""
    if outcome.seal == "sealed":
        return Verdict("done", "its worker ended with 0, and sealed its answer when it was asked to")
    was_asked = end is not None and end.incarnation > task.sealing and end.ran and not end.limited
    how = "also after it was asked for that" if was_asked else "it could not be asked for that"
    why = f"its answer has no seal, {how}, and only its CLI says it is whole"
    return Verdict("done", f"its worker ended with 0; {why}")


def _once_more(task: Task, why: str) -> Verdict:
    if task.counted >= task.tries:
        runs = f"run {task.counted} of {task.tries}"
        return Verdict("failed", f"{why} ({runs})")
    pause = min(PAUSE_MAX, PAUSE * 2.0 ** max(0, task.counted - 1))
    return Verdict("failed", why, pause)


def _in_words(end: LastExit, outcome: Outcome) -> str:
    how = f"its worker ended with {end.text} after {in_words(end.lived)}"
    how = how if end.cause in ("exit", "hung", "overtime") else f"{how} ({end.told})"
    return f"{how}: {outcome.words}" if outcome.words else how
