"""What selectors read of the agents of a fleet, taken from their rows: every face chooses among what it shows."""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.core.fleet import Fleet
from phoenixd.core.projection import Row
from phoenixd.core.seat.finding import meant
from phoenixd.core.seat.state import project_of
from phoenixd.core.selection import Subject
from phoenixd.core.spec import Kind


def subjects(fleet: Fleet, rows: Iterable[Row]) -> tuple[Subject, ...]:
    """One for each row, in their order."""
    return tuple(subject_of(row, project_in(fleet, row.name)) for row in rows)


def subject_of(row: Row, project: str | None = None, labels: tuple[str, ...] = ()) -> Subject:
    """What selectors read of one row."""
    words = tuple(dict.fromkeys(word for word in (row.state, row.activity, row.group) if word))
    return Subject(row.name, row.kind, row.harness, words, row.group == "needs_you", project, labels)


def project_in(fleet: Fleet, name: str) -> str | None:
    """The project that an agent leads, or works for as the worker of a task."""
    agent = meant(fleet, name)
    if agent is None:
        return None
    if agent.spec.kind is Kind.ORCHESTRATOR:
        return project_of(agent.spec)
    task = fleet.tasks.find(agent.spec.task) if agent.spec.task else None
    return (task.project or None) if task is not None else agent.spec.project
