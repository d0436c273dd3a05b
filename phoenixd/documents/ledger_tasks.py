"""The CLI's own task list as a session's ledger keeps it: the list as it is after the last event."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.documents.deeds import TaskAsked, TaskRow, TasksListed, TaskTold
from phoenixd.documents.ledger_rows import Task, is_called, known_as

MOST_TASKS = 300

_IS_OVER = frozenset({"done", "dropped"})


@dataclass(slots=True)
class TaskList:
    """The tasks, in the CLI's order. is_known: the session has, or had, a list at all."""

    rows: list[Task] = field(default_factory=list)
    is_known: bool = False

    def listed(self, fact: TasksListed) -> None:
        """The CLI wrote the list down: all of it, or as it was a moment ago, without what was not there yet."""
        self.is_known = self.is_known or fact.is_whole or bool(fact.rows)
        if fact.is_whole:
            before = {(one.id, one.text): one for one in self.rows}
            self.rows = [self._carried(before.get((row.id, row.text)), row, fact.at) for row in fact.rows]
        else:
            known = {one.id: one for one in self.rows if one.id is not None}
            for row in fact.rows:
                if row.id is not None:
                    name = known_as(row.id, known)
                    known[name] = self._set(known.get(name), row, fact.at)
        self._bound()

    def told(self, fact: TaskTold, asked: TaskAsked | None) -> None:
        """The CLI says that one task is so."""
        self.is_known = True
        known = self._find(fact.id)
        text = fact.text or (asked.text if asked is not None else None) or (known.text if known is not None else None)
        status = fact.status or (asked.status if asked is not None else None)
        if text is None:
            return
        self._set(known, TaskRow(fact.id, text, status or (known.status if known is not None else "open")), fact.at)
        self._bound()

    def _set(self, known: Task | None, row: TaskRow, at: float | None) -> Task:
        if known is None:
            known = Task(row.id, row.text, row.status, at, at)
            self.rows.append(known)
        elif known.status != "dropped" and (known.text, known.status) != (row.text, row.status):
            known.text, known.status, known.at = row.text, row.status, at
        return known

    def _find(self, name: str) -> Task | None:
        return next((one for one in self.rows if is_called(one.id, name)), None)

    def _carried(self, known: Task | None, row: TaskRow, at: float | None) -> Task:
        if known is None:
            return Task(row.id, row.text, row.status, at, at)
        return Task(row.id, row.text, row.status, known.began, known.at if known.status == row.status else at)

    def _bound(self) -> None:
        """Let tasks go where there are too many: those that are over first, oldest first."""
        excess = len(self.rows) - MOST_TASKS
        if excess <= 0:
            return
        over = [one for one in self.rows if one.status in _IS_OVER][:excess]
        gone = {id(one) for one in over}
        self.rows = [one for one in self.rows if id(one) not in gone][-MOST_TASKS:]
