"""A plan that grew too long becomes several (E64): completed tasks first, open ones behind, and no line is lost."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from phoenixd.core.rules import PhaseRules
from phoenixd.documents.project.layout import phase_name
from phoenixd.documents.project.markdown import Heading
from phoenixd.documents.project.models import PhaseProgress
from phoenixd.documents.project.plan import Plan, Task, phase_status, read_plan
from phoenixd.documents.project.reading import line_count, render_document
from phoenixd.documents.project.revision import Revision, place_of, revision
from phoenixd.documents.project.tree import Tree
from phoenixd.errors import BadProject


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that stay together: a task with all that stands below its name, its subtasks too."""

    line: int
    end: int
    tasks: tuple[Task, ...]

    @property
    def is_done(self) -> bool:
        return all(task.status == "completed" for task in self.tasks)

    @property
    def size(self) -> int:
        return self.end - self.line


def split(tree: Tree, phase: str, rules: PhaseRules, now: str) -> Revision:
    """The split of a phase into `-part1`, `-part2` and so on, as it would be made.

    Raises BadProject where there is nothing to split, or where a task would be lost or doubled (F-PH-2).
    """
    plan = plan_of(tree, phase)
    blocks = blocks_of(plan)
    outside = _outside(plan, blocks)
    groups = _groups(plan, blocks, len(_lines_of(outside)), rules)
    parts = tuple(phase_name(f"{phase}-part{number}") for number in range(1, len(groups) + 1))
    taken = next((part for part in parts if part in tree.phases), None)
    if taken is not None:
        raise BadProject(f"{taken} is there already", f"rename {tree.paths.phase(taken)}, or split that one")
    textual = next((number for number, group in enumerate(groups) if not group[0].is_done), 0)
    above = _above(outside, blocks)
    plans = [
        _rest(plan, group, blocks) if number == textual else _part(plan, group, above)
        for number, group in enumerate(groups)
    ]
    require_same_tasks(plan, plans)
    place = place_of(tree, phase, "split")
    writes = {tree.paths.plan(phase): _index(plan, parts, groups, place)}
    context = tree.files.get(tree.paths.context(phase), b"")
    for number, part in enumerate(parts):
        writes[tree.paths.plan(part)] = plans[number]
        pointer = f"# {part}\n\nThe context of this part is in {tree.paths.context(parts[textual])}.\n"
        writes[tree.paths.context(part)] = context if number == textual else pointer.encode()
    state = tree.state()
    if state is not None:
        progress = state.phases.get(phase, PhaseProgress())
        added = {
            part: progress.model_copy(update={"status": phase_status(_tasks(group))})
            for part, group in zip(parts, groups, strict=True)
        }
        current = parts[textual] if state.current_phase == phase else state.current_phase
        update = {"phases": {**state.phases, **added}, "current_phase": current}
        writes[tree.paths.state] = render_document(state.model_copy(update=update))
    told = [f"{phase} has {len(plan.lines)} lines and {len(plan.tasks)} tasks; it becomes {len(parts)} phases:"]
    told += [
        f"{part}: {len(_tasks(group))} {'completed' if group[0].is_done else 'open'} tasks, {line_count(content)} lines"
        for part, group, content in zip(parts, groups, plans, strict=True)
    ]
    told.append(f"the plan as it is now is kept: {place}/plan.md")
    return revision(tree, phase, "split", writes, now, tuple(told), parts)


def blocks_of(plan: Plan) -> list[Block]:
    """The tasks of a plan in pieces that can be moved."""
    found: list[Block] = []
    for task in plan.tasks:
        if found and task.line < found[-1].end:
            last = found[-1]
            found[-1] = Block(last.line, max(last.end, task.end), (*last.tasks, task))
        else:
            found.append(Block(task.line, task.end, (task,)))
    return found


def require_same_tasks(before: Plan, after: list[bytes]) -> None:
    """Raise BadProject unless these plans have the same tasks as the one, each once (F-PH-2)."""
    read = [read_plan(content, before.name) for content in after]
    now = Counter(_fact(task) for plan in read for task in plan.tasks)
    if now != Counter(map(_fact, before.tasks)) or any(plan.faults for plan in read):
        raise BadProject(
            f"{before.name} was left as it is: taken apart, it would not have the same tasks",
            "set each task apart by a blank line, and close every ``` and <!--; then again",
        )


