"""The shape of the configuration: one frozen model for each table of TOML. Defaults are the core's."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from phoenixd.clis import EXAMPLE, NAMES, PRESETS
from phoenixd.config.duration import Duration
from phoenixd.core.meter.reading import LEAST_WINDOW, MOST_WINDOW
from phoenixd.core.spec import (
    BreakerRules,
    BriefRules,
    ContextRules,
    FleetLimits,
    HandoffRules,
    LimitRules,
    LivenessRules,
    LoopRules,
    PhaseRules,
    ResonanceRules,
    RestartRules,
    ResumeRules,
    StopRules,
)
from phoenixd.core.tasks.state import JobRules
from phoenixd.core.treatment.authority import AuthorityRules, Caps
from phoenixd.documents.brief.health import MAX_AGE as BRIEF_MAX_AGE

if TYPE_CHECKING:
    HarnessName = str
else:
    HarnessName = Literal[NAMES]
    """One of the CLIs that can be declared, refused by name where it is another."""
if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal[tuple(PRESETS)]

AGENT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
RESERVED_VARIABLES = ("PHOENIX_", "TMUX")

_RESTART, _RESUME, _LIVENESS, _STOP, _LOOP, _LIMITS = (
    RestartRules(), ResumeRules(), LivenessRules(), StopRules(), LoopRules(), LimitRules(),
)  # fmt: skip
_BREAKER, _FLEET, _BRIEF, _CONTEXT = BreakerRules(), FleetLimits(), BriefRules(), ContextRules()
_HANDOFF = HandoffRules()
_JOBS = JobRules()
_PHASE = PhaseRules()
_RESONANCE = ResonanceRules()
_AUTHORITY, _CARE = AuthorityRules(), Caps()


def refuse(message: str) -> PydanticCustomError:
    """An error whose text reaches the operator as it stands."""
    return PydanticCustomError("refused", "{reason}", {"reason": message})


def _text(value: str) -> str:
    if "\0" in value:
        raise refuse("must not contain a zero byte")
    return value


def _absolute_path(value: str) -> str:
    expanded = os.path.expanduser(_text(value))
    if not os.path.isabs(expanded):
        raise refuse(f'"{value}" is a relative path; the daemon has no directory to take it from, so write it from /')
    return os.path.normpath(expanded)


def _list_to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Text = Annotated[str, AfterValidator(_text)]
AbsolutePath = Annotated[str, AfterValidator(_absolute_path)]
Words = Annotated[tuple[Text, ...], BeforeValidator(_list_to_tuple)]
Mark = Annotated[Text, Field(min_length=3, max_length=64)]
"""What secrets begin with; shorter ones would blot out ordinary words."""


class Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False)


class CredentialTable(Table):
    """A value of `env` that is read from a file at every start."""

    file: AbsolutePath


class RestartTable(Table):
    policy: Literal["on-failure", "always", "never"] = "on-failure"
    max_crashes: Annotated[int, Field(ge=1, le=100)] = _RESTART.max_crashes
    period: Duration = _RESTART.period
    early_exit: Duration | None = None
    backoff_initial: Duration = _RESTART.backoff_initial
    backoff_factor: Annotated[float, Field(ge=1, le=10)] = _RESTART.backoff_factor
    backoff_max: Duration = _RESTART.backoff_max
    productive: Duration = _RESTART.productive
    max_unproductive: Annotated[int, Field(ge=0, le=1000)] = _RESTART.max_unproductive

    @model_validator(mode="after")
    def _ordered(self) -> RestartTable:
        if self.backoff_initial > self.backoff_max:
            raise refuse("backoff_initial must not exceed backoff_max")
        if self.early_exit is not None and self.early_exit > self.productive:
            raise refuse("early_exit must not exceed productive")
        return self


class ResumeTable(Table):
    enabled: bool = _RESUME.enabled
    prompt: Text | None = None
    window: Annotated[Duration, Field(gt=0)] = _RESUME.window
    max_age: Duration = _RESUME.max_age
    refused_within: Duration = _RESUME.refused_within

    @model_validator(mode="after")
    def _ordered(self) -> ResumeTable:
        if self.refused_within > self.window:
            raise refuse("refused_within must not exceed window")
        return self


class LivenessTable(Table):
    enabled: bool = _LIVENESS.enabled
    stale: Duration = _LIVENESS.stale
    check_interval: Duration = _LIVENESS.check_interval
    subagent_max: Duration = _LIVENESS.subagent_max
    lease_slack: Duration = _LIVENESS.lease_slack
    lease_max: Duration = _LIVENESS.lease_max
    busy_max: Duration = _LIVENESS.busy_max

    @model_validator(mode="after")
    def _ordered(self) -> LivenessTable:
        if not 0 < self.check_interval <= self.stale:
            raise refuse("check_interval must lie above 0 and not exceed stale")
        if self.stale > self.subagent_max:
            raise refuse("subagent_max must not be less than stale")
        if self.stale > self.busy_max:
            raise refuse("busy_max must not be less than stale")
        return self


class BreakerTable(Table):
    enabled: bool = _BREAKER.enabled
    warn: Annotated[int, Field(ge=1, le=1000)] = _BREAKER.warn
    stop: Annotated[int, Field(ge=1, le=1000)] = _BREAKER.stop
    cooldown: Duration = _BREAKER.cooldown
    same_error: Annotated[int, Field(ge=0, le=1000)] = _BREAKER.same_error
    permission_denials: Annotated[int, Field(ge=0, le=1000)] = _BREAKER.permission_denials
    token_ceiling: Annotated[int, Field(ge=0, le=1_000_000_000_000)] = _BREAKER.token_ceiling
    roots: Annotated[tuple[AbsolutePath, ...], BeforeValidator(_list_to_tuple)] = ()
    exclude: Words = ()
    time_limit: Annotated[Duration, Field(gt=0, le=600)] = _BREAKER.time_limit
    notes: Words = ()
    notes_stop: Annotated[int, Field(ge=0, le=1000)] = _BREAKER.notes_stop
    per_turn: bool = _BREAKER.per_turn

    @model_validator(mode="after")
    def _ordered(self) -> BreakerTable:
        if self.warn >= self.stop:
            raise refuse("warn must be less than stop")
        return self


class StopTable(Table):
    grace: Duration = _STOP.grace
    kill_retry: Annotated[Duration, Field(gt=0)] = _STOP.kill_retry
    unproven: Duration = _STOP.unproven


class CleanupTable(Table):
    match: Annotated[tuple[Annotated[Text, Field(min_length=3)], ...], BeforeValidator(_list_to_tuple)] = ()
    ports: Annotated[tuple[Annotated[int, Field(ge=1, le=65535)], ...], BeforeValidator(_list_to_tuple)] = ()
    foreign_port: Literal["report", "refuse"] = "report"


class LoopTable(Table):
    pause: Duration = _LOOP.pause
    max_runtime: Duration = _LOOP.max_runtime
    session: Literal["fresh", "resume"] = "fresh"
    max_iterations: Annotated[int, Field(ge=0, le=1_000_000)] = _LOOP.max_iterations
    max_per_hour: Annotated[int, Field(ge=0, le=3600)] = _LOOP.max_per_hour
    done_code: Annotated[int, Field(ge=0, le=255)] | None = None
    done_text: Text | None = None
    done_file: Text | None = None


class LimitsTable(Table):
    wait: Annotated[Duration, Field(ge=1)] = _LIMITS.wait
    overload_wait: Annotated[Duration, Field(ge=1)] = _LIMITS.overload_wait
    wait_max: Duration = _LIMITS.wait_max
    margin: Duration = _LIMITS.margin
    longest: Duration = _LIMITS.longest
    reprompt: bool | None = None
    exit_codes: Annotated[tuple[Annotated[int, Field(ge=1, le=255)], ...], BeforeValidator(_list_to_tuple)] = ()

    @model_validator(mode="after")
    def _ordered(self) -> LimitsTable:
        if self.wait_max < self.overload_wait:
            raise refuse("wait_max must not be less than overload_wait")
        return self


Share = Annotated[float, Field(gt=0, le=1)]


class ContextTable(Table):
    """When an agent's context is too full."""

    threshold: Share = _CONTEXT.threshold
    warn: Share = _CONTEXT.warn
    hard: Share = _CONTEXT.hard
    limit: Annotated[int, Field(ge=LEAST_WINDOW, le=MOST_WINDOW)] | None = None
    predict: bool = _CONTEXT.predict
    status_line: bool = _CONTEXT.status_line

    @model_validator(mode="after")
    def _ordered(self) -> ContextTable:
        if self.warn >= 1:
            raise refuse("warn is a share of threshold, and must be less than 1, or nothing warns before it")
        if self.threshold >= self.hard:
            raise refuse("threshold must be less than hard: between the two a handoff has its time")
        return self


