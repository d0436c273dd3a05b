"""The plan that a person approved, less the steps that a task or a commit shows to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Plan, Task, digest
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops import tasks
from phoenixd.memory.brief.loops.alike import names, normal, same
from phoenixd.memory.brief.loops.commits import subjects
from phoenixd.memory.brief.loops.seen import TEXT_LIMIT, Found, Seen, source_in

KIND = "plan"
MOST_STEPS = 40
_NUMBERED = re.compile(r"(?:\#{1,6}[ \t]+|\*\*)?(?:[^\W\d_]{1,12}[ \t]+)?(\d{1,3})[.):、．]\s*(.{1,2000})")
_MARKED = re.compile(r"[-*+•][ \t]+(?:\[([ xX])\][ \t]+)?(.{1,2000})")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


def found(seen: Seen) -> Iterator[Found]:
    plan = _approved(seen)
    if plan is None or plan.text is None:
        return
    listed = [task for task in seen.ledger.tasks.rows if task.status in tasks.OPEN]
    for number, step in _open_steps(plan, seen):
        # A step that stands on the task list too is a task.
        if not any(names(step, task.text) for task in listed):
            yield Found(KIND, _source(plan, number), one_line(step, TEXT_LIMIT), plan.answered)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    mine, plan = source_in(loop, seen.session), _approved(seen)
    if (reason := _done(loop.text, _finished(seen), list(subjects(seen)))) is not None:
        return reason
    if plan is not None and plan.text is not None and any(same(step, loop.text) for _, step in _open_steps(plan, seen)):
        # It may stand on the task list now, whose item it is from there on.
        is_task = any(task.status in tasks.OPEN and names(loop.text, task.text) for task in seen.ledger.tasks.rows)
        return "it stands on the task list now" if is_task else None
    if mine and plan is not None and not mine.startswith(_source(plan, 0).rsplit(" ", 1)[0]):
        return "a person approved another plan"
    if mine and plan is not None and plan.text is not None:
        return "the plan's tasks are all done"
    return None


def steps(text: str) -> list[str]:
    """The steps of a plan: its numbered lines, else its list items; those that stand deepest to the left."""
    numbered: list[tuple[int, str, bool]] = []
    marked: list[tuple[int, str, bool]] = []
    in_fence = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            in_fence = not in_fence
        words = line.strip()
        depth = len(line) - len(line.lstrip())
        if in_fence or not words:
            continue
        if (step := _NUMBERED.fullmatch(words)) is not None:
            numbered.append((depth, step[2], False))
        elif (item := _MARKED.fullmatch(words)) is not None:
            marked.append((depth, item[2], item[1] in ("x", "X")))
    rows = numbered or marked
    depth = min((one for one, _, _ in rows), default=0)
    return [words.strip("*_ \t") for one, words, is_done in rows if one == depth and not is_done][:MOST_STEPS]


def _approved(seen: Seen) -> Plan | None:
    return next((plan for plan in reversed(seen.ledger.plans.values()) if plan.approved), None)


def _open_steps(plan: Plan, seen: Seen) -> Iterator[tuple[int, str]]:
    finished, committed = _finished(seen), list(subjects(seen))
    wanted = steps(plan.text or "")
    made = [task for task in seen.ledger.tasks.rows if _is_after(task, plan)]
    # The agent made a task of each step, in its own words.
    in_order = made if len(made) == len(wanted) else []
    for number, step in enumerate(wanted, 1):
        if in_order and in_order[number - 1].status not in tasks.OPEN:
            continue
        if _done(step, finished, committed) is None:
            yield number, step


def _is_after(task: Task, plan: Plan) -> bool:
    return task.began is not None and plan.answered is not None and task.began >= plan.answered


def _finished(seen: Seen) -> list[str]:
    """What the task list calls done, and nothing of it open in the same words."""
    still = {normal(task.text) for task in seen.ledger.tasks.rows if task.status in tasks.OPEN}
    return [
        one.text for one in seen.ledger.tasks.rows if one.status not in tasks.OPEN and normal(one.text) not in still
    ]


def _done(step: str, finished: list[str], committed: list[str]) -> str | None:
    if any(names(step, text) for text in finished):
        return "a task of that name is done"
    return "a commit of that name was made" if any(names(step, text) for text in committed) else None


def _source(plan: Plan, number: int) -> str:
    return f"plan {digest(normal(plan.text or ''))[:8]} step {number}"
