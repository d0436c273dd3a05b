"""A project's directory: read whole, and changed under its lock, only where it still is as it was read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace

from phoenixd.documents.project import layout
from phoenixd.documents.project.limits import MOST_FILES
from phoenixd.documents.project.reading import TEXT_LIMIT
from phoenixd.documents.project.tree import Changes, Copy, Tree, Unread
from phoenixd.drivers.files.plain import HOST_ERRORS, copy_new, read_plain, replace_unchanged
from phoenixd.drivers.files.project_reader import MOST_NAMES, ProjectReader
from phoenixd.drivers.files.workspace import NEW_FILE, below, make, named, opened
from phoenixd.errors import BadProject, UnsafeFile
from phoenixd.listings import names_in

HOST_FAULTS = HOST_ERRORS | {errno.EROFS, errno.ESTALE, errno.ENODEV}
"""Why no file can be put anywhere, whatever it is."""


def projects_of(workspace: str) -> tuple[str, ...]:
    """The projects of a workspace, by name. Raises BadProject, and FileUnreadable where the host could not look."""
    with opened(workspace) as top:
        try:
            with below(top, layout.PROJECTS) as place:
                return tuple(sorted(filter(_is_project, names_in(place, MOST_NAMES)), key=layout.natural))
        except FileNotFoundError:
            return ()


def read_project(workspace: str, project: str, *, hashed: bool = True) -> Tree:
    """Everything of a project; an empty tree where there is none. hashed: with the hashes of its artifacts.

    What cannot be read safely is named in the tree. Raises BadProject for a directory that is none of ours.
    """
    paths = layout.paths(project)
    with opened(workspace) as top:
        reader = ProjectReader(project, hashed=hashed)
        with contextlib.suppress(FileNotFoundError), below(top, paths.root) as root:
            reader.read(root)
        reader.read_schemas(top)
        reader.read_memory(top)
        return reader.tree()


def stamps_of(workspace: str, project: str) -> tuple[tuple[str, int, int, int], ...]:
    """Of each plan.md and claude.md its path, inode, size and time of change, by which a change is noticed unread.

    One more than `limits.MOST_FILES` at most; without phases that cannot be entered. Raises BadProject, and OSError
    where the host could not look.
    """
    paths = layout.paths(project)
    found: list[tuple[str, int, int, int]] = []
    with opened(workspace) as top, contextlib.suppress(FileNotFoundError), below(top, paths.root) as root:
        for phase in layout.in_order(list(filter(layout.is_phase, names_in(root, MOST_NAMES)))):
            try:
                if not stat.S_ISDIR(os.stat(phase, dir_fd=root, follow_symlinks=False).st_mode):
                    continue
                for name in (layout.PLAN, layout.CONTEXT):
                    with contextlib.suppress(FileNotFoundError):
                        here = os.stat(f"{phase}/{name}", dir_fd=root, follow_symlinks=False)
                        found.append((f"{phase}/{name}", here.st_ino, here.st_size, here.st_mtime_ns))
            except OSError as error:
                if error.errno in HOST_FAULTS:
                    raise
            if len(found) > MOST_FILES:
                break
    return tuple(found[: MOST_FILES + 1])


def read_plans(workspace: str, project: str) -> Tree:
    """The plan.md and claude.md of each phase, and the state, alone. Raises as `read_project` does."""
    with opened(workspace) as top:
        reader = ProjectReader(project, hashed=False, plans_only=True)
        with contextlib.suppress(FileNotFoundError), below(top, layout.paths(project).root) as root:
            reader.read(root)
        return reader.tree()


def edit_project(workspace: str, project: str, change: Callable[[Tree], Changes]) -> Tree:
    """Read a project, ask what is to change, and change it, all under the project's lock; the tree as it is then.

    A crash leaves each file old or new. A new file that cannot be put there is left out, and named in the tree. Raises
    BadProject where another process is at it, or changed a file meanwhile; OSError where the disk refuses.
    """
    paths = layout.paths(project)
    with opened(workspace) as top:
        held = _held(top, paths.root)
        try:
            before = read_project(workspace, project)
            changes = change(before)
            if not changes:
                return replace(before, left_out=changes.left_out)
            if held is None:
                make(top, paths.root)
                held = _held(top, paths.root)
            refused = _copied(top, before, changes.copies)
            if refused:
                changes = change(replace(before, left_out=refused))
            _apply(top, before, changes)
        finally:
            if held is not None:
                os.close(held)
    return replace(read_project(workspace, project), left_out=(*refused, *changes.left_out))


def _copied(top: int, before: Tree, copies: Mapping[str, Copy]) -> tuple[Unread, ...]:
    """Put new files there; those that cannot be put there, with the reason.

    Raises what the other files would meet as well: a phase that is gone, and faults of the host.
    """
    left_out = []
    for path, copy in copies.items():
        parent, _, name = layout.checked_path(path).rpartition("/")
        _require_known(top, before, path)
        try:
            make(top, parent)
            with below(top, parent) as place:
                if not copy_new(copy.source, named(place, name), copy.size, copy.sha256):
                    left_out.append(Unread(path, "another file stands there"))
        except (BadProject, UnsafeFile, OSError) as failure:
            cause = failure if isinstance(failure, OSError) else failure.__cause__
            if isinstance(cause, OSError) and cause.errno in HOST_FAULTS:
                raise
            left_out.append(Unread(path, str(failure)))
    return tuple(left_out)


def _apply(top: int, before: Tree, changes: Changes) -> None:
    for path in changes.directories:
        _require_known(top, before, path)
        make(top, path)
    for path, content in changes.writes.items():
        parent, _, name = layout.checked_path(path).rpartition("/")
        _require_known(top, before, path)
        make(top, parent)
        with below(top, parent) as place:
            mode = _mode(place, name)
            if not replace_unchanged(named(place, name), content, before.files.get(path), mode):
                raise BadProject(
                    f"{path} was changed by another hand meanwhile, and was left as it is", "the same again"
                )
    for path in changes.removes:
        parent, _, name = layout.checked_path(path).rpartition("/")
        with contextlib.suppress(FileNotFoundError), below(top, parent) as place:
            if read_plain(named(place, name), TEXT_LIMIT) != before.files.get(path):
                raise BadProject(f"{path} was changed by another hand meanwhile, and was not removed", "the same again")
            os.unlink(name, dir_fd=place)
    for path in changes.emptied:
        parent, _, name = layout.checked_path(path).rpartition("/")
        with contextlib.suppress(FileNotFoundError), below(top, parent) as place:
            try:
                os.rmdir(name, dir_fd=place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise


def _require_known(top: int, before: Tree, path: str) -> None:
    """Raise BadProject where a phase that was read is not there any more: it was renamed or removed under us."""
    root = f"{before.paths.root}/"
    phase = path.removeprefix(root).split("/")[0] if path.startswith(root) else ""
    if phase not in before.phases:
        return
    try:
        with below(top, f"{root}{phase}"):
            return
    except FileNotFoundError:
        raise BadProject(
            f"{root}{phase} is not there any more: it was renamed or removed meanwhile", "phoenixctl phase list"
        ) from None


def _mode(place: int, name: str) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode) & 0o777
    except FileNotFoundError:
        return NEW_FILE


def _held(top: int, path: str) -> int | None:
    """A descriptor that locks the project's directory; None where there is none yet."""
    try:
        with below(top, path) as place:
            descriptor = os.dup(place)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise BadProject(f"another process changes {path} at this moment", "the same again in a moment") from error
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL):
            return None  # This file system locks no directories; each write still looks at what it replaces.
        raise
    return descriptor


def _is_project(name: str) -> bool:
    try:
        return bool(layout.project_name(name))
    except BadProject:
        return False