def _groups(plan: Plan, blocks: list[Block], titles: int, rules: PhaseRules) -> list[list[Block]]:
    """The blocks of each part. titles: lines of headings outside of all blocks, which each part may have."""
    inside = sum(block.size for block in blocks)
    around, room = len(plan.lines) - inside, rules.warn_lines
    skeleton = titles + 1
    if around >= room:
        raise BadProject(
            f"{plan.name} has {around} lines outside of its tasks, and a split leaves those together",
            "phoenixctl phase summarise PHASE",
        )
    large = next((block for block in blocks if block.size + max(around, skeleton) > rules.max_lines), None)
    if large is not None:
        raise BadProject(
            f"{plan.name}: task {large.tasks[0].id} alone has {large.size} lines", "phoenixctl phase summarise PHASE"
        )
    open_ones = [block for block in blocks if not block.is_done]
    done = [block for block in blocks if block.is_done]
    groups = [
        *_packed(done, room - (skeleton if open_ones else around), room - skeleton),
        *_packed(open_ones, room - around, room - skeleton),
    ]
    if len(groups) < 2:
        kind = "completed" if done else "open"
        what = f"all its {len(blocks)} tasks are {kind}, and they fit into one plan" if blocks else "it has no task"
        raise BadProject(f"{plan.name} is not split: {what}", "phoenixctl phase check")
    return groups


def _packed(blocks: list[Block], first: int, others: int) -> list[list[Block]]:
    """Blocks in their order, in groups of `first` lines at most, then of `others`; a larger block has its own group."""
    groups: list[list[Block]] = []
    used = 0
    for block in blocks:
        if groups and used + block.size <= (first if len(groups) == 1 else others):
            groups[-1].append(block)
            used += block.size
        else:
            groups.append([block])
            used = block.size
    return groups


def _part(plan: Plan, group: list[Block], above: dict[int, tuple[Heading, ...]]) -> bytes:
    """The lines of these blocks in their order, below the headings that they stand under."""
    leading = {one.line: one for block in group for one in above[block.line]}
    first = [one for one in plan.headings[:1] if one.line < min(above, default=0)]
    kept = _lines_of([*first, *leading.values()]) | _lines_in(group)
    return "".join(plan.lines[number] for number in sorted(kept)).encode()


def _rest(plan: Plan, group: list[Block], everything: list[Block]) -> bytes:
    """These blocks and all that is in no block."""
    gone = _lines_in(everything) - _lines_in(group)
    return "".join(line for number, line in enumerate(plan.lines) if number not in gone).encode()


def _lines_in(blocks: list[Block]) -> set[int]:
    return {number for block in blocks for number in range(block.line, block.end)}


def _index(plan: Plan, parts: tuple[str, ...], groups: list[list[Block]], place: str) -> bytes:
    title = plan.headings[0].text if plan.headings else plan.name
    listed = [f"- {part}: {len(_tasks(group))} tasks" for part, group in zip(parts, groups, strict=True)]
    lines = [f"# {' '.join(title.split())}", "", "This plan was split. What it had to do stands in:", "", *listed, ""]
    lines += [f"As it was: {place}/plan.md. To undo the split: phoenixctl phase split PHASE --undo", ""]
    content = plan.newline.join(lines).encode()
    # A title such as `Task 3: x` would be one more task.
    return content if not read_plan(content, plan.name).tasks else content.replace(b"# ", b"# Plan of ", 1)


def plan_of(tree: Tree, phase: str) -> Plan:
    """The plan of a phase; raises BadProject where there is none, or a part of it cannot be read."""
    plan = tree.plan(phase_name(phase))
    if plan is None:
        raise BadProject(f"{phase} has no plan.md", "phoenixctl phase list")
    plan.require_sound()
    return plan


def _outside(plan: Plan, blocks: list[Block]) -> list[Heading]:
    """The headings that stand in no block."""
    begins = [block.line for block in blocks]
    ends = [0, *(block.end for block in blocks)]
    return [one for one in plan.headings if one.line >= ends[bisect_right(begins, one.line)]]


def _above(outside: list[Heading], blocks: list[Block]) -> dict[int, tuple[Heading, ...]]:
    """For each block, by its line, the headings that it stands under: of both there may be tens of thousands."""
    found: dict[int, tuple[Heading, ...]] = {}
    open_ones: list[Heading] = []
    at = 0
    for block in blocks:
        while at < len(outside) and outside[at].line < block.line:
            open_ones = [one for one in open_ones if one.end > outside[at].line] + [outside[at]]
            at += 1
        found[block.line] = tuple(one for one in open_ones if one.end > block.line)
    return found


def _lines_of(headings: Iterable[Heading]) -> set[int]:
    return {number for one in headings for number in range(one.line, one.body)}


def _tasks(group: list[Block]) -> tuple[Task, ...]:
    return tuple(task for block in group for task in block.tasks)


def _fact(task: Task) -> tuple[object, ...]:
    return (task.id, task.title, task.status, task.agent, task.dependencies, task.artifacts)
