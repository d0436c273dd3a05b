"""One thread at a time reads papers of a workspace and writes them again; a disk that hangs holds up its own alone."""

from __future__ import annotations

from threading import RLock


class WorkspaceLocks:
    """A lock for each workspace."""

    def __init__(self) -> None:
        self._known: dict[str, RLock] = {}

    def of(self, workspace: str) -> RLock:
        """The lock of a workspace; the thread that holds it may take it again."""
        return self._known.setdefault(workspace.rstrip("/") or workspace, RLock())
