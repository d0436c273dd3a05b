"""What a successor has to quote to show that it has loaded what it was handed, and how it is asked (E46, F-HO-10).

The hash and the word stand in the package alone. The plan's fact stands in plan.md alone, so a successor that has read
the package and not the plan cannot answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from phoenixd.core.handoff import verdict
from phoenixd.documents.project import layout
from phoenixd.documents.project.models import HandoffPackage
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

Facts = tuple[tuple[str, str], ...]
PLAN = "plan"
FILE_LIMIT = 8000
"""Bytes of a handoff-ack.json."""
REMEDY = "write one JSON object, as the first prompt says"


@dataclass(frozen=True, slots=True)
class AckFile:
    """What a handoff-ack.json says: the quotes, and whose it says that it is. Empty is what it does not say."""

    package: str
    word: str = field(repr=False)
    facts: Facts
    run: str
    session: str
    generation: str


def in_file(content: bytes) -> AckFile:
    """The acknowledgement that a file holds; raises BadProject where it holds none."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise BadProject("it is no JSON object", REMEDY)
    package, word, quoted = verdict.read(said)
    named = dict(quoted)
    run, session, generation = (named.pop(key, "") for key in ("run", "session", "generation"))
    return AckFile(package, word, tuple(sorted(named.items())), run, session, generation)


def facts(package: HandoffPackage, tree: Tree) -> Facts:
    """What an acknowledgement has to say beside hash and word, by name."""
    state = package.project_state
    found = [
        ("phase", package.current_phase or "none"),
        ("step", str(state.current_step)),
        ("pending", str(len(state.pending_tasks))),
    ]
    last = _last_task(package, tree)
    return (*found, (PLAN, last)) if last else tuple(found)


def how(package: HandoffPackage, tree: Tree, seat: str) -> str:
    """The sentence of the first prompt that asks for it."""
    keys = [
        '"package": the hash that stands in the handoff package', '"word": the word that stands in it',
        '"phase": its currentPhase, or none', '"step": its currentStep',
        '"pending": how many pending tasks it names',
    ]  # fmt: skip
    if package.current_phase is not None and _last_task(package, tree):
        path = package.plan_files[package.current_phase]
        keys.append(f'"{PLAN}": the title of the last task in {path} as it stands there now')
    return (
        "Run: phoenixctl handoff ack 'JSON', where JSON is one object with these keys: "
        + "; ".join(keys)
        + f". Where you may not run it, end your answer in one line: HANDOFF-ACK JSON. ({seat} is the seat's name.)"
        + " A program that can do neither writes the same object into"
        + f" {layout.session_paths(package.new_session_id).ack}, with one key more,"
        + ' "run": the value of its environment variable PHOENIX_RUN_ID.'
    )


def _last_task(package: HandoffPackage, tree: Tree) -> str:
    if package.current_phase is None or package.current_phase not in package.plan_files:
        return ""
    plan = tree.plans().get(package.current_phase)
    return plan.tasks[-1].title if plan is not None and plan.tasks else ""
