"""A project as it was read from the disk, and what is to change of it. Values alone; a driver reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phoenixd.documents.project import layout
from phoenixd.documents.project.models import OrchestratorState
from phoenixd.documents.project.plan import Plan, read_plan
from phoenixd.documents.project.reading import read_document
from phoenixd.errors import BadProject


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file below a phase's artifacts. not_hashed: why there is no sha256, where that was asked for."""

    path: str
    size: int
    sha256: str | None = None
    not_hashed: str | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """The content of a new file. source: the absolute path of a plain file of phoenixd's own."""

    source: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that was there and was not read: a link, a FIFO, a file that is too large."""

    path: str
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """Everything of one project. files: the texts that phoenixd knows, by path; phases: in the order of their numbers.

    memory: files of this project's sessions. unread: what was refused, by name. others: names beside the phases.
    left_out: new files that could not be put there.
    """

    project: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    phases: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    memory: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    others: tuple[str, ...] = ()
    left_out: tuple[Unread, ...] = ()

    @property
    def paths(self) -> layout.ProjectPaths:
        return layout.paths(self.project)

    @property
    def is_empty(self) -> bool:
        """Whether there is no project of that name."""
        root = f"{self.paths.root}/"
        return not (self.phases or self.unread or self.others or any(path.startswith(root) for path in self.files))

    def plan(self, phase: str) -> Plan | None:
        """A phase's plan; None where it has none. Raises BadProject for one that is no text."""
        path = self.paths.plan(phase)
        content = self.files.get(path)
        return read_plan(content, path) if content is not None else None

    def plans(self) -> dict[str, Plan]:
        """All plans that can be read, by phase."""
        found = {}
        for phase in self.phases:
            try:
                plan = self.plan(phase)
            except BadProject:
                continue  # `checking.check` names it.
            if plan is not None:
                found[phase] = plan
        return found

    def state(self) -> OrchestratorState | None:
        """orchestrator-state.json; None where there is none. Raises BadProject for one that cannot be used."""
        content = self.files.get(self.paths.state)
        return read_document(OrchestratorState, content, self.paths.state) if content is not None else None

    def after(self, changes: Changes) -> Tree:
        """The project as it is once the changes are made."""
        files = {path: content for path, content in self.files.items() if path not in changes.removes}
        files |= changes.writes
        root = f"{self.paths.root}/"
        named = {
            path.removeprefix(root).split("/")[0] for path in (*files, *changes.directories) if path.startswith(root)
        }
        gone = {path.removeprefix(root) for path in changes.emptied if path.startswith(root)}
        phases = ({*self.phases} - gone) | {name for name in named if layout.is_phase(name)}
        copied = tuple(Artifact(path, one.size, one.sha256) for path, one in changes.copies.items())
        return replace(
            self, files=files, phases=layout.in_order(phases),
            artifacts=tuple(sorted((*self.artifacts, *copied), key=lambda one: layout.natural(one.path))),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be written, removed and made, by path. emptied: directories that go if nothing is left in them.

    copies: new files, put there before anything is written. Where some cannot be, the changes are asked for again, with
    those left out. left_out: those that are not even to be tried.
    """

    writes: Mapping[str, bytes] = field(default_factory=dict)
    removes: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    copies: Mapping[str, Copy] = field(default_factory=dict)
    left_out: tuple[Unread, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writes or self.removes or self.directories or self.emptied or self.copies)

    def then(self, later: Changes) -> Changes:
        """These and then those, as one."""
        removes = (*(path for path in self.removes if path not in later.writes), *later.removes)
        writes = {path: content for path, content in self.writes.items() if path not in later.removes}
        return Changes(
            {**writes, **later.writes},
            removes,
            (*self.directories, *later.directories),
            (*self.emptied, *later.emptied),
            {**self.copies, **later.copies},
            (*self.left_out, *later.left_out),
        )
