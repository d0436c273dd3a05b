"""Who is told of a worker's report: the asker of its task, else the project's leader, else the agent with its login."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.events.aftermath import ReportJudged
from phoenixd.core.fleet import Fleet
from phoenixd.core.reports import OF_A_TASK
from phoenixd.core.seat import finding
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import Kind
from phoenixd.core.tasks.state import JudgedReport, Task, is_of


def told(fleet: Fleet, task: Task, judged: JudgedReport) -> ReportJudged | None:
    """The event about a judged report; None where no agent is left that it concerns."""
    agent = concerned(fleet, task)
    if agent is None or judged.problem:
        return None
    listed = tuple(f"{one.said}: {one.why}" for one in judged.claims if one.verdict == "contradicted")
    return ReportJudged(
        agent.name, agent.incarnation, f"{OF_A_TASK}{task.id}", listed, judged.verified, judged.unverifiable,
        judged.contradicted - len(listed),
    )  # fmt: skip


def concerned(fleet: Fleet, task: Task) -> Agent | None:
    """The agent that asked, or that holds its seat by now; for an operator's task the orchestrator of the project."""
    if task.asked_by and (asker := finding.meant(fleet, task.asked_by)) is not None:
        return asker
    for agent in fleet.agents.values():
        is_leader = agent.spec.kind is Kind.ORCHESTRATOR and not finding.is_other(fleet, agent)
        if task.project and is_leader and is_of(task, project_of(agent.spec), agent.spec.cwd):
            return agent
    return finding.meant(fleet, task.spec.env_of) if task.spec is not None and task.spec.env_of else None
