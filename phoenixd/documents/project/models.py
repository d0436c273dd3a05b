"""The JSON files of a project as the seed lays them out. Keys that this version does not know are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from phoenixd.documents.project import layout
from phoenixd.documents.times import require_time
from phoenixd.errors import BadProject

PhaseStatus = Literal["not_started", "in_progress", "completed", "blocked"]
TaskStatus = Literal["pending", "in_progress", "completed", "blocked"]
SessionStatus = Literal["running", "handoff_pending", "shutdown"]
MOST = 20_000
"""Entries of a list, and characters of a text."""


def _path(value: str) -> str:
    return _believed(layout.checked_path, value)


def _project(value: str) -> str:
    return _believed(layout.project_name, value)


def _phase(value: str) -> str:
    return _believed(layout.phase_name, value)


def _session(value: str) -> str:
    if not layout.is_session(value):
        raise ValueError(f"{value[:80]!r} is no orchestrator's session id")
    return value


def _believed(check: Any, value: str) -> str:
    try:
        return str(check(value))
    except BadProject as error:
        raise ValueError(error.message) from error


def _task_status(value: Any) -> Any:
    # The second version of the original has `failed`; the seed's set says it as blocked, with a reason (E85).
    return "blocked" if value == "failed" else value


Count = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(max_length=MOST)]
Path = Annotated[str, AfterValidator(_path)]
ProjectName = Annotated[str, AfterValidator(_project)]
PhaseName = Annotated[str, AfterValidator(_phase)]
SessionId = Annotated[str, AfterValidator(_session)]
Time = Annotated[str, AfterValidator(require_time)]
Texts = Annotated[tuple[Text, ...], Field(max_length=MOST)]
Paths = Annotated[tuple[Path, ...], Field(max_length=MOST)]


class Document(BaseModel):
    """Keys are the seed's, in camel case; unknown ones are kept and written back."""

    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False
    )


class PhaseProgress(Document):
    """Where a phase stands (E83)."""

    status: PhaseStatus = "not_started"
    started_at: Time | None = None
    completed_at: Time | None = None


class OrchestratorState(Document):
    """orchestrator-state.json at a project's root (E10)."""

    project_name: ProjectName
    current_phase: PhaseName | None = None
    current_step: Count = 0
    phases: dict[str, PhaseProgress] = Field(default_factory=dict)
    completed_tasks: Texts = ()
    pending_tasks: Texts = ()
    updated_at: Time | None = None


class ProjectState(Document):
    """What a package tells of the work (E39 to E42)."""

    current_step: Count
    completed_tasks: Texts
    pending_tasks: Texts
    context_summary: Text = ""


class FailedApproach(Document):
    """What was tried in vain, so that the successor does not try it again (E90)."""

    approach: Text = ""
    attempts: Count | None = None
    failure_reason: Text = ""
    avoid_approach: Text = ""


class ContradictedReport(Document):
    """A report whose claims were held against the facts, and those that the facts contradict, with the fact."""

    of: Text
    claims: Texts


class HandoffPackage(Document):
    """handoff-package.json: the seed's keys first, ours behind them.

    hash: `package.digest` of all else. word: what a successor can know from this file alone. degraded: updates are
    missing, and failures says which (X30). running: background work that the predecessor left. contradicted: reports
    that nobody is to rest on.
    """

    previous_session_id: SessionId
    new_session_id: SessionId
    project_name: ProjectName
    created_at: Time
    current_phase: PhaseName | None = None
    plan_files: dict[PhaseName, Path] = Field(default_factory=dict)
    claude_md_files: Paths = ()
    artifacts: Paths = ()
    memory_files: Paths = ()
    project_state: ProjectState
    generation: Count | None = None
    artifact_count: Count | None = None
    degraded: bool = False
    failures: Texts = ()
    running: Texts = ()
    scratchpad: Annotated[tuple[FailedApproach, ...], Field(max_length=MOST)] = ()
    contradicted: Annotated[tuple[ContradictedReport, ...], Field(max_length=MOST)] = ()
    word: Annotated[str, Field(max_length=200)] | None = None
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class ContextUsage(Document):
    """What a session's context held last; what is unknown is null, and never 0 (E18)."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    percentage: float | None = None
    last_updated: Time | None = None


class SessionRecord(Document):
    """session.json of one generation (E12)."""

    session_id: SessionId
    project_name: ProjectName
    status: SessionStatus = "running"
    generation: Count = 1
    agent: Text | None = None
    native_session_id: Text | None = None
    previous_session_id: SessionId | None = None
    created_at: Time | None = None
    shutdown_at: Time | None = None
    context_usage: ContextUsage | None = None


class PlanTask(Document):
    """A task of a plan, as its Markdown tells it."""

    id: Text
    description: Text
    status: Annotated[TaskStatus, BeforeValidator(_task_status)] = "pending"
    assigned_agent: Text | None = None
    dependencies: Texts = ()
    artifacts: Texts = ()


class PhasePlan(Document):
    """A phase's plan as data: what `phase list --json` makes of plan.md (E70)."""

    phase_number: Count
    phase_name: PhaseName
    description: Text = ""
    objectives: Texts = ()
    tasks: Annotated[tuple[PlanTask, ...], Field(max_length=MOST)] = ()
    dependencies: Texts = ()
    estimated_lines: Count | None = None
    actual_lines: Count | None = None
    start_date: Text | None = None
    end_date: Text | None = None
    status: PhaseStatus = "not_started"


class ManifestFile(Document):
    """An artifact. not_hashed: why it has no sha256."""

    path: Path
    size: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    not_hashed: Text | None = None
    task: Text | None = None


class Manifest(Document):
    """artifacts/manifest.json: what a phase has brought forth, and by which task (E28).

    published: the tasks whose workers' files were put there, by phoenixd's id and the time at which each was asked for,
    such as `t7-20260131T100000Z`.
    """

    phase: PhaseName
    files: Annotated[tuple[ManifestFile, ...], Field(max_length=MOST)] = ()
    updated_at: Time | None = None
    published: Annotated[tuple[Text, ...], Field(max_length=MOST)] = ()
