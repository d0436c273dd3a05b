"""Where agents work: two in one worktree cannot be told apart by their work, and are told of."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from phoenixd.config.layers import Stack
from phoenixd.config.problems import Problem, problem_at
from phoenixd.config.tables.agent import AgentTable
from phoenixd.config.tables.sequence import SequenceTable
from phoenixd.terrain import Terrain

MOST_NAMED = 3


def shared_work(
    agents: Mapping[str, AgentTable], sequences: Mapping[str, SequenceTable], stack: Stack, terrain: Terrain
) -> Iterator[Problem]:
    """Agents that share a worktree where one is judged by its work: the other's changes count as its progress (X8b).

    Each of them is warned, for either may be the one that is being added.
    """
    leads = {member: table.members[0] for table in sequences.values() for member in table.members}
    by_top: defaultdict[str, list[str]] = defaultdict(list)
    for name, table in sorted(agents.items()):
        for top in sorted({_top(root, terrain) for root in _roots(table)}):
            by_top[top].append(name)
    judged = {name for name, table in agents.items() if _is_judged(table)}
    for top, names in by_top.items():
        judged_here = [name for name in names if name in judged]
        for name in names:
            others = [
                other
                for other in (names if name in judged else judged_here)
                if leads.get(other, other) != leads.get(name, name)
                and not _are_apart(agents[name], agents[other], terrain)
            ]
            if others:
                more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
                who = f"{', '.join(others[:MOST_NAMED])}{more} {'work' if len(others) > 1 else 'works'} in {top} too"
                shared = f"{who}, and each one's changes count as the other's progress"
                remedy = "give each a git worktree or breaker.roots of its own, or make them a sequence"
                found = problem_at(stack, ("agent", name, "cwd"), f"{shared}: {remedy}", "warning")
                together = f"they work in {top}, and each one's changes count as the others' progress: {remedy}"
                yield replace(found, together=together)


def shared_projects(agents: Mapping[str, AgentTable], stack: Stack, terrain: Terrain) -> Iterator[Problem]:
    """Orchestrators of one project in one workspace: a project has one seat (E52). Without a key it has their name."""
    leads: dict[tuple[str, str], str] = {}
    for name, table in sorted(agents.items()):
        if table.kind != "orchestrator" or table.cwd is None:
            continue
        project = table.project or name
        first = leads.setdefault((terrain.real(table.cwd), project), name)
        if first != name:
            key = "project" if table.project is not None else "cwd"
            said = f"{first} leads the project {project} in {table.cwd} already, and a project has one orchestrator"
            remedy = f'give each a project of its own: [agent.{name}] project = "NAME"'
            yield replace(problem_at(stack, ("agent", name, key), f"{said}: {remedy}"), is_conflict=True)


def _is_judged(table: AgentTable) -> bool:
    return table.breaker.enabled and (table.kind == "loop" or (table.kind == "resident" and table.breaker.per_turn))


def _roots(table: AgentTable) -> tuple[str, ...]:
    return table.breaker.roots or ((table.cwd,) if table.cwd is not None else ())


def _are_apart(one: AgentTable, other: AgentTable, terrain: Terrain) -> bool:
    """Whether both are limited to directories that have nothing in common."""
    if not (one.breaker.roots and other.breaker.roots):
        return False
    pairs = ((terrain.real(a), terrain.real(b)) for a in one.breaker.roots for b in other.breaker.roots)
    return not any(os.path.commonpath(pair) in pair for pair in pairs)


def _top(directory: str, terrain: Terrain) -> str:
    """The worktree around a directory, or the directory itself where there is none."""
    at = real = terrain.real(directory)
    while at != "/":
        if terrain.is_there(os.path.join(at, ".git")):
            return at
        at = os.path.dirname(at)
    return real
