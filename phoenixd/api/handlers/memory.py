"""Memory of projects: what one remembers, and what projects share with each other (E81, F-PH-9)."""

from __future__ import annotations

import os
from typing import Any

from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.phases import leader_of, of_project
from phoenixd.api.pages import memory as pages
from phoenixd.api.problems import Problem
from phoenixd.documents.project.memory import SharedFile, is_own
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import PhoenixdError

SEE = "phoenixctl memory list"


async def memory_list(ask: Ask) -> Reply:
    workspace, tree = await of_project(ask)
    agents = ask.service.fleet().agents.values()
    leader = leader_of(agents, workspace, tree.project)
    takes = leader is not None and leader.handoff.shared_memory
    held = await ask.service.shared_memory(workspace, tree, leader.name if leader is not None else None)
    # An orchestrator is told of others' memory where its project takes it.
    told = [one for one in held.shared if ask.caller.agent is None or takes or _is_own(one, tree)]
    known = {one.source.sha256 for one in held.shared}
    body = {
        "workspace": workspace,
        "project": tree.project,
        "takes_shared": takes,
        "files": [
            {"path": path, "sha256": held.hashes.get(path), "shared": held.hashes.get(path) in known}
            for path in tree.memory
        ],
        "shared": [{**_json(one), "own": _is_own(one, tree)} for one in told],
    }
    return Reply(body, lambda here: pages.listed(body, here))


async def memory_share(ask: Ask) -> Reply:
    path, withdrawn = ask.arguments["path"], ask.arguments["withdraw"]
    if (path is None) == (withdrawn is None):
        why = "nothing says what to share: PATH, or --withdraw PROJECT"
        why = why if path is None else "a file is shared, or a project's are taken back"
        raise Problem("invalid", why, SEE)
    if withdrawn is not None:
        names = await _heeded(ask.service.withdraw_memory(str(withdrawn)))
        message = f"{len(names)} texts that {withdrawn} had shared are taken back; {KEPT}" if names else (
            f"{withdrawn} shares nothing"
        )  # fmt: skip
        return Reply({"file": None, "withdrawn": list(names), "message": message}, said(message))
    workspace, tree = await of_project(ask)
    leader = leader_of(ask.service.fleet().agents.values(), workspace, tree.project)
    name = leader.name if leader is not None else None
    found, is_new = await _heeded(ask.service.share_memory(workspace, tree, os.path.normpath(str(path)), name))
    how = "is shared" if is_new else f"is shared already, by {found.source.project}"
    message = f"{path} {how}: {found.name}. Projects take it by [agent.NAME.handoff] shared_memory = true. See: {SEE}"
    return Reply({"file": _json(found), "withdrawn": [], "message": message}, said(message))


KEPT = "a workspace that has a copy loses it at its next handoff"


async def _heeded(asked: Any) -> Any:
    try:
        return await asked
    except PhoenixdError as failure:
        raise Problem("conflict", failure.message, failure.remedy) from failure
    except OSError as failure:
        raise Problem("failed", f"it was not shared: {failure.strerror or failure}", "phoenixctl doctor") from failure


def _is_own(one: SharedFile, tree: Tree) -> bool:
    return is_own(one.source, tree.project, tree.memory)


def _json(one: SharedFile) -> dict[str, object]:
    return {
        "name": one.name, "sha256": one.source.sha256, "project": one.source.project,
        "session_id": one.source.session, "at": one.source.at, "size": one.size,
    }  # fmt: skip
