"""What workers left for tasks of the plans goes into the artifacts of their phase, a directory for each task (E9, E55).

Each file goes there once: what a person changes or removes of it later stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from phoenixd.core.tasks.names import is_same_phase
from phoenixd.documents.project import layout
from phoenixd.documents.project.models import MOST, Manifest, ManifestFile
from phoenixd.documents.project.reading import JSON_LIMIT, read_document, render_document
from phoenixd.documents.project.tree import Copy, Tree, Unread
from phoenixd.errors import BadProject

MOST_FILES, MOST_BYTES = 1000, 256 << 20
"""Files and bytes of one handoff, which has its deadline; the tasks behind them have their turn at the next one."""
LOADED = frozenset(
    {
        ".git",
        ".claude",
        ".codex",
        ".gemini",
        "claude.md",
        "claude.local.md",
        "agents.md",
        "agents.override.md",
        "gemini.md",
    }
)
"""Names by which git and CLIs take instructions and settings, in small letters: no worker brings any to others."""
LIMITS = f"{MOST} files or {JSON_LIMIT >> 20} MiB"
"""Of a manifest that can be read again."""


@dataclass(frozen=True, slots=True)
class Made:
    """A file that a worker left. run: its task, as phoenixd counts, with the time at which it was asked for, such as
    `t7-20260131T100000Z`; task: that of the plan. path: below the worker's directory."""

    phase: str
    task: str
    run: str
    path: str
    copy: Copy


@dataclass(slots=True)
class Published:
    """What goes into one phase. copies: by path in the workspace. owners: the plan's task of each; runs: of whom."""

    copies: dict[str, Copy] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Room:
    """Files, runs and bytes that a phase's manifest can still take, so that it can be read again."""

    files: int
    runs: int
    size: int

    def takes(self, made: Mapping[str, Made], run: str) -> bool:
        """Whether a run with these new files goes in; then it is in."""
        size = len(run) + 16 + sum(_listing_size(path, one) for path, one in made.items())
        if len(made) > self.files or self.runs < 1 or size > self.size:
            return False
        self.files, self.runs, self.size = self.files - len(made), self.runs - 1, self.size - size
        return True


def room_in(manifest: Manifest) -> Room:
    """What this manifest can still take."""
    size = JSON_LIMIT - len(render_document(manifest)) - 1024  # Lists that were empty, and the time, take some.
    return Room(MOST - len(manifest.files), MOST - len(manifest.published), size)


def published(
    tree: Tree, made: Iterable[Made], room_of: Callable[[str], Room]
) -> tuple[dict[str, Published], tuple[Unread, ...]]:
    """What is to be published, by phase, without what the tree has as left out; and what else is left out.

    made: in the order of the runs. room_of: a phase's, asked once. Raises BadProject for a damaged manifest.
    """
    known = {phase: _known(tree, phase) for phase in tree.phases}
    tasks = {phase: frozenset(task.id for task in plan.tasks) for phase, plan in tree.plans().items()}
    there = {one.path for one in tree.artifacts} | {one.path for one in tree.left_out}
    found: dict[str, Published] = {}
    rooms: dict[str, Room] = {}
    left_out: list[Unread] = []
    files = size = 0
    for run, group in groupby(made, lambda one: one.run):
        ones = list(group)
        phase = _phase(tasks, ones[0])
        if phase is None or any(run in runs for name, runs in known.items() if is_same_phase(name, phase)):
            continue
        root = f"{tree.paths.artifacts(phase)}/task-{ones[0].task}/{run}"
        reasons = {one.path: _why_not(root, one.path) for one in ones}
        placed = {f"{root}/{one.path}": one for one in ones if not reasons[one.path]}
        if phase not in rooms:
            rooms[phase] = room_of(phase)
        if not rooms[phase].takes({path: one for path, one in placed.items() if path not in there}, run):
            left_out.append(Unread(root, f"{layout.MANIFEST} would pass {LIMITS}"))
            continue
        files, size = files + len(ones), size + sum(one.copy.size for one in ones)
        if found and (files > MOST_FILES or size > MOST_BYTES):
            break
        left_out += [Unread(f"{root}/{path[:200]}", why) for path, why in reasons.items() if why]
        into = found.setdefault(phase, Published())
        into.runs.add(run)
        for path, one in placed.items():
            into.owners[path] = one.task
            if path not in there:
                into.copies[path] = one.copy
    return found, tuple(left_out)


def _listing_size(path: str, made: Made) -> int:
    """Bytes that a file takes in a manifest, or some more."""
    entry = ManifestFile(path=path, size=made.copy.size, sha256=made.copy.sha256, task=made.task)
    return len(render_document(entry)) + 32


def _why_not(root: str, path: str) -> str:
    """Why a worker's file is not put there; empty where it is."""
    loaded = next((part for part in path.split("/") if part.casefold() in LOADED), None)
    if loaded is not None:
        return f"git or an agent's CLI loads what is called {loaded}"
    try:
        layout.checked_path(f"{root}/{path}")
    except BadProject as error:
        return error.message
    return ""


def _known(tree: Tree, phase: str) -> frozenset[str]:
    content = tree.files.get(path := tree.paths.manifest(phase))
    return frozenset(read_document(Manifest, content, path).published) if content is not None else frozenset()


def _phase(tasks: Mapping[str, frozenset[str]], made: Made) -> str | None:
    """The phase in which the task stands now: a plan may have been split, or put together again, meanwhile."""
    places = (made.phase, *(name for name in tasks if is_same_phase(name, made.phase)))
    return next((phase for phase in places if made.task in tasks.get(phase, ()) and "/" not in made.task), None)
