"""Files of orchestrators' sessions in a workspace, which phoenixd writes, all but handoff-ack.json: read and put in
place without following any link."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from phoenixd.documents.project import layout
from phoenixd.documents.project.addendum import Listing
from phoenixd.documents.project.keeping import SessionFound
from phoenixd.documents.project.models import SessionRecord
from phoenixd.documents.project.reading import JSON_LIMIT, read_document
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.times import read_time
from phoenixd.drivers.files import project as projects
from phoenixd.drivers.files.listing import list_files
from phoenixd.drivers.files.plain import read_plain, replace
from phoenixd.drivers.files.workspace import NEW_FILE, below, make, named, opened
from phoenixd.errors import BadProject, UnsafeFile
from phoenixd.listings import names_in

MOST_SESSIONS = 10_000
"""Of more, the newest are looked at."""
MOST_ENTRIES = 100_000
"""Names that are looked through for those."""
MOST_FILES = 1000
"""Names of one session's directory."""


def read_file(workspace: str, path: str, limit: int) -> bytes:
    """A plain file of at most `limit` bytes. Raises BadProject, UnsafeFile, and FileNotFoundError."""
    parent, _, name = layout.checked_path(path).rpartition("/")
    with opened(workspace) as top, below(top, parent) as place:
        return read_plain(named(place, name), limit)


def read_dated(workspace: str, path: str, limit: int) -> tuple[bytes, int]:
    """The same, and when it was written last, in nanoseconds."""
    parent, _, name = layout.checked_path(path).rpartition("/")
    with opened(workspace) as top, below(top, parent) as place:
        content = read_plain(named(place, name), limit)
        return content, os.stat(name, dir_fd=place, follow_symlinks=False).st_mtime_ns


def put_files(workspace: str, writes: Mapping[str, bytes]) -> None:
    """Put each of these whole in the place of whatever plain file stands there. Raises BadProject and OSError."""
    with opened(workspace) as top:
        for path, content in writes.items():
            parent, _, name = layout.checked_path(path).rpartition("/")
            make(top, parent)
            with below(top, parent) as place:
                replace(named(place, name), content, NEW_FILE)


def sessions_of(workspace: str, project: str) -> tuple[SessionFound, ...]:
    """The sessions whose record says that they were of this project. Raises BadProject and OSError."""
    found = []
    with opened(workspace) as top, suppress(FileNotFoundError), below(top, layout.SESSIONS) as place:
        for name in sorted(filter(layout.is_session, names_in(place, MOST_ENTRIES)))[-MOST_SESSIONS:]:
            with suppress(FileNotFoundError, UnsafeFile, BadProject), below(place, name) as inside:
                content = read_plain(named(inside, layout.SESSION), JSON_LIMIT)
                record = read_document(SessionRecord, content, layout.session_paths(name).record)
                if record.project_name == project and record.session_id == name:
                    created = read_time(record.created_at or "") or 0.0
                    names = frozenset(names_in(inside, MOST_FILES))
                    found.append(SessionFound(name, record.status, names, created, record.agent or ""))
    return tuple(found)


def remove_files(workspace: str, paths: Sequence[str]) -> None:
    """Remove these, and the directories that are empty then; what is not there is gone already. Raises OSError."""
    with opened(workspace) as top:
        for path in paths:
            parent, _, name = layout.checked_path(path).rpartition("/")
            above, _, directory = parent.rpartition("/")
            # Another hand may have put a directory in its place: what is none of ours stays.
            with suppress(FileNotFoundError, IsADirectoryError, BadProject), below(top, parent) as place:
                os.unlink(name, dir_fd=place)
            with suppress(FileNotFoundError, BadProject), below(top, above) as place:
                try:
                    os.rmdir(directory, dir_fd=place)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                        raise


class ProjectFiles:
    """Projects and sessions of any workspace."""

    def read_project(self, workspace: str, project: str) -> Tree:
        return projects.read_project(workspace, project)

    def look_at_project(self, workspace: str, project: str) -> Tree:
        return projects.read_project(workspace, project, hashed=False)

    def edit_project(self, workspace: str, project: str, change: Callable[[Tree], Changes]) -> Tree:
        return projects.edit_project(workspace, project, change)

    def read_file(self, workspace: str, path: str, limit: int) -> bytes:
        return read_file(workspace, path, limit)

    def read_dated(self, workspace: str, path: str, limit: int) -> tuple[bytes, int]:
        return read_dated(workspace, path, limit)

    def put_files(self, workspace: str, writes: Mapping[str, bytes]) -> None:
        put_files(workspace, writes)

    def list_files(self, workspace: str, at: float) -> Listing:
        return list_files(workspace, at)

    def sessions_of(self, workspace: str, project: str) -> tuple[SessionFound, ...]:
        return sessions_of(workspace, project)

    def remove_files(self, workspace: str, paths: Sequence[str]) -> None:
        remove_files(workspace, paths)
