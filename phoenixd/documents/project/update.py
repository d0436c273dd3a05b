"""The update before a handoff (E25 to E28), without a model: planner, technical writer, artifact publisher.

Each is a function of the project's tree and of what is known of the session; in that order, each on what the one before
it left. A person's words are never touched: the planner changes lines of status, the writer its own part of claude.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import layout
from phoenixd.documents.project.editing import with_statuses
from phoenixd.documents.project.models import (
    MOST,
    Manifest,
    ManifestFile,
    OrchestratorState,
    PhaseProgress,
    PhaseStatus,
    TaskStatus,
)
from phoenixd.documents.project.plan import Plan, Task, phase_status
from phoenixd.documents.project.publishing import LIMITS, Made, Published, published, room_in
from phoenixd.documents.project.reading import JSON_LIMIT, line_count, read_document, render_document
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Artifact, Changes, Tree, Unread
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.errors import BadProject

STATUSES: frozenset[TaskStatus] = frozenset({"pending", "in_progress", "completed", "blocked"})
MAY_COME_FROM: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    "in_progress": frozenset({"pending", "blocked"}), "pending": frozenset({"in_progress"}),
}  # fmt: skip
"""From which statuses alone a begin and a cancel lead: what is completed stays so, and what a person has set back."""
INTERRUPTED = "interrupted by a handoff; begin it anew"
_OUT = re.compile(r"task-([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What became of a task that a worker has, or had. reason: why it is not completed. artifacts: what it left."""

    phase: str
    task: str
    status: TaskStatus
    reason: str = ""
    artifacts: tuple[str, ...] = ()


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Sources:
    """What the three jobs go by. now: RFC 3339; exact: the same as the state tells it, to the microsecond.

    running: tasks (phase, id) that workers have in hand over the handoff. made: the files of those that are done.
    clean: takes secrets out of a text (P79).
    """

    now: str
    exact: str = ""
    ledger: SessionLedger | None = None
    outcomes: tuple[TaskOutcome, ...] = ()
    running: frozenset[tuple[str, str]] = frozenset()
    rules: PhaseRules = field(default_factory=PhaseRules)
    made: tuple[Made, ...] = ()
    clean: Callable[[str], str] = _as_it_is


def planner(tree: Tree, sources: Sources) -> Changes:
    """plan.md of every phase with what was achieved, and the state that follows; a plan that is too long is split.

    Raises BadProject where a plan cannot be changed safely.
    """
    writes: dict[str, bytes] = {}
    for phase in tree.phases:
        plan = tree.plan(phase)
        if plan is None:
            raise BadProject(f"{tree.paths.plan(phase)} is not there", "phoenixctl phase init")
        plan.require_sound()
        told = with_statuses(plan, _statuses(phase, plan, sources))
        if told.content != plan.content:
            writes[plan.name] = told.content
    changes = Changes(writes)
    now = tree.after(changes)
    before = tree.state()
    state = state_after(now, before, sources)
    # The time in the state says which ends of tasks it knows: what a person changes after that stays.
    if before is None or sources.outcomes or _without_time(state) != _without_time(before):
        changes = changes.then(Changes({tree.paths.state: render_document(state)}))
    if not sources.rules.auto_split:
        return changes
    for phase in now.phases:
        if line_count(now.files.get(now.paths.plan(phase), b"")) > sources.rules.max_lines:
            made = split(tree.after(changes), phase, sources.rules, sources.now)
            changes = changes.then(made.changes)
    return changes


def planner_of_tasks(tree: Tree, sources: Sources) -> Changes:
    """The plans of the tasks that workers have begun and ended, and the state that follows: nothing else, for the
    orchestrator is at work with the rest (E10, E67).

    Raises BadProject where a plan cannot be changed safely.
    """
    writes: dict[str, bytes] = {}
    for phase in dict.fromkeys(one.phase for one in sources.outcomes):
        plan = tree.plan(phase)
        if plan is None:
            if phase in tree.phases:
                raise BadProject(f"{tree.paths.plan(phase)} is not there", "phoenixctl phase init")
            continue
        plan.require_sound()
        told = with_statuses(plan, _by_workers(phase, plan, sources))
        if told.content != plan.content:
            writes[plan.name] = told.content
    if not sources.outcomes:
        return Changes()
    changes = Changes(writes)
    state = state_after(tree.after(changes), tree.state(), sources)
    return changes.then(Changes({tree.paths.state: render_document(state)}))


