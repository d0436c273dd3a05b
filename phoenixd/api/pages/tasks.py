"""What `task status` prints."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.api.pages.layout import SET_IN, Page, clip, columns, pad, page, wrap
from phoenixd.api.times import ago
from phoenixd.core.tasks.state import BUSY, Task
from phoenixd.documents.task_report import claims_of

SIGNS = {"waiting": ".", "running": "*", "collecting": "*", "done": ".", "failed": "!", "canceled": ".", "unknown": "?"}
ID_COLUMNS, STATE_COLUMNS = 5, 10
"""At least, of an id: after a lost journal its number has five digits."""


def tasks(found: Sequence[Task], at_once: int, here: Page) -> str:
    """All of them, what is open first; the next command shows the one that needs a look."""
    if not found:
        return page([here.ending("No tasks. Hand one to a worker: phoenixctl task run PROMPT")])
    running = sum(one.state in BUSY for one in found)
    waiting = sum(one.state == "waiting" for one in found)
    lines = [f"{running} of {at_once} workers run, {_count(waiting, 'task')} wait{'s' if waiting == 1 else ''}.", ""]
    # An id is never cut: it is what the next command is given.
    width = max(ID_COLUMNS, *(columns(one.id) for one in found))
    for one in found:
        lead = f"{here.sign(SIGNS[one.state])} {pad(one.id, width)} {pad(one.state, STATE_COLUMNS)} "
        age = f"{ago(max(0.0, here.now - one.since_wall)):>6}  "
        room = here.width - columns(f"* {pad(one.id, width)} {pad(one.state, STATE_COLUMNS)} {age}")
        lines.append(f"{lead}{age}{clip(what(one), room)}")
    first = next((one for one in found if one.state == "failed"), found[0])
    return page([*lines, "", here.ending(f"one of them: phoenixctl task status {first.id}")])


def task(one: Task, here: Page) -> str:
    """One task, with all that leads on."""
    about = [f"worker {one.agent}", f"run {one.runs} of {one.tries + one.spared}", f"asked for by {one.by}"]
    about += [f"project {one.project}"] if one.project else []
    about += [f"task {one.plan} of its plan"] if one.plan else []
    about += [f"after {', '.join(one.after)}"] if one.after else []
    lines = wrap(f"{one.id} is {one.state}: {one.why}", here.width, SET_IN)
    lines += wrap("; ".join(about), here.width, SET_IN)
    outcome = one.outcome
    if outcome is not None and outcome.report:
        left = f"{_count(outcome.outputs, 'output')}" + (f", {outcome.refused} not taken" if outcome.refused else "")
        lines += [left, f"report: {outcome.report}"]
    if outcome is not None and outcome.judged is not None:
        lines += wrap(claims_of(outcome.judged), here.width, SET_IN)
        for claim in outcome.judged.claims:
            lines += wrap(f"{claim.verdict}: {claim.said} ({claim.why})", here.width, SET_IN)
    if not one.has_ended:
        lines.append(here.ending(f"end it: phoenixctl task cancel {one.id}"))
    return page(lines)


def what(one: Task) -> str:
    """Why it is as it is, behind what it is about."""
    return f"{f'[{one.plan}] ' if one.plan else ''}{one.why}"


def _count(number: int, word: str) -> str:
    return f"1 {word}" if number == 1 else f"{number} {word}s"
