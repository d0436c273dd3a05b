"""The handoff package: made from the project's files, known by its hash, and checked before anybody rests on it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from phoenixd.documents.project import layout
from phoenixd.documents.project.models import (
    ContradictedReport,
    FailedApproach,
    HandoffPackage,
    OrchestratorState,
    ProjectState,
)
from phoenixd.documents.project.reading import plain, read_document, render_document
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

MOST_ARTIFACTS = 1000
"""More are named by their manifests alone (E37)."""
MOST_FAULTS = 2
"""Faults that are told in a sentence; of more, their number."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Why a package that a successor acknowledges cannot be rested on.

    changed: the file is not what was written. missing: what it says otherwise than the project's files are;
    missing_artifacts: the same of artifacts alone.
    """

    changed: bool = False
    missing: str = ""
    missing_artifacts: str = ""


NO_DOUBTS = Doubts()


def build(
    tree: Tree, state: OrchestratorState, *, previous: str, new: str, created_at: str, generation: int, summary: str,
    word: str, failures: Sequence[str] = (), running: Sequence[str] = (),
    contradicted: Sequence[ContradictedReport] = (), shared: Sequence[str] = (),
    scratchpad: Sequence[FailedApproach] = (),
) -> HandoffPackage:  # fmt: skip
    """The package of a project as it stands, with its hash (E30 to E42).

    generation: the successor's. word: drawn once for this package, and told nowhere else. failures: updates that were
    not made; a package with any is degraded (X30). contradicted: reports whose claims the facts contradict. shared:
    paths of what other projects shared (E81). scratchpad: what was tried in vain (E90). Raises BadProject for ids and
    names that are none.
    """
    previous_id, new_id = layout.canonical_id(previous), layout.canonical_id(new)
    if previous_id == new_id:
        raise BadProject(f"{new_id} would follow itself", "give the successor an id of its own")
    paths = tree.paths
    artifacts = [one.path for one in tree.artifacts]
    manifests = [paths.manifest(phase) for phase in tree.phases if paths.manifest(phase) in tree.files]
    named = artifacts if len(artifacts) <= MOST_ARTIFACTS else manifests
    package = HandoffPackage(
        previous_session_id=previous_id,
        new_session_id=new_id,
        project_name=tree.project,
        created_at=created_at,
        current_phase=state.current_phase if state.current_phase in tree.phases else None,
        plan_files={phase: paths.plan(phase) for phase in tree.phases if paths.plan(phase) in tree.files},
        claude_md_files=tuple(paths.context(one) for one in tree.phases if paths.context(one) in tree.files),
        artifacts=tuple(sorted(named, key=layout.natural)),
        memory_files=tuple(sorted((*tree.memory, *shared), key=layout.natural)),
        project_state=ProjectState(
            current_step=state.current_step,
            completed_tasks=state.completed_tasks,
            pending_tasks=state.pending_tasks,
            context_summary=summary,
        ),
        generation=generation,
        artifact_count=len(artifacts),
        degraded=bool(failures),
        failures=tuple(failures),
        running=tuple(running),
        contradicted=tuple(contradicted),
        scratchpad=tuple(scratchpad),
        word=word,
    )
    return package.model_copy(update={"hash": digest(package)})


def digest(package: HandoffPackage) -> str:
    """What a package is known by: sha256 over its canonical JSON without the hash itself (E47)."""
    told = {key: value for key, value in plain(package).items() if key != "hash"}
    canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def render(package: HandoffPackage) -> bytes:
    """The file."""
    return render_document(package)


def read(content: bytes, name: str) -> HandoffPackage:
    """The package that a file holds; raises BadProject."""
    return read_document(HandoffPackage, content, name)


def check(package: HandoffPackage) -> tuple[str, ...]:
    """Why a package cannot be rested on by itself, one sentence each; none: it can (E75, F-HO-8)."""
    faults = []
    if package.hash is None:
        faults.append("the package has no hash")
    elif not hmac.compare_digest(package.hash, digest(package)):
        faults.append("the package was changed after its hash was taken")
    if package.previous_session_id == package.new_session_id:
        faults.append(f"{package.new_session_id} follows itself")
    if not package.project_state.context_summary.strip():
        faults.append("the package has no summary")
    if package.degraded != bool(package.failures):
        faults.append("the package does not say which updates it lacks")
    return tuple(faults)


def outdated(package: HandoffPackage, tree: Tree) -> tuple[str, ...]:
    """What it says otherwise than the project is now, artifacts apart: one sentence each (E35, E36, F-HO-7)."""
    faults = []
    if package.project_name != tree.project:
        faults.append(f"the package is of {package.project_name}, not of {tree.project}")
    there = {*tree.files, *tree.memory}
    own_memory = [path for path in package.memory_files if not path.startswith(f"{layout.SHARED}/")]
    named = (*package.plan_files.values(), *package.claude_md_files, *own_memory)
    faults += [f"{path} is not there" for path in named if path not in there]
    plans = [tree.paths.plan(phase) for phase in tree.phases]
    known = {*package.plan_files.values()}
    faults += [f"{path} is not named" for path in plans if path in tree.files and path not in known]
    if package.current_phase is not None and package.current_phase not in tree.phases:
        faults.append(f"the current phase {package.current_phase} is not there")
    return tuple(faults)


def lost_artifacts(package: HandoffPackage, tree: Tree) -> tuple[str, ...]:
    """Artifacts that it names and that are not there any more: one sentence each (E37)."""
    there = {*tree.files, *(one.path for one in tree.artifacts)}
    return tuple(f"{path} is not there" for path in package.artifacts if path not in there)


def first(faults: Sequence[str]) -> str:
    """The first of them in a sentence, and how many more there are."""
    more = (f"{len(faults) - MOST_FAULTS} more",) if len(faults) > MOST_FAULTS else ()
    return "; ".join((*faults[:MOST_FAULTS], *more))
