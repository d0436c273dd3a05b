"""The phases of a project: listed, and checked. An orchestrator may ask about its own project, and no other."""

from __future__ import annotations

import os
from typing import Any

from phoenixd.api import exits
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.pages import phases as text_phases
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Role
from phoenixd.core.agent import Agent
from phoenixd.core.nearest import nearest
from phoenixd.core.rules import PhaseRules
from phoenixd.core.seat.finding import meant
from phoenixd.core.seat.state import project_of
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.project import revision
from phoenixd.documents.project.checking import check
from phoenixd.documents.project.layout import project_name
from phoenixd.documents.project.plan_data import phase_plan
from phoenixd.documents.project.reading import line_count, plain
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

WAYS = "phoenixctl phase list --project NAME --workspace DIR"


async def phase_list(ask: Ask) -> Reply:
    workspace, tree = await of_project(ask)
    body = ask.service.without_secrets(listed(workspace, tree))
    return Reply(body, lambda here: text_phases.listed(body, here))


async def phase_check(ask: Ask) -> Reply:
    workspace, tree = await of_project(ask)
    rules = rules_of(ask.service.fleet().agents.values(), workspace, tree.project)
    body = ask.service.without_secrets(checked(workspace, tree, rules))
    return Reply(body, lambda here: text_phases.checked(body, here), code_of(body))


def listed(workspace: str, tree: Tree) -> dict[str, Any]:
    """What `phase list` answers."""
    try:
        state = tree.state()
    except BadProject:
        state = None  # `phase check` names it.
    return {
        "workspace": workspace,
        "project": tree.project,
        "current_phase": state.current_phase if state is not None else None,
        "phases": [_phase(tree, phase) for phase in tree.phases],
    }


def checked(workspace: str, tree: Tree, rules: PhaseRules) -> dict[str, Any]:
    """What `phase check` answers. sound: a warning alone keeps no project from being handed over."""
    findings = check(tree, rules)
    return {
        "workspace": workspace,
        "project": tree.project,
        "sound": all(one.level != "problem" for one in findings),
        "findings": [
            {"level": one.level, "path": one.path, "line": one.line, "what": one.what, "remedy": one.remedy}
            for one in findings
        ],
    }


def code_of(body: dict[str, Any]) -> int:
    """phoenixctl's exit code for a check."""
    return exits.OK if body["sound"] else exits.CONDITION


def only(names: tuple[str, ...], workspace: str) -> str:
    """The one project that is meant where none was named; raises Problem."""
    if not names:
        raise Problem("not_found", f"{workspace} has no project", "phoenixctl phase init --standard --project NAME")
    if len(names) > 1:
        what = f"{workspace} has several projects: {', '.join(names[:10])}"
        raise Problem("invalid", what, f"phoenixctl phase list --project {names[0]}")
    return names[0]


def require_there(tree: Tree, workspace: str, names: tuple[str, ...]) -> Tree:
    """The tree, unless there is no such project; raises Problem. names: the projects that are there."""
    if not tree.is_empty:
        return tree
    what = f"{workspace} has no project {tree.project}"
    if not names:
        raise Problem("not_found", what, f"phoenixctl phase init --standard --project {tree.project}")
    others = f"there {'are' if len(names) > 1 else 'is'} {', '.join(names[:10])}"
    meant_one = nearest(tree.project, names) or names[0]
    raise Problem("not_found", f"{what}; {others}", f"phoenixctl phase list --project {meant_one}")


def rules_of(agents: Any, workspace: str, project: str) -> PhaseRules:
    """The rules of the orchestrator that works there on that project, else the defaults."""
    leader = leader_of(agents, workspace, project)
    return leader.phase if leader is not None else PhaseRules()


def leader_of(agents: Any, workspace: str, project: str) -> AgentSpec | None:
    """The specification of the orchestrator that works there on that project."""
    for agent in agents:
        spec: AgentSpec = agent.spec if isinstance(agent, Agent) else agent
        if spec.kind is Kind.ORCHESTRATOR and _is_there(spec, workspace) and project_of(spec) == project:
            return spec
    return None


async def of_project(ask: Ask) -> tuple[str, Tree]:
    """The project that is meant, with its workspace; raises Problem."""
    workspace, project = ask.arguments["workspace"], ask.arguments["project"]
    if ask.caller.agent is not None:
        workspace, project = _own(ask, workspace, project)
    if workspace is None or not os.path.isabs(workspace):
        raise Problem("invalid", "the workspace is no absolute path", WAYS)
    is_known = any(_is_there(agent.spec, workspace) for agent in ask.service.fleet().agents.values())
    if not is_known and ask.caller.role < Role.ADMIN:
        raise Problem(
            "denied", f"no agent works in {workspace}: {ask.caller.why}", "ask as the daemon's user, or as root"
        )
    if project is None:
        project = only(await ask.service.projects(workspace), workspace)
    try:
        project_name(project)
    except BadProject as error:
        raise Problem("invalid", error.message, error.remedy) from error
    tree = await ask.service.project(workspace, project)
    return workspace, require_there(tree, workspace, await ask.service.projects(workspace) if tree.is_empty else ())


def _own(ask: Ask, workspace: str | None, project: str | None) -> tuple[str, str]:
    """The workspace and project of the orchestrator that asks (E58); raises Problem for any other."""
    agent = meant(ask.service.fleet(), str(ask.caller.agent))
    if agent is None or agent.spec.kind is not Kind.ORCHESTRATOR:
        why = f"agent {ask.caller.agent} may not ask about phases: it is no orchestrator, and has no project"
        raise Problem("denied", why, "ask from a terminal of your own")
    own = project_of(agent.spec)
    if (workspace is not None and not _is_there(agent.spec, workspace)) or project not in (None, own):
        why = f"agent {agent.name} may only ask about its own project, {own} in {agent.spec.cwd}"
        raise Problem("denied", why, "phoenixctl phase list")
    return agent.spec.cwd, own


def _is_there(spec: AgentSpec, workspace: str) -> bool:
    return os.path.normpath(spec.cwd) == os.path.normpath(workspace)


def _phase(tree: Tree, phase: str) -> dict[str, Any]:
    path = tree.paths.plan(phase)
    problem, told = None, None
    try:
        plan = tree.plan(phase)
        if plan is None:
            problem = f"{path} is not there"
        else:
            told = phase_plan(phase, plan)
            problem = plan.faults[0].what if plan.faults else None
    except BadProject as error:
        problem = error.message
    return {
        "phase": phase,
        "status": told.status if told is not None else "unknown",
        "lines": line_count(tree.files.get(path, b"")),
        "plan": plain(told) if told is not None else None,
        "problem": problem,
        "undo": revision.newest(tree, phase),
    }
