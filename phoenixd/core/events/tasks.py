"""What becomes of tasks."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.rules import MINUTE
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Outcome


@dataclass(frozen=True, slots=True)
class TaskRequested:
    """Somebody wants a task done by a worker of its own.

    spec: whose command, place and login the worker gets; its name stands before the worker's. key: the caller's word,
    with which the same request is made once. asked_by: the agent that asks. plan: the task of the project's plan;
    phase: in whose plan it stands, where that is known; workspace: the project's. place: the worker's directory without
    symbolic links.
    """

    spec: AgentSpec
    prompt: str = field(repr=False)
    key: str = ""
    asked_by: str = ""
    by: str = "operator"
    project: str = ""
    plan: str = ""
    after: tuple[str, ...] = ()
    place: str = ""
    writes: bool = True
    timeout: float = 45 * MINUTE
    tries: int = 2
    phase: str = ""
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class TaskCancelRequested:
    """Somebody wants a task ended."""

    task: str
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class TaskCollected:
    """What a worker left after that run of its task is collected."""

    task: str
    run: int
    outcome: Outcome


TaskEvent = TaskRequested | TaskCancelRequested | TaskCollected
