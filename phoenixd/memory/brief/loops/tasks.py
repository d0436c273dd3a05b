"""The CLI's own task list: an item is open until the list says that it is done or dropped."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Task, digest
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.alike import normal, same
from phoenixd.memory.brief.loops.seen import TEXT_LIMIT, Found, Seen, source_in

KIND = "tasks"
OPEN = frozenset({"open", "active"})


def found(seen: Seen) -> Iterator[Found]:
    for place, task in enumerate(seen.ledger.tasks.rows):
        if task.status in OPEN and (text := one_line(task.text, TEXT_LIMIT)):
            yield Found(KIND, _source(task, place), text, task.at)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    rows = seen.ledger.tasks.rows
    mine = source_in(loop, seen.session)
    named = [task for place, task in enumerate(rows) if mine and _source(task, place) == mine]
    alike = named or [task for task in rows if same(task.text, loop.text)]
    if alike and all(task.status not in OPEN for task in alike):
        return "the task list says that it is done" if alike[-1].status == "done" else "it was taken off the task list"
    if mine and not alike and seen.ledger.tasks.is_known:
        return "it stands no longer on the task list"
    return None


def _source(task: Task, place: int) -> str:
    """The list's own id, else the text: a list without ids is written anew as a whole, and its items move."""
    if task.id is not None:
        return f"task {task.id}"
    return f"task {digest(normal(task.text) or task.text)[:12]}" if task.text else f"task {place}"
