"""The plan that a person approved, less the steps that a task or a commit shows to be done."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Plan, Task, digest
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops import tasks
from phoenixd.memory.brief.loops.alike import likeness, names, normal, same
from phoenixd.memory.brief.loops.commits import subjects
from phoenixd.memory.brief.loops.seen import TEXT_LIMIT, Found, Seen, source_in

KIND = "plan"
MOST_STEPS = 40
CACHED = 64
"""Plans that are remembered with what shows their steps to be done: one reading asks for each of its loops."""
_NUMBERED = re.compile(r"(?:\#{1,6}[ \t]+|\*\*)?(?:[^\W\d_]{1,12}[ \t]+)?(\d{1,3})[.):、．]\s*(.{1,2000})")
_MARKED = re.compile(r"[-*+•][ \t]+(?:\[([ xX])\][ \t]+)?(.{1,2000})")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


def found(seen: Seen) -> Iterator[Found]:
    plan = _approved(seen)
    if plan is None or plan.text is None:
        return
    wanted = _steps(plan.text)
    listed = _listed(seen)
    for number in _open_steps(plan, wanted, seen):
        # A step that stands on the task list too is a task.
        if not _is_listed(wanted, number, listed):
            yield Found(KIND, _source(plan, number), one_line(wanted[number - 1], TEXT_LIMIT), plan.answered)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    mine, plan = source_in(loop, seen.session), _approved(seen)
    wanted = _steps(plan.text) if plan is not None and plan.text is not None else ()
    number = next((at for at, step in enumerate(wanted, 1) if same(one_line(step, TEXT_LIMIT), loop.text)), None)
    if plan is None or number is None:
        # Its siblings are not known any more: every word of it has to stand in what closes it.
        if (reason := _done((loop.text,), *_evidence(seen)).get(1)) is not None:
            return reason
    else:
        if (reason := _done(wanted, *_evidence(seen)).get(number)) is not None:
            return reason
        if number in _open_steps(plan, wanted, seen):
            return "it stands on the task list now" if _is_listed(wanted, number, _listed(seen)) else None
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


def _open_steps(plan: Plan, wanted: tuple[str, ...], seen: Seen) -> list[int]:
    """The numbers of the steps that nothing shows to be done."""
    done = _done(wanted, *_evidence(seen))
    made = [task for task in seen.ledger.tasks.rows if _is_after(task, plan)]
    # The agent made a task of each step, in its own words.
    in_order = made if len(made) == len(wanted) else []
    return [
        number
        for number in range(1, len(wanted) + 1)
        if number not in done and not (in_order and in_order[number - 1].status not in tasks.OPEN)
    ]


def _listed(seen: Seen) -> tuple[str, ...]:
    return tuple(task.text for task in seen.ledger.tasks.rows if task.status in tasks.OPEN)


def _is_listed(wanted: tuple[str, ...], number: int, listed: tuple[str, ...]) -> bool:
    return number in _best_fits(wanted, listed)


def _is_after(task: Task, plan: Plan) -> bool:
    return task.began is not None and plan.answered is not None and task.began >= plan.answered


def _evidence(seen: Seen) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the task list calls done, and nothing of it open in the same words; and the subjects of commits."""
    still = {normal(text) for text in _listed(seen)}
    finished = [
        one.text for one in seen.ledger.tasks.rows if one.status not in tasks.OPEN and normal(one.text) not in still
    ]
    return tuple(finished), tuple(subjects(seen))


@functools.lru_cache(CACHED)
def _done(wanted: tuple[str, ...], finished: tuple[str, ...], committed: tuple[str, ...]) -> dict[int, str]:
    """The numbers of the steps that are done, with the proof."""
    by_commit = dict.fromkeys(_best_fits(wanted, committed), "a commit of that name was made")
    return by_commit | dict.fromkeys(_best_fits(wanted, finished), "a task of that name is done")


@functools.lru_cache(CACHED)
def _best_fits(wanted: tuple[str, ...], texts: tuple[str, ...]) -> frozenset[int]:
    """The numbers of the steps that these texts name: each text names the one that it fits best."""
    fits = set()
    others = [(*wanted[:at], *wanted[at + 1 :]) for at in range(len(wanted))]
    for text in texts:
        named = [number for number, step in enumerate(wanted, 1) if names(step, text, others[number - 1])]
        if named:
            fits.add(max(named, key=lambda number: likeness(wanted[number - 1], text)))
    return frozenset(fits)


@functools.lru_cache(CACHED)
def _steps(text: str) -> tuple[str, ...]:
    return tuple(steps(text))


def _source(plan: Plan, number: int) -> str:
    return f"plan {digest(normal(plan.text or ''))[:8]} step {number}"
