"""Files of orchestrators' sessions in a workspace, which phoenixd alone writes: read and put in place without following
any link."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phoenixd.documents.project import layout
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.drivers.files import project as projects
from phoenixd.drivers.files.plain import read_plain, replace
from phoenixd.drivers.files.project import NEW_FILE, _below, _make, _named, _opened


def read_file(workspace: str, path: str, limit: int) -> bytes:
    """A plain file of at most so many bytes. Raises BadProject, UnsafeFile, and FileNotFoundError."""
    parent, _, name = layout.checked_path(path).rpartition("/")
    with _opened(workspace) as top, _below(top, parent) as place:
        return read_plain(_named(place, name), limit)


def put_files(workspace: str, writes: Mapping[str, bytes]) -> None:
    """Put each of these whole in the place of whatever plain file stands there. Raises BadProject and OSError."""
    with _opened(workspace) as top:
        for path, content in writes.items():
            parent, _, name = layout.checked_path(path).rpartition("/")
            _make(top, parent)
            with _below(top, parent) as place:
                replace(_named(place, name), content, NEW_FILE)


class ProjectFiles:
    """Projects and sessions of any workspace."""

    def read_project(self, workspace: str, project: str) -> Tree:
        return projects.read_project(workspace, project)

    def edit_project(self, workspace: str, project: str, change: Callable[[Tree], Changes]) -> Tree:
        return projects.edit_project(workspace, project, change)

    def read_file(self, workspace: str, path: str, limit: int) -> bytes:
        return read_file(workspace, path, limit)

    def put_files(self, workspace: str, writes: Mapping[str, bytes]) -> None:
        put_files(workspace, writes)
