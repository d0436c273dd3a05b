"""Plans and state say what a worker does as soon as its task has begun or ended, and artifacts what it left (E10, E55,
E58, E67).

A handoff does the same for the whole project, and its successor has to quote what stands there: while one goes on, the
files stay as they are. What began and ended meanwhile is written when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import structlog

from phoenixd.core.fleet import Fleet
from phoenixd.core.seat.state import Seat
from phoenixd.core.tasks.state import Tasks
from phoenixd.documents.project.outcomes import Begun, Ended, in_hand, of_workers, untold
from phoenixd.documents.project.publishing import Made
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, artifact_publisher, planner_of_tasks
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.times import exact_time, timestamp
from phoenixd.errors import PhoenixdError
from phoenixd.memory.workspace_locks import WorkspaceLocks
from phoenixd.side_by_side import SideBySide

INTERVAL = 60.0
"""Seconds after which files that could not be written are tried again."""

MOST_NAMED = 20
"""Files that one line of the log names."""

Place = tuple[str, str]
"""A project and its workspace."""

log = structlog.get_logger("phoenixd.handoffs")


class ProjectFiles(Protocol):
    """Projects on disk. Both may raise PhoenixdError and OSError."""

    def look_at_project(self, workspace: str, project: str) -> Tree: ...

    def edit_project(self, workspace: str, project: str, change: Callable[[Tree], Changes]) -> Tree: ...


class KeptPlans:
    """Writes them. fleet: as it is now, also for a thread; made: the files that workers left; may raise OSError."""

    def __init__(
        self,
        files: ProjectFiles,
        fleet: Callable[[], Fleet],
        locks: WorkspaceLocks,
        made: Callable[[Sequence[Ended]], tuple[Made, ...]],
        clean: CleanOf,
        wall: Callable[[], float],
    ) -> None:
        self._files = files
        self._fleet = fleet
        self._locks = locks
        self._made = made
        self._clean = clean
        self._wall = wall
        self._heard: tuple[Tasks, object] | None = None
        self._told: dict[Place, frozenset[Ended | Begun]] = {}
        """What each project was told by this daemon; the time in its state says it to the next one."""
        self._failed: dict[Place, str] = {}
        """Why the newest try failed: told once, for it is made again each minute."""
        self._places: dict[str, Place] = {}
        self._looks = SideBySide("the plans that workers ended tasks of", self._look_at)

    def hear(self) -> None:
        """Something may have changed: tell each project what has begun and ended since; never waits."""
        fleet = self._fleet()
        if self._heard is None or self._heard[0] is not fleet.tasks or self._heard[1] is not fleet.seats:
            self._heard = fleet.tasks, fleet.seats
            self._looks.ask(self._due(fleet))

    async def look(self) -> None:
        """Try again what failed."""
        await self._looks.look_at(self._due(self._fleet()))

    def _due(self, fleet: Fleet) -> list[str]:
        tasks = fleet.tasks
        known_ones = (one for one in (*tasks.untold, *tasks.ended, *tasks.open) if one.has_ended or one.runs)
        places = dict.fromkeys(
            (one.project, one.workspace)
            for one in known_ones
            if one.project and one.workspace and one.plan and one.phase
        )
        for known in (self._told, self._failed):
            for place in known.keys() - places.keys():
                del known[place]
        self._places = {f"{project} in {workspace}": (project, workspace) for project, workspace in places}
        return [
            name
            for name, place in self._places.items()
            if not _is_handed_over(fleet, place[0]) and self._told.get(place) != _news(tasks, place)
        ]

    async def _look_at(self, name: str) -> None:
        if (place := self._places.get(name)) is None:
            return
        # Before the tasks are read: what comes in between is told once more, and nothing is left out.
        wall = self._wall()
        news = _news(self._fleet().tasks, place)
        try:
            if await self._looks.aside(partial(self._write, place, sorted(news, key=lambda one: one.at), wall)):
                self._told[place] = news
            self._failed.pop(place, None)
        except (PhoenixdError, OSError) as failure:
            if self._failed.get(place) != str(failure):
                self._failed[place] = str(failure)
                log.warning("plans_not_told", project=place[0], workspace=place[1], reason=str(failure))

    def _write(self, place: Place, news: Sequence[Ended | Begun], wall: float) -> bool:
        """Whether the project says it now."""
        project, workspace = place
        with self._locks.of(workspace):
            if _is_handed_over(self._fleet(), project):
                return False
            tree = self._files.look_at_project(workspace, project)
            if tree.is_empty or not (outcomes := untold(news, tree, wall)):
                return True
            ended = [one for one in news if isinstance(one, Ended)]
            sources = Sources(
                now=timestamp(wall), exact=exact_time(wall), outcomes=outcomes, clean=partial(self._clean, None),
                made=self._made(ended) if any(one.status == "completed" for one in outcomes) else (),
            )  # fmt: skip
            # Last comes what says that all of it is told.
            for job in (artifact_publisher, planner_of_tasks) if sources.made else (planner_of_tasks,):
                after = self._files.edit_project(workspace, project, partial(_done, job, sources))
                if after.left_out:
                    first = [f"{one.path}: {one.why}" for one in after.left_out[:MOST_NAMED]]
                    log.warning("outputs_left_out", project=project, count=len(after.left_out), first=first)
            return True


def _news(tasks: Tasks, place: Place) -> frozenset[Ended | Begun]:
    return frozenset((*of_workers(tasks, *place), *in_hand(tasks, *place)))


def _is_handed_over(fleet: Fleet, project: str) -> bool:
    """Whether a handoff of a project of that name goes on."""

    def goes_on(seat: Seat) -> bool:
        return seat.project == project and seat.handoff is not None and not seat.handoff.is_over

    return any(goes_on(seat) for seat in fleet.seats.values())


def _done(job: Callable[[Tree, Sources], Changes], sources: Sources, tree: Tree) -> Changes:
    return job(tree, sources)
