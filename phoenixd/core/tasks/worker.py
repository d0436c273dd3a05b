"""A worker's specification, from that of the agent that asks: the same login and place, a life of one task (E53)."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.rules import (
    BreakerRules,
    BriefRules,
    CleanupRules,
    LoopRules,
    RestartPolicy,
    RestartRules,
    ResumeRules,
)
from phoenixd.core.spec import AgentSpec, Kind


def worker_of(base: AgentSpec, name: str, task: str, prompt: str) -> AgentSpec:
    """The worker of a task. base: gives it command, directory, environment, account, fence and limits.

    Each run begins fresh, and no rule of the agent's own starts it again: the task decides what follows of its end.
    """
    return replace(
        base,
        name=name,
        kind=Kind.EPHEMERAL,
        prompt=prompt,
        autostart=False,
        heartbeat_file=None,
        hold_permissions=False,
        restart=RestartRules(policy=RestartPolicy.NEVER, early_exit=0.0),
        resume=replace(ResumeRules(), enabled=False, window=base.resume.window),
        loop=LoopRules(),
        brief=BriefRules(daily=False, on_change=False),
        cleanup=CleanupRules(),
        breaker=BreakerRules(),
        limits=replace(base.limits, reprompt=False),
        turn_of=None,
        source="",
        seat="",
        generation=0,
        task=task,
    )
