"""What is wrong with a project, each with its remedy. It judges only; nothing is repaired behind anybody's back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project import graph, layout
from phoenixd.documents.project.models import Manifest
from phoenixd.documents.project.plan import Plan
from phoenixd.documents.project.reading import line_count, read_document
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

Level = Literal["problem", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. path: the file or directory; line: from 1, 0 for none."""

    level: Level
    path: str
    what: str
    remedy: str
    line: int = 0


def check(tree: Tree, rules: PhaseRules) -> tuple[Finding, ...]:
    """All findings, problems first; none: the project can be handed over as it is (E2)."""
    found = list(_findings(tree, rules))
    return tuple(sorted(found, key=lambda one: (one.level, layout.natural(one.path), one.line)))


def outside(phase: str, paths: tuple[str, ...], project: str) -> tuple[str, ...]:
    """Of what a worker wrote, the paths that lie outside of its phase's artifacts (F-PH-6)."""
    own = f"{layout.paths(project).artifacts(phase)}/"
    return tuple(path for path in paths if not path.startswith(own))


def _findings(tree: Tree, rules: PhaseRules) -> Iterator[Finding]:
    for one in tree.unread:
        yield Finding("problem", one.path, one.why, one.remedy or f"move {one.path} out of the project")
    if not tree.phases:
        yield Finding("problem", tree.paths.root, "it has no phase", "phoenixctl phase init --standard")
    yield from _names(tree)
    plans: dict[str, Plan] = {}
    for phase in tree.phases:
        yield from _phase(tree, phase, rules, plans)
    yield from _state(tree)
    yield from _dependencies(tree, plans)


def _names(tree: Tree) -> Iterator[Finding]:
    for name in tree.others:
        if "/" not in name and name.lower().startswith("phase"):
            remedy = f"rename it to phase-NUMBER-NAME, such as {layout.STANDARD_PHASES[2]}"
            yield Finding("warning", f"{tree.paths.root}/{name}", "it is no phase's name, and is not read", remedy)
    # On a disk that takes capitals for small letters these are one file (F-PH-10).
    alike: dict[str, str] = {}
    names = [*tree.files, *(one.path for one in tree.artifacts), *(f"{tree.paths.root}/{one}" for one in tree.others)]
    for path in (*names, *(tree.paths.phase(one) for one in tree.phases)):
        other = alike.setdefault(path.lower(), path)
        if other != path:
            remedy = f"keep one of them: {other}"
            yield Finding("warning", path, f"only capitals tell it from {other}", remedy)
    for path in names:
        name = path.rsplit("/", 1)[-1]
        if name.lower() == layout.CONTEXT and name != layout.CONTEXT:
            yield Finding(
                "warning", path, "phoenixd reads claude.md, in small letters", f"rename it to {layout.CONTEXT}"
            )


def _phase(tree: Tree, phase: str, rules: PhaseRules, plans: dict[str, Plan]) -> Iterator[Finding]:
    refused = {one.path for one in tree.unread}
    for path in (tree.paths.plan(phase), tree.paths.context(phase)):
        content = tree.files.get(path)
        if content is None:
            if path not in refused:
                yield Finding("problem", path, "it is not there", "phoenixctl phase init")
            continue
        count = line_count(content)
        if count > rules.max_lines:
            what = f"it has {count} lines, and {rules.max_lines} are the most"
            yield Finding("problem", path, what, _shorter(phase, path))
        elif count >= rules.warn_lines:
            what = f"it has {count} lines; from {rules.max_lines + 1} on it is too long"
            yield Finding("warning", path, what, _shorter(phase, path))
    try:
        plan = tree.plan(phase)
    except BadProject as error:
        yield Finding("problem", tree.paths.plan(phase), error.message, error.remedy)
        return
    if plan is None:
        return
    for fault in plan.faults:
        yield Finding("problem", plan.name, fault.what, fault.remedy, fault.line)
    if not plan.faults:
        plans[phase] = plan
    manifest = tree.paths.manifest(phase)
    if manifest in tree.files:
        try:
            read_document(Manifest, tree.files[manifest], manifest)
        except BadProject as error:
            yield Finding("problem", manifest, error.message, error.remedy)


def _state(tree: Tree) -> Iterator[Finding]:
    path = tree.paths.state
    try:
        state = tree.state()
    except BadProject as error:
        yield Finding("problem", path, error.message, error.remedy)
        return
    if state is None:
        if path not in {one.path for one in tree.unread}:
            yield Finding("problem", path, "it is not there", "phoenixctl phase init")
        return
    if state.project_name != tree.project:
        what = f"it names the project {state.project_name}, and lies in {tree.project}"
        yield Finding("problem", path, what, f'set projectName to "{tree.project}" in {path}')
    if state.current_phase is not None and state.current_phase not in tree.phases:
        what = f"its current phase {state.current_phase} is not there"
        yield Finding("problem", path, what, f"rename the directory back, or set currentPhase in {path}")


def _dependencies(tree: Tree, plans: dict[str, Plan]) -> Iterator[Finding]:
    circle = graph.cycle(plans)
    if circle:
        named = " -> ".join(f"{phase} {task}" for phase, task in circle)
        path = tree.paths.plan(circle[0][0])
        yield Finding("problem", path, f"tasks wait for each other: {named}", "take one of these dependencies out")
    for (phase, task), word in graph.unknown(plans):
        what = f"task {task} waits for {word[:80]!r}, and nothing is called so"
        yield Finding("warning", tree.paths.plan(phase), what, "name a task of one phase, such as Task 3, or a phase")


def _shorter(phase: str, path: str) -> str:
    return f"phoenixctl phase {'split' if path.endswith(layout.PLAN) else 'summarise'} {phase}"
