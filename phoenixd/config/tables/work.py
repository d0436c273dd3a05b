"""The tables of how an agent's runs begin, are watched, and end."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from phoenixd.config.duration import Duration
from phoenixd.config.tables.values import AbsolutePath, Table, Text, Words, list_to_tuple, refuse
from phoenixd.core.rules import BreakerRules, LimitRules, LivenessRules, LoopRules, RestartRules, ResumeRules, StopRules

_RESTART = RestartRules()
_RESUME = ResumeRules()
_LIVENESS = LivenessRules()
_STOP = StopRules()
_LOOP = LoopRules()
_LIMITS = LimitRules()
_BREAKER = BreakerRules()


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
            are = f"it is {self.check_interval:g} s, stale {self.stale:g} s"
            raise refuse(f"check_interval must lie above 0 and not exceed stale; {are}")
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
    roots: Annotated[tuple[AbsolutePath, ...], BeforeValidator(list_to_tuple)] = ()
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
    match: Annotated[tuple[Annotated[Text, Field(min_length=3)], ...], BeforeValidator(list_to_tuple)] = ()
    ports: Annotated[tuple[Annotated[int, Field(ge=1, le=65535)], ...], BeforeValidator(list_to_tuple)] = ()
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
    exit_codes: Annotated[tuple[Annotated[int, Field(ge=1, le=255)], ...], BeforeValidator(list_to_tuple)] = ()

    @model_validator(mode="after")
    def _ordered(self) -> LimitsTable:
        if self.wait_max < self.overload_wait:
            raise refuse("wait_max must not be less than overload_wait")
        return self
