"""Reading a project whole, within bounds and without following any link; what is refused is kept by name."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from time import monotonic

from phoenixd.documents.project import layout
from phoenixd.documents.project.models import SessionRecord
from phoenixd.documents.project.reading import JSON_LIMIT, TEXT_LIMIT, read_document
from phoenixd.documents.project.schemas import SUFFIX
from phoenixd.documents.project.tree import Artifact, Tree, Unread
from phoenixd.drivers.files.plain import READ_FLAGS, read_plain
from phoenixd.drivers.files.workspace import DIRECTORY, below, named
from phoenixd.errors import BadProject, FileUnreadable, UnsafeFile
from phoenixd.listings import names_in

MOST_ENTRIES = 20_000
MOST_NAMES = 100_000
"""Names of one directory that are looked through, for those that are looked at."""
DEPTH = 16
HASH_LIMIT = 64 << 20
"""Bytes of an artifact that are read for its hash; a larger one is listed without."""
HASH_TOTAL, HASH_SECONDS = 256 << 20, 5.0
"""Bytes and seconds that the hashes of one reading may take: a handoff reads a project several times in 120 s."""
PLANS_TOTAL = 64 << 20
"""Bytes of all plans, contexts, manifests and schemas that are read: an agent makes as many phases as it likes."""
ARCHIVE_TOTAL = 64 << 20
"""Bytes of all archives that are read, of each the newest revisions."""


class ProjectReader:
    """Collects one project; what is refused is kept by name."""

    def __init__(self, project: str, *, hashed: bool, plans_only: bool = False) -> None:
        self.paths = layout.paths(project)
        self.files: dict[str, bytes] = {}
        self.phases: list[str] = []
        self.artifacts: list[Artifact] = []
        self.memory: list[str] = []
        self.unread: list[Unread] = []
        self.others: list[str] = []
        self.entries = 0
        self.hashed, self.plans_only = hashed, plans_only
        self.to_hash, self.hash_until = HASH_TOTAL, monotonic() + HASH_SECONDS
        self.to_read, self.to_take = ARCHIVE_TOTAL, PLANS_TOTAL

    def tree(self) -> Tree:
        return Tree(
            self.paths.project, self.files, layout.in_order(self.phases),
            tuple(sorted(self.artifacts, key=lambda one: layout.natural(one.path))),
            tuple(sorted(self.memory, key=layout.natural)), tuple(self.unread), tuple(sorted(self.others)),
        )  # fmt: skip

    def read(self, root: int) -> None:
        for name in self._names(root, self.paths.root, lambda name: name == layout.STATE or layout.is_phase(name)):
            path = f"{self.paths.root}/{name}"
            if name == layout.STATE:
                self._file(root, name, path, JSON_LIMIT)
            elif layout.is_phase(name):
                with self._directory(root, name, path) as phase:
                    if phase is not None:
                        self.phases.append(name)
                        self._phase(phase, path)
            else:
                self.others.append(name)

    def read_schemas(self, top: int) -> None:
        with contextlib.suppress(FileNotFoundError, BadProject), below(top, layout.SCHEMAS) as place:
            for name in self._names(place, layout.SCHEMAS):
                if name.endswith(SUFFIX):
                    self._file(place, name, f"{layout.SCHEMAS}/{name}", JSON_LIMIT, told=False)

    def read_memory(self, top: int) -> None:
        """Memory of the sessions whose record says that they were of this project."""
        with contextlib.suppress(FileNotFoundError, BadProject), below(top, layout.SESSIONS) as place:
            for name in sorted(filter(layout.is_session, names_in(place, MOST_NAMES)))[-MOST_ENTRIES:]:
                session = layout.session_paths(name)
                with self._directory(place, name, session.root, told=False) as inside:
                    if inside is not None and self._is_ours(inside, session.record):
                        with self._directory(inside, layout.MEMORY, session.memory, told=False) as memory:
                            if memory is not None:
                                self.memory += [one.path for one in self._walk(memory, session.memory, 0, hashed=False)]

    def _is_ours(self, inside: int, path: str) -> bool:
        try:
            content = read_plain(named(inside, layout.SESSION), JSON_LIMIT)
            return read_document(SessionRecord, content, path).project_name == self.paths.project
        except (FileNotFoundError, UnsafeFile, BadProject):
            return False

    def _phase(self, phase: int, path: str) -> None:
        known = {layout.PLAN: TEXT_LIMIT, layout.CONTEXT: TEXT_LIMIT}
        for name in self._names(phase, path, lambda name: name in (*known, layout.ARTIFACTS, layout.ARCHIVE)):
            if name in known:
                self._file(phase, name, f"{path}/{name}", known[name])
            elif self.plans_only:
                continue
            elif name == layout.ARTIFACTS:
                with self._directory(phase, name, f"{path}/{name}") as place:
                    if place is not None:
                        self._artifacts(place, f"{path}/{name}")
            elif name == layout.ARCHIVE:
                with self._directory(phase, name, f"{path}/{name}") as place:
                    if place is not None:
                        self._archive(place, f"{path}/{name}")
            elif name.lower() in known:
                self.others.append(f"{path.rsplit('/', 1)[-1]}/{name}")

    def _artifacts(self, place: int, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(layout.MANIFEST, dir_fd=place, follow_symlinks=False).st_mode):
                self._refuse(f"{path}/{layout.MANIFEST}", "it is a directory")
        for one in self._walk(place, path, 0, hashed=self.hashed):
            if one.path == f"{path}/{layout.MANIFEST}":
                self._file(place, layout.MANIFEST, one.path, JSON_LIMIT)
            else:
                self.artifacts.append(one)

    def _archive(self, place: int, path: str) -> None:
        # The newest first: it is the one that can be undone, and the next number follows from it.
        for name in sorted(self._names(place, path), key=layout.natural, reverse=True):
            with self._directory(place, name, f"{path}/{name}", told=False) as revision:
                for kept in self._names(revision, f"{path}/{name}") if revision is not None else ():
                    self.entries += 1
                    if self.entries > MOST_ENTRIES or self.to_read <= 0:
                        why = f"more than {MOST_ENTRIES} files, or {ARCHIVE_TOTAL >> 20} MiB of archives, are not read"
                        self._refuse(f"{path}/{name}", why)
                        return
                    if revision is not None and kept.endswith((".md", ".json")):
                        self._file(revision, kept, f"{path}/{name}/{kept}", TEXT_LIMIT, counts=False)
                        self.to_read -= len(self.files.get(f"{path}/{name}/{kept}", b""))

    def _walk(self, place: int, path: str, depth: int, *, hashed: bool) -> Iterator[Artifact]:
        for name in self._names(place, path):
            whole = f"{path}/{name}"
            self.entries += 1
            if self.entries > MOST_ENTRIES:
                self._refuse(path, f"it and what was read before have more than {MOST_ENTRIES} files")
                return
            try:
                layout.checked_path(whole)
                kind = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
                if stat.S_ISDIR(kind) and depth < DEPTH:
                    with self._directory(place, name, whole) as inner:
                        if inner is not None:
                            yield from self._walk(inner, whole, depth + 1, hashed=hashed)
                elif stat.S_ISREG(kind):
                    yield self._artifact(place, name, whole) if hashed else _listed(place, name, whole)
                else:
                    self._refuse(whole, _kind(kind))
            except FileNotFoundError:
                continue  # It went away since it was listed.
            except BadProject as error:
                self._refuse(repr(whole[:200]), error.message)
            except OSError as error:
                self._refuse(whole, error.strerror or str(error))

    def _file(self, place: int, name: str, path: str, limit: int, *, told: bool = True, counts: bool = True) -> None:
        """counts: among those that are bounded by PLANS_TOTAL."""
        try:
            content = read_plain(named(place, name), limit)
            if counts and len(content) > self.to_take:
                raise UnsafeFile(f"more than {PLANS_TOTAL >> 20} MiB of plans and the like are not read")
            self.to_take -= len(content) if counts else 0
            self.files[path] = content
        except FileNotFoundError:
            pass
        except FileUnreadable as error:
            raise FileUnreadable(error.message.replace(named(place, name), path), error.remedy) from error
        except UnsafeFile as error:
            if told:
                self._refuse(path, error.message.replace(named(place, name), "it"))

    @contextlib.contextmanager
    def _directory(self, above: int, name: str, path: str, *, told: bool = True) -> Iterator[int | None]:
        try:
            descriptor = os.open(name, DIRECTORY, dir_fd=above)
        except OSError as error:
            if told and error.errno != errno.ENOENT:
                link = error.errno in (errno.ELOOP, errno.ENOTDIR)
                self._refuse(path, "it is no directory of its own" if link else error.strerror or str(error))
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _artifact(self, place: int, name: str, path: str) -> Artifact:
        """One file with its hash, as far as the bounds of this reading go."""
        descriptor = os.open(name, READ_FLAGS, dir_fd=place)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise BadProject(f"{path} is {_kind(found.st_mode)}")
            digest, size, limit = hashlib.sha256(), 0, min(HASH_LIMIT, self.to_hash)
            if found.st_size <= limit:
                while size <= limit and monotonic() < self.hash_until:
                    if not (chunk := os.read(descriptor, 1 << 20)):
                        return Artifact(path, size, digest.hexdigest())
                    digest.update(chunk)
                    size += len(chunk)
                    self.to_hash -= len(chunk)
            why = f"{HASH_LIMIT >> 20} MiB"
            if found.st_size <= HASH_LIMIT:
                why = f"{HASH_TOTAL >> 20} MiB in all, or {HASH_SECONDS:g} s to read"
            return Artifact(path, max(size, found.st_size), not_hashed=f"too large: more than {why}")
        finally:
            os.close(descriptor)

    def _names(self, place: int, path: str, is_needed: Callable[[str], bool] = lambda name: False) -> list[str]:
        """The names in a directory, in order: those that are needed, and as many others as one reading looks at."""
        names = names_in(place, MOST_NAMES)
        needed = [name for name in names if is_needed(name)]
        others = [name for name in names if not is_needed(name)]
        if len(others) > MOST_ENTRIES:
            self._refuse(path, f"it has more than {MOST_ENTRIES} files, and not all of them are looked at")
        return sorted([*needed, *others[:MOST_ENTRIES]])

    def _refuse(self, path: str, why: str) -> None:
        self.unread.append(Unread(path, why, f"move {path} away, or put a plain file there"))


def _listed(place: int, name: str, path: str) -> Artifact:
    return Artifact(path, os.stat(name, dir_fd=place, follow_symlinks=False).st_size)


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "it is a FIFO or a socket"
    return "it is a directory too deep down" if stat.S_ISDIR(mode) else "it is no plain file"
