"""What is over leaves a phase's files and stays in its archive: completed tasks (archive), long texts (summarise)."""

from __future__ import annotations

from phoenixd.documents.project.layout import ARCHIVE, CONTEXT, PLAN, phase_name
from phoenixd.documents.project.markdown import top_level
from phoenixd.documents.project.plan import Plan, read_plan, task_lines
from phoenixd.documents.project.reading import line_count
from phoenixd.documents.project.revision import Revision, place_of, revision
from phoenixd.documents.project.splitting import blocks_of, plan_of, require_same_tasks
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject

LONG_SECTION, KEPT_LINES = 12, 8
"""Lines from which on a section is shortened, and how many of its first ones stay."""


def archive(tree: Tree, phase: str, now: str) -> Revision:
    """Of completed tasks their names and fields stay in the plan, the rest goes into the archive.

    Raises BadProject where nothing would become shorter.
    """
    plan = plan_of(tree, phase)
    place = place_of(tree, phase, "archive")
    where = f"- **Archived**: {_from_phase(place)}/{PLAN}{plan.newline}"
    lines: list[str] = []
    end, count = 0, 0
    for block in blocks_of(plan):
        lines += plan.lines[end : block.line]
        end = block.end
        kept = {number for task in block.tasks for number in task_lines(plan, task)}
        if not block.is_done or block.tasks[0].is_box or block.size <= len(kept) + 2:
            lines += plan.lines[block.line : block.end]
            continue
        count += len(block.tasks)
        first = [plan.lines[number] for number in sorted(kept)]
        lines += [
            *(line if line.endswith(("\n", "\r")) else line + plan.newline for line in first),
            where,
            plan.newline,
        ]
    lines += plan.lines[end:]
    content = "".join(lines).encode()
    if not count:
        raise BadProject(f"{plan.name} has no completed task to archive", "phoenixctl phase check")
    require_same_tasks(plan, [content])
    told = (
        f"{count} completed tasks of {phase} keep their names and fields, and the plan has {line_count(content)} lines"
        f" instead of {len(plan.lines)}",
        f"the plan as it is now is kept: {place}/{PLAN}",
    )
    return revision(tree, phase, "archive", {plan.name: content}, now, told)


def summarise(tree: Tree, phase: str, now: str) -> Revision:
    """Of long sections of claude.md, and of the plan outside of its tasks, the beginning stays; all is in the archive.

    Raises BadProject where nothing would become shorter.
    """
    place = place_of(tree, phase_name(phase), "summarise")
    writes: dict[str, bytes] = {}
    told = []
    for path, name in ((tree.paths.context(phase), CONTEXT), (tree.paths.plan(phase), PLAN)):
        content = tree.files.get(path)
        if content is None:
            continue
        plan = read_plan(content, path)
        plan.require_sound()
        shorter = _shortened(plan, f"{_from_phase(place)}/{name}")
        if line_count(shorter) >= len(plan.lines):
            continue
        require_same_tasks(plan, [shorter])
        writes[path] = shorter
        told.append(f"{path}: {line_count(shorter)} lines instead of {len(plan.lines)}; as it was: {place}/{name}")
    if not writes:
        raise BadProject(f"{phase} has no section of more than {LONG_SECTION} lines", "phoenixctl phase check")
    return revision(tree, phase, "summarise", writes, now, tuple(told))


def _shortened(plan: Plan, kept_at: str) -> bytes:
    """Whole paragraphs, lists and fences stay or go, so that none is cut open."""
    pieces = top_level("".join(plan.lines))
    inside = [(block.line, block.end) for block in blocks_of(plan)]
    gone: dict[int, int] = {}
    edges = [0, *(one.body for one in plan.headings)]
    ends = [*(one.line for one in plan.headings), len(plan.lines)]
    for begin, end in zip(edges, ends, strict=True):
        if end - begin <= LONG_SECTION or any(first < end and begin < last for first, last in inside):
            continue
        stays = begin
        for first, last in pieces:
            if begin <= first and last <= end and last - begin <= KEPT_LINES:
                stays = max(stays, last)
        gone[stays] = end
    lines: list[str] = []
    at = 0
    for begin, end in sorted(gone.items()):
        words = f"(Shortened. As it was: {kept_at})"
        lines += [*plan.lines[at:begin], plan.newline, words + plan.newline, plan.newline]
        at = end
    return "".join([*lines, *plan.lines[at:]]).encode()


def _from_phase(place: str) -> str:
    return f"{ARCHIVE}/{place.rsplit('/', 1)[-1]}"
