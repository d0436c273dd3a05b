"""A fleet with workers in virtual time: tasks are asked for, and their workers end as a test says."""

from __future__ import annotations

from typing import Any

from phoenixd.core.actions import CollectTask, Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting
from phoenixd.core.decision import Refusal
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.events.tasks import TaskCancelRequested, TaskCollected, TaskRequested
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.tasks.state import Outcome, Task
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, claude

DONE = Outcome("done", report="/tasks/report.md")


def boss(name: str = "shop", **changes: Any) -> AgentSpec:
    return claude(name, kind=Kind.ORCHESTRATOR, **changes)


class Works(Story):
    """Names of tasks are theirs: t1 is the first."""

    def __init__(self, *specs: AgentSpec) -> None:
        super().__init__(*(specs or (boss(),)))

    def ask(self, prompt: str = "Do it.", **details: Any) -> Refusal | None:
        base = details.pop("spec", self.agent.spec)
        return self.tell(TaskRequested(base, prompt, **details))

    def cancel(self, task: str) -> Refusal | None:
        return self.tell(TaskCancelRequested(task))

    def task(self, name: str) -> Task:
        found = self.fleet.tasks.find(name)
        assert found is not None
        return found

    def states(self) -> dict[str, str]:
        tasks = sorted((*self.fleet.tasks.open, *self.fleet.tasks.ended), key=lambda one: int(one.id[1:]))
        return {one.id: one.state for one in tasks}

    def worker(self, name: str) -> Agent:
        return self.fleet.agents[self.task(name).agent]

    def begins(self, name: str) -> None:
        """exec succeeded, and the session began."""
        agent = self.worker(name)
        assert isinstance(agent.state, Starting), agent.reason
        run = agent.state.run
        self.tell(AgentStarted(agent.name, run.incarnation, run.run_id, 500, 5000))
        if agent.spec.has_hooks:
            self.tell(
                hook_of(agent.name, run.incarnation, "session-start", session_id=run.session_id, source="startup")
            )

    def ends(self, name: str, code: int | None = 0, signal: int | None = None, **details: Any) -> None:
        """The worker's run is over."""
        agent = self.worker(name)
        if isinstance(agent.state, Starting):
            self.begins(name)
            agent = self.worker(name)
        assert agent.run is not None
        self.pass_over(5)
        self.tell(AgentExited(agent.name, agent.run.incarnation, agent.run.run_id, code, signal, **details))

    def collected(self, name: str, outcome: Outcome = DONE) -> None:
        """What it left is collected."""
        self.tell(TaskCollected(name, self.of(CollectTask)[-1].run, outcome))

    def finishes(self, name: str, code: int | None = 0, outcome: Outcome = DONE, **details: Any) -> None:
        self.ends(name, code, **details)
        self.collected(name, outcome)

    def typed(self) -> list[str]:
        """What was typed into agents."""
        return [line for one in self.of(Deliver) for line in one.text.splitlines()]
