"""How a project begins: its files where they lack, or one long plan taken apart by its headings."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from phoenixd.documents.project import layout
from phoenixd.documents.project.plan import read_plan
from phoenixd.documents.project.reading import render_document
from phoenixd.documents.project.schemas import SUFFIX, schemas
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, state_after
from phoenixd.errors import BadProject

IMPORT_LIMIT = 16 << 20
_PHASE = re.compile(r"\W*Phase\s+([0-9]{1,6})\s*(?:(?::|[-\u2013\u2014]\s|\.\s)\s*)?(.*)", re.IGNORECASE | re.DOTALL)


def begin(tree: Tree, phases: Sequence[str], now: str, summary: str = "") -> Changes:
    """What a project lacks: these phases with their files, the state and the schemas. What is there stays as it is.

    summary: what the first phase's claude.md says of the work, an orchestrator's brief for example.
    """
    wanted = layout.in_order([*tree.phases, *map(layout.phase_name, phases)])
    wanted = tuple(dict.fromkeys(wanted))
    if not wanted:
        raise BadProject("no phase was named", "phoenixctl phase init --standard")
    paths, writes = tree.paths, {}
    for number, phase in enumerate(wanted):
        writes[paths.plan(phase)] = _plan(phase)
        writes[paths.context(phase)] = _context(phase, summary if number == 0 else "")
    unread = {one.path for one in tree.unread}
    missing = {path: text for path, text in writes.items() if path not in tree.files and path not in unread}
    directories = tuple(paths.artifacts(phase) for phase in wanted)
    changes = Changes(missing, directories=directories)
    if paths.state not in tree.files and paths.state not in unread:
        state = state_after(tree.after(changes), None, Sources(now=now))
        changes = changes.then(Changes({paths.state: render_document(state)}))
    return changes.then(Changes({path: text for path, text in schema_files().items() if tree.files.get(path) != text}))


def command(project: str, workspace: str) -> str:
    """What makes such a project in a workspace where it is gone."""
    return shlex.join(["phoenixctl", "phase", "init", "--standard", "--project", project, "--workspace", workspace])


def take_apart(tree: Tree, content: bytes, name: str, now: str) -> Changes:
    """The phases of one long plan (E91): a heading `Phase 3: name` begins one, and every line goes into one of them.

    Raises BadProject where a phase of it is there already.
    """
    plan = read_plan(content, name, IMPORT_LIMIT)
    plan.require_sound()
    starts = [
        (found, one.line) for one in plan.headings if one.level <= 3 and (found := _PHASE.fullmatch(one.text.strip()))
    ]
    names = [_name(int(found[1]), found[2]) for found, _ in starts] or ["phase-01-plan"]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise BadProject(f"{name} has two phases that would be {twice}", "give one of the headings another number")
    there = next((one for one in names if one in tree.phases), None)
    if there is not None:
        raise BadProject(f"{tree.paths.phase(there)} is there already", "rename it, or the heading in the plan")
    # What stands above the first phase belongs to it.
    edges = [0, *(line for _, line in starts[1:]), len(plan.lines)]
    pieces = ["".join(plan.lines[begin:end]).encode() for begin, end in pairwise(edges)]
    tasks = [task.id for piece in pieces for task in read_plan(piece, name).tasks]
    if sorted(tasks) != sorted(task.id for task in plan.tasks):
        raise BadProject(
            f"{name} was not taken apart: its tasks would not be the same", "close every ``` and <!-- in it"
        )
    writes = {tree.paths.plan(phase): piece for phase, piece in zip(names, pieces, strict=True)}
    grown = tree.after(Changes(writes))
    return Changes(writes).then(begin(grown, names, now))


def schema_files() -> dict[str, bytes]:
    """The schemas as files in the workspace."""
    return {
        f"{layout.SCHEMAS}/{name}{SUFFIX}": f"{json.dumps(schema, indent=2)}\n".encode()
        for name, schema in schemas().items()
    }


def _name(number: int, words: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60].strip("-")
    return layout.phase_name(f"phase-{number:02d}-{slug or 'plan'}")


def _plan(phase: str) -> bytes:
    title = re.sub(r"[-_.]+", " ", phase.split("-", 2)[2]).capitalize()
    sections = ("Overview", "Objectives", "Tasks", "Dependencies", "Progress", "Notes")
    body = "".join(f"## {one}\n\n" for one in sections)
    return f"# Phase {layout.phase_number(phase)}: {title}\n\n{body}".rstrip("\n").encode() + b"\n"


def _context(phase: str, summary: str) -> bytes:
    said = f"{summary.strip()}\n\n" if summary.strip() else ""
    parts = ("Patterns and Conventions", "Dependencies")
    body = "".join(f"## {one}\n\n" for one in parts)
    return f"# {phase}\n\n## Phase Overview\n\n{said}{body}".rstrip("\n").encode() + b"\n"
