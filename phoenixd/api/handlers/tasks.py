"""Tasks of workers: asked for, shown and ended, by an operator or by an orchestrator for its own project (E58)."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from dataclasses import replace

from anyio import to_thread

from phoenixd.api import exits, problems, representation
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.pages import tasks as pages
from phoenixd.api.problems import Problem
from phoenixd.clis import NAMES
from phoenixd.core.agent import Agent
from phoenixd.core.events.tasks import TaskCancelRequested, TaskRequested
from phoenixd.core.seat.finding import is_other, meant
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.tasks.names import is_same_phase
from phoenixd.core.tasks.state import Task, Tasks, is_of
from phoenixd.documents.project.handing_out import HandedOut, NotHandedOut, handed_out, told
from phoenixd.documents.project.outcomes import of_workers, untold
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import PhoenixdError
from phoenixd.terrain import TERRAIN

MOST_AFTER = 20
COMMAND, PROMPT, BRIEF = "command", "{prompt}", "{brief}"
SEE = "phoenixctl task status"
WHO = "phoenixctl task run --agent NAME PROMPT"
_ID = re.compile(r"t[0-9]{1,9}")


async def task_run(ask: Ask) -> Reply:
    given = ask.arguments
    if not str(given["prompt"]).strip():
        raise Problem("invalid", "there is nothing to do in the prompt", "phoenixctl task run PROMPT")
    if given["reads"] and given["writes"]:
        raise Problem("invalid", "a task reads or writes, not both", "leave one of --reads and --writes out")
    seat = _seat(ask)
    base = _base(ask, seat)
    project = _project(ask, seat, base)
    # Two callers may choose the same key, and mean two tasks.
    key = f"{ask.caller.uid} {ask.caller.agent or '-'} {ask.key or secrets.token_hex(16)}"
    if ask.caller.agent is not None and seat is not None:
        # Where it is too full, the handoff begins by that, and the core refuses the task (E17, E20).
        await ask.service.meter(seat.name)
    timeout = given["timeout"]
    after = _after(ask, given["after"])
    prompt, phase = str(given["prompt"]), ""
    if given["task"] and not _is_known(ask, key):
        prompt, phase = await _of_plan(ask, seat, base, project, prompt, after)
    asked = TaskRequested(
        spec=base,
        prompt=prompt,
        key=key,
        asked_by=_name(seat) if ask.caller.agent is not None and seat is not None else "",
        by=ask.caller.name,
        project=project,
        plan=given["task"] or "",
        phase=phase,
        workspace=_workspace(seat, base),
        after=after,
        place=await to_thread.run_sync(TERRAIN.real, base.cwd),
        writes=not given["reads"],
        timeout=float(timeout) if timeout is not None else ask.service.fleet().jobs.timeout,
        tries=int(given["tries"]),
    )
    refusal = await ask.service.order(asked)
    if refusal is not None:
        raise problems.of_refusal(refusal)
    tasks = ask.service.fleet().tasks
    found = next((one for one in (*tasks.open, *tasks.ended) if one.key == key), None)
    if found is None:
        raise Problem("failed", "the task was taken and is not to be found", SEE)
    message = f"{found.id} is {found.state}: {found.why}. See: {SEE} {found.id}"
    return _outcome(ask, found, message, status=201)


def _is_known(ask: Ask, key: str) -> bool:
    tasks = ask.service.fleet().tasks
    return any(one.key == key for one in (*tasks.open, *tasks.ended))


async def _of_plan(
    ask: Ask, seat: Agent | None, base: AgentSpec, project: str, prompt: str, after: tuple[str, ...]
) -> tuple[str, str]:
    """The prompt with the files of the task's phase, and the phase; raises Problem where the task may not begin.

    A project without files on the disk has no plan to go by, and its tasks are whatever they are called.
    """
    workspace, word = _workspace(seat, base), str(ask.arguments["task"])
    if not project:
        return prompt, ""
    tasks = ask.service.fleet().tasks
    try:
        tree = await ask.service.project(workspace, project)
        if tree.is_empty:
            return prompt, ""
        # Large plans take their time.
        found = await to_thread.run_sync(_found, tree, workspace, tasks, word, after, ask.service.now().wall)
    except PhoenixdError as failure:
        raise Problem("conflict", failure.message, failure.remedy) from failure
    except OSError as failure:
        said_why = f"the plans of {project} in {workspace} cannot be read: {failure.strerror or failure}"
        raise Problem("failed", said_why, f"ls -la {shlex.quote(workspace)}") from failure
    if isinstance(found, NotHandedOut):
        raise Problem("not_found" if found.kind == "unknown" else "conflict", found.message, found.remedy)
    place = "" if os.path.normpath(workspace) == os.path.normpath(base.cwd) else f"{os.path.normpath(workspace)}/"
    return told(prompt, found, place), found.phase


def _found(
    tree: Tree, workspace: str, tasks: Tasks, word: str, after: tuple[str, ...], wall: float
) -> HandedOut | NotHandedOut:
    """The task, by the plans and by what workers did of them since those were written."""
    project = tree.project
    known = untold(of_workers(tasks, project, workspace), tree, wall)
    coming = frozenset(
        (phase, one.plan)
        for one in (*tasks.ended, *tasks.open)
        if one.id in after and one.phase and is_of(one, project, workspace)
        for phase in tree.phases
        if is_same_phase(phase, one.phase)
    )
    done = frozenset((one.phase, one.task) for one in known if one.status == "completed")
    return handed_out(tree, word, done, coming, workspace)


async def list_tasks(ask: Ask) -> Reply:
    fleet = ask.service.fleet()
    under_way = [one for one in fleet.tasks.open if not one.has_ended]
    ended = [one for one in (*reversed(fleet.tasks.open), *reversed(fleet.tasks.ended)) if one.has_ended]
    found = [one for one in (*under_way, *ended) if _may_see(ask, one)]
    now = ask.service.now()
    body = {"tasks": [representation.task(one, now) for one in found], "at_once": fleet.jobs.at_once}
    return Reply(body, lambda here: pages.tasks(found, fleet.jobs.at_once, here))


async def show_task(ask: Ask) -> Reply:
    task = _task(ask)
    code = exits.CONDITION if task.state in ("failed", "canceled", "unknown") else exits.OK
    body = {"task": representation.task(task, ask.service.now()), "message": task.why}
    return Reply(body, lambda here: pages.task(task, here), code)


async def cancel_task(ask: Ask) -> Reply:
    task = _task(ask)
    refusal = await ask.service.order(TaskCancelRequested(task.id, ask.caller.name))
    if refusal is not None:
        raise problems.of_refusal(refusal)
    task = _task(ask)
    message = f"{task.id} is {task.state}" if task.has_ended else f"{task.id} is being ended. See: {SEE} {task.id}"
    return _outcome(ask, task, message)


def _outcome(ask: Ask, task: Task, message: str, status: int = 200) -> Reply:
    body = {"task": representation.task(task, ask.service.now()), "message": message}
    return Reply(body, said(message), status=status)


def _task(ask: Ask) -> Task:
    """The task of the path; to an orchestrator, one of another project is not there."""
    task_id = str(ask.arguments["id"])
    tasks = ask.service.fleet().tasks
    found = tasks.find(task_id)
    if found is None and ask.caller.agent is None and _ID.fullmatch(task_id) and 0 < int(task_id[1:]) < tasks.next:
        told = "it is older than those that are remembered, or its journal was lost, or there never was one"
        raise Problem("not_found", f"nothing is known of a task {task_id}: {told}", SEE)
    if found is None or not _may_see(ask, found):
        raise Problem("not_found", f"there is no task {task_id}", SEE)
    return found


def _may_see(ask: Ask, task: Task) -> bool:
    """Whether a task is there for who asks: to an orchestrator, one of its own project in its own workspace."""
    led = ask.caller.project
    return led is None or is_of(task, led, ask.caller.workspace)


def _seat(ask: Ask) -> Agent | None:
    """The orchestrator for which the task is: the one that asks, else the one of the project, else the only one."""
    fleet = ask.service.fleet()
    agents = fleet.agents
    wanted = ask.arguments["project"]
    if ask.caller.agent is not None:
        if wanted not in (None, ask.caller.project):
            said_why = f"agent {ask.caller.agent} leads {ask.caller.project}, and may not hand out tasks of {wanted}"
            raise Problem("denied", said_why, "leave --project out")
        return meant(fleet, ask.caller.agent)
    led = [one for one in agents.values() if one.spec.kind is Kind.ORCHESTRATOR and not is_other(fleet, one)]
    if wanted is not None:
        return _leader(ask, str(wanted), [one for one in led if project_of(one.spec) == wanted])
    return led[0] if len(led) == 1 else None


def _leader(ask: Ask, project: str, leaders: list[Agent]) -> Agent:
    """The orchestrator of a project that an operator names; each workspace may have one of that name."""
    if not leaders:
        raise Problem("not_found", f"no orchestrator leads a project {project}", "phoenixctl status")
    chosen = ask.arguments["agent"]
    named = meant(ask.service.fleet(), str(chosen)) if chosen is not None and chosen not in NAMES else None
    of_place = [one for one in leaders if named is not None and _is_same_place(one.spec, named.spec)]
    if len(leaders) > 1 and len(of_place) != 1:
        names = ", ".join(_name(one) for one in leaders)
        said_why = f"{len(leaders)} orchestrators lead a project {project}, each in another workspace: {names}"
        raise Problem(
            "invalid", said_why, f"phoenixctl task run --project {project} --agent {_name(leaders[0])} PROMPT"
        )
    return of_place[0] if len(leaders) > 1 else leaders[0]


def _is_same_place(one: AgentSpec, other: AgentSpec) -> bool:
    return os.path.normpath(one.cwd) == os.path.normpath(other.cwd)


def _base(ask: Ask, seat: Agent | None) -> AgentSpec:
    """Whose command, place and login the worker gets, under the name that its own begins with."""
    chosen = ask.arguments["agent"]
    if chosen is None or chosen in NAMES:
        if seat is None:
            raise Problem("invalid", "nothing says in which project, and by which agent's login", WHO)
        spec = seat.spec
        if chosen not in (None, spec.harness):
            if chosen == COMMAND:
                raise Problem("invalid", "a command has to be declared to be a worker's", "phoenixctl add NAME -- ARGV")
            spec = replace(
                spec, harness=chosen, argv=ask.service.default_argv(chosen), account=None, fresh_args=(),
                resume_args=None, prompt_via=None, transcript=None,
            )  # fmt: skip
        _require_prompt(spec, seat)
        return replace(spec, name=_name(seat), env_of=_name(seat))
    found = meant(ask.service.fleet(), chosen)
    if found is None or found.spec.task:
        raise problems.absent(ask.service.fleet(), chosen, ask.service.now(), ask.known_names())
    led = ask.caller.project
    if led is not None and led != project_of(found.spec):
        said_why = f"agent {ask.caller.agent} leads {led}, and {chosen} is not of that project"
        raise Problem("denied", said_why, f'[agent.{chosen}] project = "{led}"')
    if led is not None and seat is not None and _leads_elsewhere(found.spec, seat.spec):
        said_why = f"agent {ask.caller.agent} leads {led} in {seat.spec.cwd}, and {chosen} leads another of that name"
        raise Problem("denied", said_why, "phoenixctl task run PROMPT")
    if found.spec.kind is Kind.ORCHESTRATOR:
        _require_prompt(found.spec, found)
    elif _goes_untold(found.spec):
        said_why = f"{chosen} would not be told its task: its argv has no argument {{prompt}}, and nothing types it"
        remedy = f'[agent.{chosen}] prompt_via = "paste" types it; "none" says that it reads the brief (PHOENIX_BRIEF)'
        raise Problem("invalid", said_why, remedy)
    return replace(found.spec, name=_name(seat or found), env_of=_name(found))


def _goes_untold(spec: AgentSpec) -> bool:
    """Whether a command's task reaches it by its brief alone, and nobody has said that it reads that."""
    arguments = {*spec.argv, *spec.fresh_args}
    return spec.harness == COMMAND and spec.prompt_via is None and not {PROMPT, BRIEF} & arguments


