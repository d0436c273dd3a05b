"""What is known from words alone: no structure shows it, and a task or a commit of the same words closes it."""

from __future__ import annotations

from collections.abc import Iterator

from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops import tasks
from phoenixd.memory.brief.loops.alike import names
from phoenixd.memory.brief.loops.commits import subjects
from phoenixd.memory.brief.loops.seen import Found, Seen

KIND = "said"


def found(seen: Seen) -> Iterator[Found]:
    return iter(())


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    rows = seen.ledger.tasks.rows
    if any(task.status in tasks.OPEN and names(loop.text, task.text) for task in rows):
        return None
    if any(task.status == "done" and names(loop.text, task.text) for task in rows):
        return "a task of that name is done"
    return "a commit of that name was made" if any(names(loop.text, one) for one in subjects(seen)) else None