class HandoffTable(Table):
    """How an orchestrator's seat passes to the next generation."""

    writer: str = _HANDOFF.writer
    command: Words = ()
    drain: Annotated[Duration, Field(ge=1, le=24 * 3600)] = _HANDOFF.drain
    ack: Annotated[Duration, Field(ge=1, le=24 * 3600)] = _HANDOFF.ack
    tries: Annotated[int, Field(ge=1, le=10)] = _HANDOFF.tries
    spacing: Annotated[Duration, Field(le=7 * 24 * 3600)] = _HANDOFF.spacing
    keep: Annotated[int, Field(ge=1, le=1000)] = _HANDOFF.keep

    @model_validator(mode="after")
    def _known_writer(self) -> HandoffTable:
        if self.writer == "model":
            raise refuse(f'writer = "{self.writer}" does not exist yet; write "deterministic", which needs no model')
        if self.writer not in ("deterministic", "command"):
            raise refuse(f'writer = "{self.writer[:40]}" is unknown; write "deterministic" or "command"')
        if self.writer == "command" and not (self.command and self.command[0].strip()):
            raise refuse('writer = "command" needs a command, such as command = ["my-writer", "--json"]')
        return self


class PhaseTable(Table):
    """How long the plans of an orchestrator's project may be."""

    max_lines: Annotated[int, Field(ge=50, le=3000)] = _PHASE.max_lines
    warn_lines: Annotated[int, Field(ge=40, le=3000)] = _PHASE.warn_lines
    auto_split: bool = _PHASE.auto_split

    @model_validator(mode="after")
    def _ordered(self) -> PhaseTable:
        if self.warn_lines > self.max_lines:
            raise refuse("warn_lines must not exceed max_lines, or nothing warns before it")
        return self


