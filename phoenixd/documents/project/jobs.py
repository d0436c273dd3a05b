"""The three jobs of a handoff's update in their order (X29); each gets the tree that the one before it left."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, artifact_publisher, planner
from phoenixd.documents.project.writing import technical_writer

Job = Callable[[Tree, Sources], Changes]

JOBS: tuple[tuple[str, Job], ...] = (
    ("planner", planner),
    ("technical writer", technical_writer),
    ("artifact publisher", artifact_publisher),
)