def _leads_elsewhere(spec: AgentSpec, own: AgentSpec) -> bool:
    """Whether an agent is the orchestrator of another project of the same name, in a workspace of its own."""
    return spec.kind is Kind.ORCHESTRATOR and not _is_same_place(spec, own)


def _require_prompt(spec: AgentSpec, leader: Agent) -> None:
    """Refuse a command that gets no prompt: it would be the orchestrator's own program once more, and no worker."""
    if spec.harness != COMMAND or spec.prompt_via == "paste" or PROMPT in (*spec.argv, *spec.fresh_args):
        return
    said_why = f"the command of {_name(leader)} takes no prompt: it would begin a second time, and not do the task; "
    said_why += "its argv needs an argument {prompt}, or another agent does it"
    raise Problem("invalid", said_why, "phoenixctl task run --agent NAME PROMPT")


def _name(agent: Agent) -> str:
    """As it was declared: the generations of an orchestrator go by the name of their seat."""
    return agent.spec.seat or agent.name


def _project(ask: Ask, seat: Agent | None, base: AgentSpec) -> str:
    if seat is not None:
        return project_of(seat.spec)
    return base.project or ""


def _workspace(seat: Agent | None, base: AgentSpec) -> str:
    """Where the plans stand by which a task goes."""
    cwd = (seat.spec if seat is not None else base).cwd
    return cwd.rstrip("/") or cwd


def _after(ask: Ask, given: str | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(word.strip() for word in (given or "").split(",") if word.strip()))
    for name in names:
        if _ID.fullmatch(name) is None:
            raise Problem("invalid", f"{name[:40]} is no task's id", "phoenixctl task run --after t1 PROMPT")
        found = ask.service.fleet().tasks.find(name)
        if found is not None and not _may_see(ask, found):
            raise Problem("not_found", f"there is no task {name} to wait for", SEE)
    if len(names) > MOST_AFTER:
        raise Problem("invalid", f"a task follows at most {MOST_AFTER} others", "phoenixctl task run --help")
    return names