class AgentBriefTable(Table):
    """Who writes an agent's brief, when, and at what price."""

    writer: Literal["deterministic", "auto", "command", "model"] = "deterministic"
    command: Words = ()
    model: Text | None = None
    timeout: Annotated[Duration, Field(ge=1, le=3600)] = _BRIEF.timeout
    daily: bool = _BRIEF.daily
    on_change: bool = _BRIEF.on_change
    spacing: Annotated[Duration, Field(ge=10)] = _BRIEF.spacing
    runs_per_day: Annotated[int, Field(ge=0, le=1000)] = _BRIEF.runs_per_day
    tokens_per_day: Annotated[int, Field(ge=0)] = _BRIEF.tokens_per_day
    transcript_chars: Annotated[int, Field(ge=1000, le=1_000_000)] = _BRIEF.transcript_chars

    @model_validator(mode="after")
    def _whole(self) -> AgentBriefTable:
        if self.writer == "command" and not self.command:
            raise refuse(f'writer = "command" needs a command: command = ["{EXAMPLE}", "-p"]')
        if self.writer == "model" and not self.model:
            raise refuse('writer = "model" needs a model: model = "anthropic:NAME"')
        if self.model is not None and not re.fullmatch(r"[a-z][a-z0-9-]*:[^\s:]\S*", self.model):
            raise refuse(f'model = "{self.model[:60]}": write PROVIDER:NAME, such as "anthropic:NAME"')
        return self


class ReportsTable(Table):
    """How a report of an agent's is known to be whole."""

    seal: bool = True


class ResonanceTable(Table):
    """How it is noticed that an agent has lost the beginning of its context."""

    enabled: Literal["auto"] | bool = "auto"
    preset: PresetName | None = None
    overflow: Literal["compaction", "reject", "silent"] = _RESONANCE.overflow
    transport: Literal["stateless", "stateful", "compaction"] | None = None
    mode: Literal["one_time", "classic"] = _RESONANCE.mode
    codes: Annotated[int, Field(ge=2, le=100)] = _RESONANCE.codes
    interval_turns: Annotated[int, Field(ge=1, le=1000)] = _RESONANCE.interval_turns
    footer: bool = _RESONANCE.footer
    restore: bool = _RESONANCE.restore
    max_per_hour: Annotated[int, Field(ge=1, le=20)] = _RESONANCE.max_per_hour


AuthorityWord = Literal["act", "propose", "observe"]


class AuthorityTable(Table):
    """What the clinic may do by itself, for each treatment: act, propose to a person, or observe."""

    resume: AuthorityWord = _AUTHORITY.resume
    fresh: AuthorityWord = _AUTHORITY.fresh
    park: AuthorityWord = _AUTHORITY.park
    go_on: AuthorityWord = _AUTHORITY.go_on
    advise: AuthorityWord = _AUTHORITY.advise
    summarise: AuthorityWord = _AUTHORITY.summarise
    ask: AuthorityWord = _AUTHORITY.ask
    abort: AuthorityWord = _AUTHORITY.abort
    lower_output: AuthorityWord = _AUTHORITY.lower_output
    handoff: AuthorityWord = _AUTHORITY.handoff


