"""The tables of an agent's context, seat, papers and reports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from phoenixd.clis import EXAMPLE, PRESETS
from phoenixd.config.duration import Duration
from phoenixd.config.tables.values import Table, Text, Words, refuse
from phoenixd.core.meter.reading import LEAST_WINDOW, MOST_WINDOW
from phoenixd.core.rules import BriefRules, ContextRules, HandoffRules, PhaseRules, ResonanceRules

if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal[tuple(PRESETS)]

_BRIEF = BriefRules()
_CONTEXT = ContextRules()
_HANDOFF = HandoffRules()
_PHASE = PhaseRules()
_RESONANCE = ResonanceRules()


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
    model: Text | None = None
    drain: Annotated[Duration, Field(ge=1, le=24 * 3600)] = _HANDOFF.drain
    ack: Annotated[Duration, Field(ge=1, le=24 * 3600)] = _HANDOFF.ack
    tries: Annotated[int, Field(ge=1, le=10)] = _HANDOFF.tries
    spacing: Annotated[Duration, Field(le=7 * 24 * 3600)] = _HANDOFF.spacing
    keep: Annotated[int, Field(ge=1, le=1000)] = _HANDOFF.keep
    shared_memory: bool = _HANDOFF.shared_memory

    @model_validator(mode="after")
    def _known_writer(self) -> HandoffTable:
        if self.writer not in ("deterministic", "command", "model"):
            raise refuse(f'writer = "{self.writer[:40]}" is unknown; write "deterministic", "command" or "model"')
        if self.writer == "command" and not (self.command and self.command[0].strip()):
            raise refuse('writer = "command" needs a command, such as command = ["my-writer", "--json"]')
        _require_model(self.writer, self.model)
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
        _require_model(self.writer, self.model)
        return self


def _require_model(writer: str, model: str | None) -> None:
    if writer == "model" and not model:
        raise refuse('writer = "model" needs a model: model = "anthropic:NAME"')
    if model is not None and not re.fullmatch(r"[a-z][a-z0-9-]*:[^\s:]\S*", model):
        raise refuse(f'model = "{model[:60]}": write PROVIDER:NAME, such as "anthropic:NAME"')


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