def artifact_publisher(tree: Tree, sources: Sources) -> Changes:
    """What workers left, in the artifacts of their phases (E9), and artifacts/manifest.json of every phase: each file
    with size, sha256 and the task that it came of (E28)."""
    before = {phase: _manifest(tree, phase) for phase in tree.phases}

    def after(tree: Tree, phase: str, mine: Published) -> Manifest | None:
        """The manifest as it is to be; None: it can stay. One that passes its limits is not believed here."""
        path, root, known = tree.paths.manifest(phase), f"{tree.paths.artifacts(phase)}/", before[phase]
        entries = {one.path: one for one in known.files}
        owners = _owners(tree.plan(phase), root, sources.outcomes) | mine.owners
        found = [one for one in tree.artifacts if one.path.startswith(root) and one.path != path]
        files = tuple(_entry(entries.get(one.path), one, owners, root) for one in found)
        if not mine.runs and files == known.files:
            return None
        update: dict[str, Any] = {"phase": phase, "files": files, "updated_at": sources.now}
        if mine.runs:
            update["published"] = (*known.published, *sorted(mine.runs, key=layout.natural))
        return known.model_copy(update=update)

    writes = {}
    new, runs = published(tree, sources.made, lambda phase: room_in(after(tree, phase, Published()) or before[phase]))
    copies = {path: one for phase in new.values() for path, one in phase.copies.items()}
    left_out = list(runs)
    then = tree.after(Changes(copies=copies))
    for phase in tree.phases:
        manifest = after(then, phase, new.get(phase, Published()))
        if manifest is None:
            continue
        path, content = tree.paths.manifest(phase), render_document(manifest)
        if len(content) > JSON_LIMIT or len(manifest.files) > MOST:
            left_out.append(Unread(path, f"it would pass {LIMITS}"))
        else:
            writes[path] = content
    return Changes(writes, copies=copies, left_out=tuple(left_out))


def _manifest(tree: Tree, phase: str) -> Manifest:
    """The manifest as it stands; an empty one where there is none. Raises BadProject for one that cannot be read."""
    content = tree.files.get(path := tree.paths.manifest(phase))
    return read_document(Manifest, content, path) if content is not None else Manifest(phase=phase)


def state_after(tree: Tree, before: OrchestratorState | None, sources: Sources) -> OrchestratorState:
    """The state as the plans tell it (X3): completed tasks in the order of their completion, pending in the plans'."""
    plans = tree.plans()
    done = [task.title for plan in plans.values() for task in plan.tasks if task.status == "completed"]
    open_ones = [task.title for plan in plans.values() for task in plan.tasks if task.status != "completed"]
    told = before.completed_tasks if before is not None else ()
    completed = [*_still(told, done, open_ones), *_rest(done, told)]
    # A person may have written tasks into the state that no plan has: they are not lost either.
    own = [one for one in (before.pending_tasks if before is not None else ()) if one not in {*done, *open_ones}]
    phases = _progress(tree, plans, before, sources.now)
    step = (before.current_step if before is not None else 0) + len(_rest(done, told))
    fields: dict[str, Any] = {
        "project_name": tree.project,
        "current_phase": _current(tree, plans, before),
        "current_step": step,
        "phases": phases,
        "completed_tasks": tuple(completed),
        "pending_tasks": (*open_ones, *own),
        "updated_at": sources.exact or sources.now,
    }
    return before.model_copy(update=fields) if before is not None else OrchestratorState(**fields)


def _statuses(phase: str, plan: Plan, sources: Sources) -> Mapping[str, tuple[TaskStatus, str]]:
    found: dict[str, tuple[TaskStatus, str]] = {}
    listed = _done_in_session(sources.ledger)
    for task in plan.tasks:
        if task.status == "completed":
            continue
        if _words(task.title) in listed or (not task.is_box and f"task {task.id.lower()}" in listed):
            found[task.id] = ("completed", "")
        elif task.status == "in_progress" and (phase, task.id) not in sources.running:
            found[task.id] = ("pending", INTERRUPTED)
    return {**found, **_by_workers(phase, plan, sources)}


def _by_workers(phase: str, plan: Plan, sources: Sources) -> dict[str, tuple[TaskStatus, str]]:
    known = {task.id: task.status for task in plan.tasks}
    mine = (one for one in sources.outcomes if one.phase == phase and one.task in known)
    told = (one for one in mine if known[one.task] in MAY_COME_FROM.get(one.status, STATUSES))
    return {one.task: (one.status, sources.clean(one.reason)) for one in told}