class AgentClinicTable(Table):
    """What is done about the failures of an agent, beside its restarts."""

    authority: AuthorityTable = AuthorityTable()


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
    argv: Words = ()
    account: Text | None = None
    project: Text | None = None
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
    answers: Annotated[tuple[PreparedAnswerTable, ...], BeforeValidator(_list_to_tuple)] = ()
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


class TurnTable(Table):
    """When a member's turn comes about: a file below the first member's cwd exists, or a command exits 0."""

    exists: Text | None = None
    command: Words = ()
    time_limit: Annotated[Duration, Field(gt=0, le=3600)] = 60.0

    @model_validator(mode="after")
    def _one(self) -> TurnTable:
        if (self.exists is None) == (not self.command):
            raise refuse("either exists or command says when a turn comes about, and not both")
        return self


class SequenceTable(Table):
    """Agents that have their turns one after the other; the first one leads."""

    members: Annotated[Words, Field(min_length=1)]
    when: dict[str, TurnTable] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _members(self) -> SequenceTable:
        if len(set(self.members)) < len(self.members):
            raise refuse("members names one of them twice")
        for name in self.when:
            if name not in self.members[1:]:
                raise refuse(f"when: {name[:40]} is none of the members after the first")
        return self


class DaemonTable(Table):
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    api_group: Text = ""


def _web_address(value: str) -> str:
    parts = urlsplit(_text(value))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise refuse("must be an http or https address, or { file = ... } that holds one")
    return value


class AlertsTable(Table):
    command: Words = ()
    at_once: Annotated[int, Field(ge=1, le=32)] = 4
    webhook: Annotated[str, AfterValidator(_web_address)] | CredentialTable | None = Field(default=None, repr=False)
    webhook_authorization: CredentialTable | None = None
    tries: Annotated[int, Field(ge=1, le=20)] = 6
    timeout: Annotated[Duration, Field(gt=0)] = 10.0
    brief_max_age: Annotated[Duration, Field(ge=60)] = BRIEF_MAX_AGE


class FleetTable(Table):
    max_starting: Annotated[int, Field(ge=1, le=1000)] = _FLEET.max_starting
    outage_min: Annotated[int, Field(ge=2, le=1000)] = _FLEET.outage_min
    outage_share: Annotated[float, Field(gt=0, le=1)] = _FLEET.outage_share
    outage_window: Annotated[Duration, Field(gt=0)] = _FLEET.outage_window
    observe_retry: Annotated[Duration, Field(gt=0)] = _FLEET.observe_retry
    resume_every: Annotated[Duration, Field(ge=0)] = _FLEET.resume_every


class BriefTable(Table):
    max_chars: Annotated[int, Field(ge=1000, le=9500)] = 9500
    happenings: Annotated[int, Field(ge=0, le=100)] = 12
    git: bool = True
    hour: Annotated[float, Field(ge=0, lt=24)] = 4.0
    stagger: Annotated[Duration, Field(ge=0, le=86400)] = 1800.0


class RedactionTable(Table):
    marks: Annotated[tuple[Mark, ...], BeforeValidator(_list_to_tuple), Field(max_length=100)] = ()


class LoopsTable(Table):
    stale_days: Annotated[int, Field(ge=1, le=3650)] = 14
    resolved_days: Annotated[int, Field(ge=1, le=3650)] = 7


class JournalTable(Table):
    keep: Annotated[Duration, Field(ge=3600)] = 30 * 86400.0


class JobsTable(Table):
    at_once: Annotated[int, Field(ge=1, le=64)] = _JOBS.at_once
    timeout: Annotated[Duration, Field(ge=1, le=7 * 86400)] = _JOBS.timeout


class ClinicTable(Table):
    """How many treatments the clinic orders at most: for a Case, an agent in 6 h, and the fleet in an hour."""

    per_case: Annotated[int, Field(ge=0, le=20)] = _CARE.per_case
    per_agent: Annotated[int, Field(ge=0, le=100)] = _CARE.per_agent
    per_fleet: Annotated[int, Field(ge=0, le=1000)] = _CARE.per_fleet


class ConfigurationTable(Table):
    """All files together, after they were laid over each other."""

    daemon: DaemonTable = DaemonTable()
    alerts: AlertsTable = AlertsTable()
    fleet: FleetTable = FleetTable()
    brief: BriefTable = BriefTable()
    redaction: RedactionTable = RedactionTable()
    loops: LoopsTable = LoopsTable()
    journal: JournalTable = JournalTable()
    jobs: JobsTable = JobsTable()
    clinic: ClinicTable = ClinicTable()
    fence: FenceTable = FenceTable()
    defaults: AgentTable = AgentTable()
    agent: dict[str, AgentTable] = Field(default_factory=dict)
    sequence: dict[str, SequenceTable] = Field(default_factory=dict)
