"""The table of one agent, with those of its keys that are about its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from phoenixd.clis import NAMES
from phoenixd.config.tables.clinic import AgentClinicTable
from phoenixd.config.tables.memory import (
    AgentBriefTable,
    ContextTable,
    HandoffTable,
    PhaseTable,
    ReportsTable,
    ResonanceTable,
)
from phoenixd.config.tables.values import (
    RESERVED_VARIABLES,
    VARIABLE_NAME,
    AbsolutePath,
    CommandWords,
    CredentialTable,
    Labels,
    Table,
    Text,
    Words,
    list_to_tuple,
    refuse,
)
from phoenixd.config.tables.work import (
    BreakerTable,
    CleanupTable,
    LimitsTable,
    LivenessTable,
    LoopTable,
    RestartTable,
    ResumeTable,
    StopTable,
)

if TYPE_CHECKING:
    HarnessName = str
else:
    HarnessName = Literal[NAMES]
    """One of the CLIs that can be declared, refused by name where it is another."""


class PreparedAnswerTable(Table):
    """One question that is answered without asking a person, word for word as `text` in `phoenixctl inbox --json`."""

    dialog: Literal["permission", "dialog"] = "permission"
    asks: Text
    answer: Literal["allow", "deny"]
    reason: Text = ""

    @model_validator(mode="after")
    def _told_why(self) -> PreparedAnswerTable:
        if self.dialog == "dialog" and self.answer != "deny":
            raise refuse('a dialog is only said no to beforehand: answer = "deny"; trust is given by seed_trust = true')
        if self.dialog == "permission" and self.answer == "deny" and not self.reason.strip():
            raise refuse('answer = "deny" needs a reason: the agent is told it')
        return self


FenceKind = Literal["auto", "cgroup", "namespace", "none"]


class FenceTable(Table):
    kind: FenceKind = "auto"


class AgentTable(Table):
    """The keys of one agent, and of `[defaults]`."""

    harness: HarnessName = "command"
    kind: Literal["resident", "loop", "orchestrator", "ephemeral"] = "resident"
    cwd: AbsolutePath | None = None
    prompt: Text | None = None
    autostart: bool = True
    argv: CommandWords = ()
    account: Text | None = None
    project: Text | None = None
    labels: Labels = ()
    env: dict[str, Text | CredentialTable] = Field(default_factory=dict, repr=False)
    env_from: Literal["daemon", "login", "none"] = "daemon"
    fence: FenceKind | None = None
    fresh_args: Words = ()
    resume_args: Words | None = None
    prompt_via: Literal["argv", "paste", "none"] | None = None
    transcript: AbsolutePath | None = None
    heartbeat_file: AbsolutePath | None = None
    seed_trust: bool = False
    hold_permissions: bool | None = None
    answers: Annotated[tuple[PreparedAnswerTable, ...], BeforeValidator(list_to_tuple)] = ()
    restart: RestartTable = RestartTable()
    resume: ResumeTable = ResumeTable()
    liveness: LivenessTable = LivenessTable()
    breaker: BreakerTable = BreakerTable()
    stop: StopTable = StopTable()
    loop: LoopTable = LoopTable()
    cleanup: CleanupTable = CleanupTable()
    limits: LimitsTable = LimitsTable()
    context: ContextTable = ContextTable()
    handoff: HandoffTable = HandoffTable()
    phase: PhaseTable = PhaseTable()
    brief: AgentBriefTable = AgentBriefTable()
    reports: ReportsTable = ReportsTable()
    resonance: ResonanceTable = ResonanceTable()
    clinic: AgentClinicTable = AgentClinicTable()

    @model_validator(mode="after")
    def _names_of_variables(self) -> AgentTable:
        for name in self.env:
            if not VARIABLE_NAME.fullmatch(name):
                raise refuse(f'env: "{name[:40]}" is no name of an environment variable')
            if name.startswith(RESERVED_VARIABLES):
                raise refuse(f"env: {name} is set by phoenixd itself")
        return self
