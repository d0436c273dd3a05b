"""The recovery banner: what a session is told first when the run before it did not end well (P15 to P18)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import StateDocument
from phoenixd.documents.times import timestamp

TASK_LIMIT = 500

TITLE = "RECOVERY DETECTED - "
INTERRUPTED = "You were interrupted"
"""How the sentence begins with which a run is told to go on that was broken off."""
ENDED, RENEWED = "phoenixd ended the run before", "phoenixd began a fresh session"
"""How it begins where phoenixd itself ended that run, by an order or for a loss of its context."""
GOES_ON = (INTERRUPTED, ENDED, RENEWED)
TASK, GO_ON = " The task in hand: ", " Continue."
LAST_TASK = "Last task: "


@dataclass(frozen=True, slots=True)
class Interruption:
    """How the run before ended: in the middle of its work, or with an error. ended: wall seconds, how: words."""

    during: Literal["working", "error"]
    ended: float | None = None
    how: str = ""


def banner(state: StateDocument, interruption: Interruption | None) -> str:
    """The banner as plain text; empty when there is nothing to recover from."""
    if interruption is None:
        return ""
    task = one_line(state.current_task or "none on record", TASK_LIMIT)
    when = f" at {timestamp(interruption.ended)}" if interruption.ended is not None else ""
    how = f" ({interruption.how})" if interruption.how else ""
    what = "in the middle of its work" if interruption.during == "working" else "with an error"
    return (
        f"{TITLE}{LAST_TASK}{task}\n"
        f"The previous run of this agent ended {what}{when}{how}.\n"
        f"Open loops: {len(state.open_loops)}"
    )


def interruption_sentence(state: StateDocument, ended: float | None, how: str, hung_in: str = "") -> str:
    """What a session with an open turn is told that was broken off: one sentence with time, end and task.

    hung_in: a sentence about the call in which the run hung, if it did.
    """
    how = f" ({one_line(how, 200)})" if how else ""
    hung = f" {hung_in.strip()}" if hung_in else ""
    return f"{INTERRUPTED}{_at(ended)}{how}.{hung}{_go_on(state)}"


def ended_sentence(state: StateDocument, ended: float, why: str, *, renewed: bool = False) -> str:
    """The same where phoenixd itself ended the run before, and why. renewed: for a session in place of a lost one."""
    return f"{RENEWED if renewed else ENDED}{_at(ended)}: {one_line(why, 200)}.{_go_on(state)}"


def tasks_told(words: str) -> tuple[str, ...]:
    """What such a sentence, or a banner, may name as the task in hand; empty where it names none.

    Where the task itself holds the word that ends the sentence, nothing tells which of the two was meant.
    """
    if words.startswith(TITLE):
        return (words.partition(LAST_TASK)[2].partition("\n")[0],)
    told = words.partition(TASK)[2]
    return tuple(told[: found.start()] for found in re.finditer(re.escape(GO_ON), told))


def _at(ended: float | None) -> str:
    return f" at {timestamp(ended)}" if ended is not None else ""


def _go_on(state: StateDocument) -> str:
    task = f"{TASK}{one_line(state.current_task, TASK_LIMIT)}" if state.current_task else ""
    closing = "" if not task or task.endswith((".", "!", "?", "…")) else "."
    return f"{task}{closing}{GO_ON}"
