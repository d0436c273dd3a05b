"""What `phoenixctl doctor` finds of the places that an agent starts from: its directory and its command. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator

from phoenixd.api.finding import Finding
from phoenixd.command_remedies import agents_command_remedy
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.seat.state import Seat
from phoenixd.documents import entering
from phoenixd.documents.project import beginning
from phoenixd.documents.project.layout import paths
from phoenixd.remedies import Command, Remedy, then


def directory_findings(name: str, cwd: str) -> Iterator[Finding]:
    """Whether an agent can work in its directory; the remedy is a command that does not fail."""
    if (remedy := _remedy(cwd)) is None:
        return
    if os.path.isdir(cwd):
        detail = f"{cwd}: it belongs to another user than the daemon's"
        yield Finding("problem", f"{name}: its directory cannot be entered", detail, remedy)
    elif other := _in_the_way(cwd):
        detail = cwd if other == cwd else f"{cwd}: {other} is no directory"
        another = f"{name} may be given another one: --cwd where it is added, cwd in a configuration file"
        yield Finding("problem", f"{name}: its directory is no directory", f"{detail}; {another}", remedy)
    else:
        yield Finding("problem", f"{name}: its directory is missing", cwd, remedy)


def project_findings(name: str, cwd: str, seat: Seat | None) -> Iterator[Finding]:
    """Whether the files are there that a next handoff is made of; the first one may begin them itself."""
    handoff = seat.handoff if seat is not None else None
    if seat is None or handoff is None or not handoff.known_session:
        return
    root = os.path.join(cwd, paths(seat.project).root)
    if os.path.isdir(root) or not os.path.isdir(cwd):
        return
    detail = f"{root}: without it the next handoff comes to nothing; bring it back, or begin it anew"
    anew = Command(beginning.command(seat.project, cwd))
    yield Finding("problem", f"{name}: its project {seat.project} is gone", detail, anew)


def _remedy(cwd: str) -> Remedy | None:
    """What makes the directory one that can be entered; None where it is."""
    if os.path.isdir(cwd):
        return None if os.access(cwd, os.R_OK | os.X_OK) else entering.remedy(cwd, "EACCES", cwd, os.geteuid())
    way = _in_the_way(cwd)
    failed = "ENOTDIR" if way and not os.path.islink(way) else "ENOENT"
    return entering.remedy(cwd, failed, way, os.geteuid())


def _in_the_way(cwd: str) -> str:
    """What stands where the directory, or one above it, would be made; empty where it can be made."""
    at = cwd
    while at and not os.path.lexists(at):
        at = os.path.dirname(at.rstrip("/"))
    return "" if os.path.isdir(at) else at


def quarantine_finding(agent: Agent, cause: str, *, is_missing: bool, at: str | None = None) -> Finding:
    """An agent that was given up, with what releases it. is_missing: its command is not found now; at: where the shell
    of who asks finds it."""
    name, remedy = agent.name, f"phoenixctl explain {agent.name}"
    again = f"phoenixctl start {name}"
    if _is_kept_out(agent) and (entered := _remedy(agent.spec.cwd)) is not None:
        remedy = then(entered, again)
    elif never_ran(agent) and is_missing:
        remedy = then(agents_command_remedy(agent.spec, at), again)
    elif gone := _gone(agent):
        cause, remedy = f"{cause}; {gone}", again
    return Finding("problem", f"{name} is quarantined", cause, remedy)


def is_told_by_quarantine(agent: Agent) -> bool:
    """Whether the agent's quarantine already tells that its command is not found."""
    return isinstance(agent.state, Quarantined) and never_ran(agent) and not _is_kept_out(agent)


def never_ran(agent: Agent) -> bool:
    """Whether its newest start came to nothing: where its command is missing, that is why."""
    return agent.last_exit is not None and not agent.last_exit.ran


def _is_kept_out(agent: Agent) -> bool:
    """Whether its working directory stood in the way of its newest start."""
    end = agent.last_exit
    return end is not None and end.obstacle in ("no directory", "directory closed")


def _gone(agent: Agent) -> str:
    """What was in the way of its newest start and is not any more; empty where nothing proves that."""
    end = agent.last_exit
    if _is_kept_out(agent) and os.access(agent.spec.cwd, os.R_OK | os.X_OK) and os.path.isdir(agent.spec.cwd):
        return "its directory is there now"
    if end is not None and not end.ran and end.code in (126, 127):
        return "its command is there now"
    return ""
