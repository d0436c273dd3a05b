"""What a program is given that words a project's papers, and what of its answer is taken: words, and no facts.

The three jobs follow it in any case: what is completed, and what state and manifest say, no program decides.
"""

from __future__ import annotations

import json
from dataclasses import replace

from phoenixd.documents.json_line import parse_line
from phoenixd.documents.project import layout
from phoenixd.documents.project.jobs import JOBS
from phoenixd.documents.project.plan import Plan, Task, read_plan
from phoenixd.documents.project.reading import line_count, read_text
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources, current_phase
from phoenixd.documents.project.writing import session_lines
from phoenixd.documents.seal import Seal, in_words, judge_json, request_json
from phoenixd.errors import BadProject

ANSWER_LIMIT = 4 << 20
ASKED = (
    'Answer with one JSON object: {"files": {PATH: TEXT}}, with paths of "files" alone. Keep each task of the plan '
    "with its id, title, status, dependencies and artifacts: phoenixd says what is completed."
)


def papers(tree: Tree) -> tuple[str, ...]:
    """The paths that a program may word: plan and claude.md of the phase at work. Raises BadProject."""
    phase = current_phase(tree, tree.plans())
    if phase is None:
        return ()
    return tuple(path for path in (tree.paths.plan(phase), tree.paths.context(phase)) if path in tree.files)


def material(tree: Tree, sources: Sources, complaint: str | None = None, seal: Seal | None = None) -> bytes:
    """What the program reads: the files, what the jobs would make of them, and what the session left.

    complaint: why its first answer was refused. seal: what its answer is to bear, if anything. Raises BadProject.
    """
    named = papers(tree)
    after = _after_jobs(tree, sources)
    told = {
        "project": tree.project,
        "now": sources.now,
        "task": ASKED if seal is None else f"{ASKED}\n{request_json(seal)}",
        "files": {path: sources.clean(read_text(tree.files[path], path)) for path in named},
        "update": {path: sources.clean(read_text(after.files[path], path)) for path in named},
        "session": [sources.clean(line) for line in session_lines(sources)],
        "refused": complaint,
    }
    return json.dumps(told).encode()


def accepted(tree: Tree, answer: str, sources: Sources, seal: Seal | None = None) -> Changes:
    """The files as the program words them; raises BadProject, which says why it is refused.

    A program that exits with 0 says that its answer is whole, so one without the seal is taken. One that bears its end
    alone has lost its beginning.
    """
    if seal is not None and (verdict := judge_json(answer, seal, "whole")) in ("cut", "front lost"):
        raise _refused(in_words(verdict))
    files = _files(answer)
    allowed = papers(tree)
    writes: dict[str, bytes] = {}
    for path, text in files.items():
        if path not in allowed:
            raise _refused(f"{path[:200]!r} is none of the files that it was given")
        if not isinstance(text, str) or not text.strip():
            raise _refused(f"{path} would be empty")
        content = sources.clean(text).encode("utf-8", "replace")
        read_text(content, path)
        if (count := line_count(content)) > sources.rules.max_lines:
            raise _refused(f"{path} would have {count} lines, and {sources.rules.max_lines} are the most")
        writes[path] = content
    changes = Changes({path: content for path, content in writes.items() if content != tree.files[path]})
    _require_same_tasks(tree, changes)
    _after_jobs(tree.after(changes), sources)
    return changes


def _files(answer: str) -> dict[str, object]:
    found = parse_line(answer.encode("utf-8", "replace")) if len(answer) <= ANSWER_LIMIT else None
    files = found.get("files") if isinstance(found, dict) else None
    if not isinstance(files, dict):
        raise _refused('it is no JSON object with "files"')
    return files


def _require_same_tasks(tree: Tree, changes: Changes) -> None:
    for path, content in changes.writes.items():
        if not path.endswith(f"/{layout.PLAN}"):
            continue
        after = read_plan(content, path)
        after.require_sound()
        before, now = _facts(read_plan(tree.files[path], path)), _facts(after)
        others = [one for one in before if one not in now] or [one for one in now if one not in before]
        if others or before != now:
            named = others[0].title[:200] if others else "they would stand in another order"
            raise _refused(f"{path} would not have the same tasks: {named}")


def _facts(plan: Plan) -> list[Task]:
    """Its tasks without the lines that they stand on."""
    return [replace(one, line=0, end=0, body=0, status_line=None) for one in plan.tasks]


def _after_jobs(tree: Tree, sources: Sources) -> Tree:
    for _, job in JOBS:
        tree = tree.after(job(tree, sources))
    return tree


def _refused(why: str) -> BadProject:
    return BadProject(f"the answer was refused: {why}", "")
