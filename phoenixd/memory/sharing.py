"""Memory that projects share: one store of the daemon's, each text once and with its source (E81, F-PH-9).

Blocking, for threads. What stands in the store is in reach of agents: a file whose text is not what its first line says
is no part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from phoenixd.documents.project import layout, memory
from phoenixd.documents.project.memory import Provenance, SharedFile
from phoenixd.documents.project.tree import Tree
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.times import timestamp
from phoenixd.errors import BadProject, PhoenixdError, UnsafeFile
from phoenixd.listings import names_in
from phoenixd.memory.files import Files

DIRECTORY = "memory/shared"
WITHDRAWN = "withdrawn.txt"
MOST, MOST_BYTES = 100, 4 << 20
"""Texts of the store, and bytes of them all: each workspace that takes them has a copy."""
MOST_ENTRIES = 100_000
"""Names that are looked through for those."""
MOST_WITHDRAWN = 1000
Put = Callable[[str, Mapping[str, bytes]], None]
Remove = Callable[[str, Sequence[str]], None]
FILE_LIMIT = memory.LIMIT + 1024


class MemoryFiles(Protocol):
    """Files of a workspace. May raise PhoenixdError and OSError."""

    def read_file(self, workspace: str, path: str, limit: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The store. clean: takes secrets out of a text; also those of the agent whose name it is given."""

    directory: Path
    files: Files
    workspaces: MemoryFiles
    clean: CleanOf
    wall: Callable[[], float]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listed(self) -> tuple[SharedFile, ...]:
        """All texts, the oldest first."""
        found = []
        for name, content in self.contents().items():
            source = memory.provenance(content)
            if source is not None:
                found.append(SharedFile(name, len(content), source))
        return tuple(sorted(found, key=lambda one: (one.source.at, one.name)))

    def contents(self) -> dict[str, bytes]:
        """The texts by their names; what is none of ours is left out."""
        try:
            names = sorted(filter(memory.is_shared_name, names_in(self.directory, MOST_ENTRIES)))
        except FileNotFoundError:
            return {}
        found: dict[str, bytes] = {}
        for name in names[:MOST]:
            try:
                content = self.files.read_plain(self.directory / name, FILE_LIMIT)
            except (FileNotFoundError, UnsafeFile):
                continue
            source = memory.provenance(content)
            if source is not None and name.startswith(source.sha256[:12]):
                found[name] = content
        return found

    def share(self, workspace: str, tree: Tree, path: str, agent: str | None) -> tuple[SharedFile, bool]:
        """Take one memory file of a project into the store; whether it is new there.

        agent: whose secrets are taken out as well. Raises PhoenixdError and OSError.
        """
        session_id = memory.session_of(path)
        if path not in tree.memory:
            raise BadProject(f"{tree.project} has no memory file {path}", "phoenixctl memory list")
        content = self.workspaces.read_file(workspace, path, memory.LIMIT)
        source = Provenance(tree.project, session_id, timestamp(self.wall()), "")
        made = memory.shared(content, path, source, lambda text: self.clean(agent, text))
        told = memory.provenance(made)
        assert told is not None
        with self._lock:
            known = self.contents()
            for one in self.listed():
                if one.source.sha256 == told.sha256:
                    return one, False
            if len(known) >= MOST or sum(map(len, known.values())) + len(made) > MOST_BYTES:
                why = f"{MOST} texts of together {MOST_BYTES >> 20} MiB are shared at most"
                raise PhoenixdError(why, "phoenixctl memory share --withdraw PROJECT")
            name = memory.shared_name(path, told.sha256)
            for place in (self.directory.parent, self.directory):
                self.files.ensure_private_dir(place)
            self.files.replace(self.directory / name, made)
        return SharedFile(name, len(made), told), True

    def withdraw(self, project: str) -> tuple[str, ...]:
        """Take back all that a project has shared; the names (F-PH-9). Workspaces lose it at their next handoff."""
        with self._lock:
            names = memory.of_source(self.contents(), project)
            if names:
                gone = [*self.withdrawn(), *names][-MOST_WITHDRAWN:]
                self.files.replace(self.directory / WITHDRAWN, "".join(f"{one}\n" for one in gone).encode())
            for name in names:
                (self.directory / name).unlink(missing_ok=True)
        return names

    def withdrawn(self) -> tuple[str, ...]:
        """The names of what was taken back."""
        try:
            text = self.files.read_plain(self.directory / WITHDRAWN, 128 * MOST_WITHDRAWN).decode("utf-8", "replace")
        except (FileNotFoundError, UnsafeFile):
            return ()
        return tuple(filter(memory.is_shared_name, text.splitlines()))

    def for_project(self, tree: Tree) -> dict[str, bytes]:
        """What a project gets of others."""
        return {
            name: content
            for name, content in self.contents().items()
            if (source := memory.provenance(content)) is not None
            and not memory.is_own(source, tree.project, tree.memory)
        }

    def bring(self, workspace: str, tree: Tree, put: Put, remove: Remove) -> tuple[str, ...]:
        """Have a workspace hold what its project gets of others, and nothing that was taken back; the paths."""
        taken = {f"{layout.SHARED}/{name}": content for name, content in self.for_project(tree).items()}
        gone = [path for name in self.withdrawn() if (path := f"{layout.SHARED}/{name}") not in taken]
        if gone:
            remove(workspace, gone)
        lacking = {path: content for path, content in taken.items() if not self._holds(workspace, path, content)}
        if lacking:
            put(workspace, lacking)
        return tuple(sorted(taken))

    def _holds(self, workspace: str, path: str, content: bytes) -> bool:
        try:
            return self.workspaces.read_file(workspace, path, FILE_LIMIT) == content
        except (FileNotFoundError, UnsafeFile, BadProject):
            return False

    def hashes(self, workspace: str, tree: Tree, agent: str | None) -> Mapping[str, str]:
        """The content hash of each memory file that can be shared, as the store would know it, by path."""
        found: dict[str, str] = {}
        for path in tree.memory[:MOST]:
            try:
                content = self.workspaces.read_file(workspace, path, memory.LIMIT)
                found[path] = memory.content_hash(memory.words(content, path, lambda text: self.clean(agent, text)))
            except (FileNotFoundError, UnsafeFile, BadProject):
                continue
        return found
