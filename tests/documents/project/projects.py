"""Projects as tests use them: the seed's own example, and trees made of few words."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from phoenixd.documents.project import layout
from phoenixd.documents.project.tree import Artifact, Tree

NOW = "2026-01-31T10:00:00Z"
PLANNING, BUILDING = "phase-01-planning", "phase-02-building"

SEED_PACKAGE: dict[str, Any] = {
    "previousSessionId": "orchestrator-abc123",
    "newSessionId": "orchestrator-xyz789",
    "projectName": "my-project",
    "createdAt": "2025-01-20T10:00:00Z",
    "currentPhase": "phase-03-implementation",
    "planFiles": {
        "phase-01-planning": ".claude/projects/my-project/phase-01-planning/plan.md",
        "phase-02-architecture": ".claude/projects/my-project/phase-02-architecture/plan.md",
        "phase-03-implementation": ".claude/projects/my-project/phase-03-implementation/plan.md",
    },
    "claudeMdFiles": [
        ".claude/projects/my-project/phase-01-planning/claude.md",
        ".claude/projects/my-project/phase-02-architecture/claude.md",
        ".claude/projects/my-project/phase-03-implementation/claude.md",
    ],
    "artifacts": [
        ".claude/projects/my-project/phase-01-planning/artifacts/project-brief.json",
        ".claude/projects/my-project/phase-02-architecture/artifacts/system-architecture.json",
    ],
    "memoryFiles": [
        ".claude/orchestrators/orchestrator-abc123/memory/patterns.md",
        ".claude/orchestrators/orchestrator-abc123/memory/preferences.md",
    ],
    "projectState": {
        "currentStep": 15,
        "completedTasks": ["Task 1: Project planning", "Task 2: Architecture design", "Task 3: Database schema"],
        "pendingTasks": ["Task 4: API implementation", "Task 5: Frontend components", "Task 6: Testing"],
        "contextSummary": "Project in implementation phase. Database schema complete. Starting API development.",
    },
}
"""The seed's example of a handoff package, as it stands there."""

SEED_STATE: dict[str, Any] = {
    "projectName": "my-project",
    "currentPhase": "phase-03-implementation",
    "currentStep": 15,
    "phases": {
        "phase-01-planning": {
            "status": "completed", "startedAt": "2025-01-18T10:00:00Z", "completedAt": "2025-01-18T18:00:00Z",
        },
        "phase-02-architecture": {"status": "completed", "startedAt": "2025-01-19T09:00:00Z"},
        "phase-03-implementation": {"status": "in_progress", "startedAt": "2025-01-20T09:00:00Z"},
    },
    "completedTasks": SEED_PACKAGE["projectState"]["completedTasks"],
    "pendingTasks": SEED_PACKAGE["projectState"]["pendingTasks"],
}  # fmt: skip
"""orchestrator-state.json with the keys that the original's prose has."""


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def plan_of(*tasks: tuple[str, str], title: str = "Phase 1: Planning") -> bytes:
    """A plan in the seed's form, of ids and statuses."""
    sections = [
        f"### Task {task}: work {task}\n- **Status**: {status}\n- Description of {task}\n" for task, status in tasks
    ]
    listed = "\n".join(sections)
    return f"# {title}\n\n## Overview\n\nWhat this is.\n\n## Tasks\n\n{listed}".encode()


def tree_of(plans: dict[str, bytes], *, artifacts: dict[str, bytes] | None = None, **files: bytes) -> Tree:
    """The project `shop`; artifacts by path below their phase's directory, `state` as orchestrator-state.json."""
    paths = layout.paths("shop")
    held = {paths.plan(phase): content for phase, content in plans.items()}
    held |= {paths.context(phase): b"# Context\n\nWords of a person.\n" for phase in plans}
    if "state" in files:
        held[paths.state] = files["state"]
    made = [
        Artifact(f"{paths.root}/{path}", len(content), hashlib.sha256(content).hexdigest())
        for path, content in (artifacts or {}).items()
    ]
    return Tree("shop", held, layout.in_order(list(plans)), tuple(made))
