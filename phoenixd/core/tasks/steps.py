"""How tasks come on: begin those that may, end those that are overdue, collect those whose run is over (E53 to E59).

Nothing of it is remembered beside the task: what follows is derived from what its worker is now, so that a daemon that
comes back goes on where the earlier one was killed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from phoenixd.core import requests, restart
from phoenixd.core.actions import CollectTask
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Parked, Quarantined, Starting, Stopped
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.declarations import declared
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentWithdrawn, StartRequested, StopRequested
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.facts import Fact, TaskFailed, Weight
from phoenixd.core.fleet import Fleet, Step, put
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.tasks import queue, verdict
from phoenixd.core.tasks.state import WHY_LIMIT, Cut, Outcome, Task
from phoenixd.core.traits import traits_of
from phoenixd.core.transitions import enter

COLLECTED_WITHIN = 120.0
"""Seconds after which a collection that was not answered is ordered again."""
MOST_ORDERED = 3
SEALED_WITHIN = 180.0
"""Seconds that a worker may take to seal its answer when it is asked for that alone."""
LEAST_LEFT = 60.0
"""Seconds between two looks at a worker that waits with no time left."""


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Bring the tasks on: those whose worker has ended or whose time is over, and those that may begin."""
    if not found.fleet.tasks.open:
        return found
    for task in found.fleet.tasks.open:
        if task.state == "running":
            found = _look_at_run(found, task, now)
        elif task.state == "collecting" and task.due is not None and task.due <= now.at:
            found = _collect_again(found, task, now)
    return found if found.fleet.halted is not None else _begin(found, now)


def collected(before: Fleet, found: Step, event: TaskCollected, now: Moment) -> Step:
    """What the worker of a task left is collected: judge it."""
    task = before.tasks.find(event.task)
    if task is None or task.state != "collecting" or task.runs != event.run:
        return found
    return _judged(found, task, event.outcome, now)


def finish(found: Step, task: Task, state: Literal["done", "failed", "canceled"], why: str, now: Moment) -> Step:
    """The task has ended: its worker is removed, and the asker is to be told."""
    agent = found.fleet.agents.get(task.agent)
    if agent is not None and agent.spec.task == task.id:
        seen = Seen(agent, Decision(agent))
        removed = requests.withdraw(agent, AgentWithdrawn(agent.name), seen, now)
        found = put(found, replace(removed, reason=f"task {task.id} is {state}: its worker is removed"), now)
    ended = replace(task, state=state, why=why, since_wall=now.wall, spec=None, due=None, tell_at=now.at)
    facts = (TaskFailed(task.id, why[:WHY_LIMIT]),) if state == "failed" else ()
    return noted(taken(found, ended), f"task {task.id} is {state}: {why}", facts=facts)


def cut_off(found: Step, task: Task, now: Moment) -> Step:
    """End the run of a task whose `cut` says why; it is judged once its tree is gone."""
    assert task.cut is not None
    found = taken(found, task)
    agent = found.fleet.agents.get(task.agent)
    if agent is None:
        return finish(found, task, "canceled" if task.cut.kind == "canceled" else "failed", task.cut.words, now)
    return put(found, requests.stop(agent, StopRequested(agent.name, by=f"task {task.id}: {task.cut.words}"), now), now)


def taken(found: Step, task: Task) -> Step:
    """With this task in its place."""
    return replace(found, fleet=replace(found.fleet, tasks=found.fleet.tasks.taking(task)))


def noted(found: Step, reason: str, weight: Weight = "story", facts: tuple[Fact, ...] = ()) -> Step:
    """With a row of the fleet's own."""
    return replace(found, decisions=(*found.decisions, Decision(None, reason=reason, weight=weight, facts=facts)))


def _look_at_run(found: Step, task: Task, now: Moment) -> Step:
    agent = found.fleet.agents.get(task.agent)
    if agent is None or agent.spec.task != task.id:
        return finish(found, task, "failed", f"its worker {task.agent} was removed", now)
    if isinstance(agent.state, Stopped | Quarantined):
        return _collect(found, task, agent, now)
    if task.sealing and task.cut is None and isinstance(agent.state, Parked):
        # What is parked begins afresh afterwards, and would do its work a second time.
        words = "it was parked before it could be asked for its seal"
        return cut_off(found, replace(task, cut=Cut("timeout", words), why=words, due=now.at), now)
    if not task.sealing and (timed := _timed(task, agent, now)) is not task:
        task = timed
        found = taken(found, task)
    if task.cut is None and task.due is not None and task.due <= now.at:
        late = f"no seal came within {in_words(SEALED_WITHIN)}"
        words = late if task.sealing else f"it took longer than {in_words(task.timeout)} (--timeout)"
        return cut_off(found, replace(task, cut=Cut("timeout", words), why=words), now)
    return found


def _timed(task: Task, agent: Agent, now: Moment) -> Task:
    """With its clock stopped while the worker can do nothing: what is no worker's fault takes none of its time."""
    is_unbegun = isinstance(agent.state, Starting) and agent.state.run.exec_at is None
    waits = is_unbegun or isinstance(agent.state, BackingOff) or agent.parking is not None
    if task.cut is not None or task.due is None:
        return task
    if waits:
        left = max(0.0, task.due - now.at) if task.left is None else task.left
        # It stays due some time: not every event that ends the waiting is looked at here.
        due = now.at + max(left, LEAST_LEFT) if task.due <= now.at else task.due
        return task if (left, due) == (task.left, task.due) else replace(task, left=left, due=due)
    return replace(task, due=now.at + task.left, left=None) if task.left is not None else task