def _done_in_session(ledger: SessionLedger | None) -> set[str]:
    """What the agent's own list of tasks calls done, by its exact words; nothing is guessed from similar ones."""
    rows = ledger.tasks.rows if ledger is not None else []
    open_ones = {_words(row.text) for row in rows if row.status != "done"}
    return {_words(row.text) for row in rows if row.status == "done"} - open_ones


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def _still(told: Iterable[str], done: list[str], open_ones: list[str]) -> list[str]:
    """Of what was completed, what still is, and what no plan speaks of any more."""
    left, named = Counter(done), {*done, *open_ones}
    kept = []
    for one in told:
        if left[one] > 0 or one not in named:
            left[one] -= 1
            kept.append(one)
    return kept


def _rest(done: list[str], told: Iterable[str]) -> list[str]:
    """Of what is completed, what was not told before."""
    known = Counter(told)
    rest = []
    for one in done:
        if known[one] > 0:
            known[one] -= 1
        else:
            rest.append(one)
    return rest


def current_phase(tree: Tree, plans: Mapping[str, Plan]) -> str | None:
    """The phase at work, as its state and these plans tell it. Raises BadProject for a state that cannot be used."""
    return _current(tree, plans, tree.state())


def _current(tree: Tree, plans: Mapping[str, Plan], before: OrchestratorState | None) -> str | None:
    """The phase at work: as before while it has open tasks, else the first one that has."""
    present = before.current_phase if before is not None else None
    has_open = [name for name, plan in plans.items() if any(task.status != "completed" for task in plan.tasks)]
    if present in has_open or (present in tree.phases and not has_open):
        return present
    return has_open[0] if has_open else next(iter(tree.phases), None)


def _progress(
    tree: Tree, plans: Mapping[str, Plan], before: OrchestratorState | None, now: str
) -> dict[str, PhaseProgress]:
    found = dict(before.phases) if before is not None else {}
    for phase in tree.phases:
        known = found.get(phase, PhaseProgress())
        status = _status(phase, plans, known)
        update: dict[str, object] = {"status": status}
        if status != "not_started" and known.started_at is None:
            update["started_at"] = now
        if status == "completed" and known.completed_at is None:
            update["completed_at"] = now
        elif status != "completed" and known.completed_at is not None:
            update["completed_at"] = None
        found[phase] = known.model_copy(update=update)
    return found


def _status(phase: str, plans: Mapping[str, Plan], known: PhaseProgress) -> PhaseStatus:
    """A phase by its tasks; one that was split by its parts; one that cannot be read as it was."""
    tasks: tuple[Task, ...] = plans[phase].tasks if phase in plans else ()
    if not tasks:
        parts = [name for name in plans if name.startswith(f"{phase}-part")]
        tasks = tuple(task for name in parts for task in plans[name].tasks)
    return phase_status(tasks) if tasks else known.status


def _without_time(state: OrchestratorState) -> OrchestratorState:
    return state.model_copy(update={"updated_at": None})


def _owners(plan: Plan | None, root: str, outcomes: tuple[TaskOutcome, ...]) -> dict[str, str]:
    """Which task a path came of, as plan and reports tell it."""
    found: dict[str, str] = {}
    for task in plan.tasks if plan is not None else ():
        found |= {f"{root}{one.removeprefix('artifacts/')}": task.id for one in task.artifacts}
    for outcome in outcomes:
        found |= {path: outcome.task for path in outcome.artifacts if path.startswith(root)}
    return found


def _entry(known: ManifestFile | None, found: Artifact, owners: Mapping[str, str], root: str) -> ManifestFile:
    path = found.path
    first = path.removeprefix(root).split("/")[0]
    named = _OUT.fullmatch(first)
    task = owners.get(path) or (named[1] if named is not None and first != path.removeprefix(root) else None)
    if task is None and known is not None:
        task = known.task
    fields: dict[str, Any] = {"path": path, "size": found.size, "sha256": found.sha256, "task": task}
    if found.not_hashed is not None or (known is not None and known.not_hashed is not None):
        fields["not_hashed"] = found.not_hashed
    return known.model_copy(update=fields) if known is not None else ManifestFile(**fields)
