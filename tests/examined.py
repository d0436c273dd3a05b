"""An agent of a real CLI by its name, and a doctor whose daemon is well, which looks at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from phoenixd.config.problems import Problem
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.doctor import Doctor
from phoenixd.errors import TerminalFailed


def agent(harness: str, cwd: Path, incarnation: int = 1, **changes: object) -> Agent:
    given = {"name": "a", "argv": (harness,), "cwd": str(cwd), "harness": harness, **changes}
    spec = AgentSpec(**given)  # type: ignore[arg-type]
    return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "declared", incarnation=incarnation)


def claude_agent(home: Path, **changes: object) -> Agent:
    return agent("claude", home, seed_trust=True, **changes)  # type: ignore[arg-type]


def program(directory: Path, script: str) -> Path:
    path = directory / "claude"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def doctor(
    home: Path,
    size: tuple[int, int] | None = None,
    panes: Sequence[tuple[str, int]] | None = (),
    problems: tuple[Problem, ...] = (),
) -> Doctor:
    """A doctor whose daemon is well. panes: those that are no agent's, None where tmux does not tell."""

    async def environment_of(agent: Agent) -> Mapping[str, str]:
        return {"PATH": f"{home}:/usr/bin:/bin", "HOME": str(home), "ANTHROPIC_API_KEY": "k"}

    async def size_of(name: str) -> tuple[int, int] | None:
        return size

    async def no_problems() -> tuple[Problem, ...]:
        return problems

    async def foreign_panes() -> Sequence[tuple[str, int]]:
        if panes is None:
            raise TerminalFailed("tmux did not answer within 10 s")
        return panes

    return Doctor(
        now=lambda: Moment(1000.0, 1000.0, 0.5, "n"),
        degraded=lambda: None,
        halted=lambda: None,
        latency=lambda: None,
        damage=lambda: None,
        tmux=lambda: "3.3a",
        tier="cgroup",
        problems=no_problems,
        environment_of=environment_of,
        size_of=size_of,
        foreign_panes=foreign_panes,
    )


async def examined(agent: Agent, home: Path, size: tuple[int, int] | None = None) -> dict[str, str]:
    """What doctor finds of the agent, by level and title, with the remedy; the daemon's own findings are left out."""
    found = await doctor(home, size).examine(Fleet(agents={"a": agent}))
    assert all(finding.remedy for finding in found if finding.level != "ok")
    return {f"{one.level}: {one.title}": one.remedy for one in found if one.title.startswith("a")}