def _collect(found: Step, task: Task, agent: Agent, now: Moment) -> Step:
    collecting = replace(task, state="collecting", left=None, ordered=task.ordered + 1, due=now.at + COLLECTED_WITHIN)
    order = CollectTask(agent.name, agent.incarnation, task.id, task.runs)
    reason = f"task {task.id}: its worker has ended, collecting what it left"
    told = Decision(None, (order,), reason, weight="detail")
    return replace(taken(found, collecting), decisions=(*found.decisions, told))


def _collect_again(found: Step, task: Task, now: Moment) -> Step:
    agent = found.fleet.agents.get(task.agent)
    if agent is not None and task.ordered < MOST_ORDERED:
        return _collect(found, task, agent, now)
    problem = f"what it left could not be collected within {in_words(MOST_ORDERED * COLLECTED_WITHIN)}"
    return _judged(found, task, Outcome("missing", problem=problem), now)


def _judged(found: Step, task: Task, outcome: Outcome, now: Moment) -> Step:
    agent = found.fleet.agents.get(task.agent)
    end = agent.last_exit if agent is not None else None
    if task.sealing and task.outcome is not None and outcome.stop == "missing":
        # What could not be read again is as it was read before it was asked.
        outcome = task.outcome
    stopped = agent is not None and _was_stopped(agent)
    limits = agent.spec.limits if agent is not None else verdict.RESIDENTS
    judged = verdict.judge(
        task, end, outcome, stopped=stopped, wall=now.wall, limits=limits, chance=now.chance
    )  # fmt: skip
    spared = task.spared + judged.spared
    known = replace(task, outcome=outcome, spared=spared, ordered=0)
    if agent is not None and (failed := verdict.untold_failure(task, end, outcome, judged)) is not None:
        found = put(found, Decision(agent, reason=f"{task.id}: {judged.why}", facts=(failed,), weight="detail"), now)
    if judged.asks and agent is not None and found.fleet.halted is None and _can_be_asked(agent):
        return _ask_for_seal(found, known, agent, now)
    if judged.again is None:
        return finish(found, known, judged.state, judged.why, now)
    why = f"{judged.why}; again in {in_words(judged.again)}"
    waiting = replace(known, state="waiting", due=now.at + judged.again, why=why, since_wall=now.wall)
    return noted(taken(found, waiting), f"task {task.id}, run {task.runs}: {why}")


def _can_be_asked(agent: Agent) -> bool:
    """Whether the session of a worker whose run is over can be asked another thing."""
    session = agent.session
    is_there = session is not None and not session.spoiled and isinstance(agent.state, Stopped)
    return is_there and traits_of(agent.spec.harness).resumes_one_turn


def _ask_for_seal(found: Step, task: Task, agent: Agent, now: Moment) -> Step:
    """One more run in the session of the answer, which is told to seal it and nothing else (issue 13)."""
    why = "its answer came without its seal: its session is asked for that alone"
    due = BackingOff(now.at, Mode.RESUME, PromptKind.SEAL)
    found = put(found, enter(replace(agent, desired=Desired.RUNNING), due, why, now), now)
    asked = replace(task, state="running", sealing=agent.incarnation, due=now.at + SEALED_WITHIN, left=None, why=why)
    return noted(taken(found, asked), f"task {task.id}, run {task.runs}: {why}")


def _was_stopped(agent: Agent) -> bool:
    """Whether somebody's order ended its run: an end of its own that was none of its purpose is a failure."""
    end = agent.last_exit
    if not isinstance(agent.state, Stopped) or agent.state.failed:
        return False
    return end is None or not restart.ended_well(agent.spec, end)


def _begin(found: Step, now: Moment) -> Step:
    waiting = [task for task in found.fleet.tasks.open if task.state == "waiting"]
    among: queue.Others | None = None
    for task in waiting:
        among = among or queue.others(found.fleet.tasks, found.fleet.jobs)
        held = queue.held(task, among, now)
        if held is None:
            found, among = _start(found, task, now), None
        elif held.hopeless:
            found, among = finish(found, task, "failed", held.why, now), None
        elif held.why != task.why:
            found = taken(found, replace(task, why=held.why))
    return found


def _start(found: Step, task: Task, now: Moment) -> Step:
    fleet = found.fleet
    agent = fleet.agents.get(task.agent)
    if agent is not None and agent.spec.task != task.id:
        return finish(found, task, "failed", f"there is an agent {task.agent}, which is none of its", now)
    assert task.spec is not None
    if agent is None:
        agent = declared(task.spec, now, fleet.retired.get(task.agent, 0))
    started = requests.start(agent, StartRequested(agent.name, by=f"task {task.id}"), now)
    running = replace(
        task, state="running", due=now.at + task.timeout, left=task.timeout, runs=task.runs + 1, since_wall=now.wall,
        why=f"{task.agent} works on it",
    )  # fmt: skip
    found = taken(put(found, started, now), running)
    return noted(found, f"task {task.id} begins, run {running.runs}: {task.agent}", "detail")
