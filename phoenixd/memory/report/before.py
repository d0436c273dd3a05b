"""Keeps, for each worker, the files of its workspace as they were before its task; a later run of it changes nothing.

Blocking. What cannot be kept is unknown, and unknown contradicts nothing: no start waits for it, or fails by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.documents.report.before import Before, read_before, render_before
from phoenixd.errors import PhoenixdError
from phoenixd.memory.files import Files

FILE, LIMIT = "task-before.json", 16 << 20

log = structlog.get_logger("phoenixd.jobs")


@dataclass(frozen=True, slots=True)
class BeforeTasks:
    """look: the hashes of a workspace's files; it may raise PhoenixdError and OSError."""

    directories: Directories
    files: Files
    look: Callable[[str], Before]

    def keep(self, spec: AgentSpec) -> None:
        """Before a worker's order goes out. The first run of a task counts."""
        try:
            if self.of(spec) is None:
                place = self.directories.agent_state(spec.name)
                self.files.replace(place / FILE, render_before(spec.task, self.look(spec.cwd)), durable=False)
        except (OSError, PhoenixdError) as error:
            log.warning("task_before_unknown", agent=spec.name, task=spec.task, why=str(error))

    def of(self, spec: AgentSpec) -> Before | None:
        try:
            content = self.files.read_plain(self.directories.agent_state(spec.name) / FILE, LIMIT)
        except (OSError, PhoenixdError):
            # None was kept, or what stands there is none of ours.
            return None
        return read_before(content, spec.task)
