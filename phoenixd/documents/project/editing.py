"""plan.md changed in place, line by line: what is not meant keeps its bytes, line ends and trailing blanks too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.project.models import TaskStatus
from phoenixd.documents.project.plan import Plan, read_plan
from phoenixd.errors import BadProject

REASON_LIMIT = 300

_STATUS = re.compile(r".*?\bstatus\b[*_]{0,3}\s*:[*_]{0,3}[ \t]*", re.IGNORECASE | re.DOTALL)
_MARK = re.compile(r"(.*?\[)[ xX](\].*)", re.DOTALL)
_COUNTS = re.compile(
    r"([\s>*+-]*[*_]{0,3}(completed|pending|in progress|blocked|total)(?: tasks)?[*_]{0,3}\s*:[*_]{0,3}[ \t]*)[0-9]+"
    r"([ \t]*[\r\n]*)",
    re.IGNORECASE,
)
_INDENT = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")


def set_status(plan: Plan, task_id: str, status: TaskStatus, note: str = "") -> Plan:
    """The plan with another status of one task, and a line that says why where `note` is given.

    Raises BadProject where the plan has no such task or a fault, or where the edit would change anything else.
    """
    task = plan.task(task_id)
    lines = list(plan.lines)
    added: list[str] = []
    if task.is_box:
        _tick(lines, task.line, status)
    if task.status_line is not None:
        _say(lines, task.status_line, status)
    elif status != task.status and not (task.is_box and status in ("pending", "completed")):
        added.append(f"- **Status**: {status}")
    if note:
        added.append(f"- **Note**: {one_line(note, REASON_LIMIT)}")
    indent = " " * _indent(lines[task.line]) if task.is_box else ""
    at = task.status_line + 1 if task.status_line is not None else task.body
    _insert(lines, at, [f"{indent}{line}" for line in added], plan.newline)
    changed = read_plan("".join(lines).encode(), plan.name)
    _require_only(plan, changed, task_id, status)
    return changed


def set_counts(plan: Plan) -> Plan:
    """The plan with the counts that its section Progress has, where it has one."""
    counts = {"total": len(plan.tasks), "completed": 0, "pending": 0, "in progress": 0, "blocked": 0}
    for task in plan.tasks:
        counts[task.status.replace("_", " ")] += 1
    section = next((one for one in plan.headings if one.text.strip("*_ ").lower() == "progress"), None)
    if section is None or any(not one.is_box and one.line < section.line < one.end for one in plan.tasks):
        return plan
    lines = list(plan.lines)
    for number in range(section.body, section.end):
        found = _COUNTS.fullmatch(lines[number])
        if found is not None:
            lines[number] = f"{found[1]}{counts[found[2].lower()]}{found[3]}"
    changed = read_plan("".join(lines).encode(), plan.name)
    return changed if _facts(changed) == _facts(plan) else plan


def with_statuses(plan: Plan, statuses: Mapping[str, tuple[TaskStatus, str]]) -> Plan:
    """Several at once, each with its note; those that stand so already are left alone."""
    present = {one.id: one.status for one in plan.tasks}
    for task_id, (status, note) in statuses.items():
        if present.get(task_id) != status:
            plan = set_status(plan, task_id, status, note)
    return set_counts(plan)


def _tick(lines: list[str], number: int, status: TaskStatus) -> None:
    mark = _MARK.fullmatch(lines[number])
    assert mark is not None, "a box has its brackets"
    lines[number] = f"{mark[1]}{'x' if status == 'completed' else ' '}{mark[2]}"


def _say(lines: list[str], number: int, status: TaskStatus) -> None:
    line = lines[number]
    found = _STATUS.match(line)
    assert found is not None, "a status line says Status:"
    # Not by the pattern: it would look for the end of the line behind each of the blanks in it.
    end = max(found.end(), len(line.rstrip("\r\n").rstrip(" \t")))
    lines[number] = f"{found[0] if found[0].endswith((' ', chr(9))) else f'{found[0]} '}{status}{line[end:]}"


def _insert(lines: list[str], at: int, added: list[str], newline: str) -> None:
    if not added:
        return
    whole = [f"{text}{newline}" for text in added]
    if at < len(lines) and lines[at].strip() and not _INDENT.match(lines[at]):
        whole.append(newline)  # What follows is a paragraph, and no part of the list.
    if at == len(lines) and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
        whole[-1] = added[-1]  # The file ended without a newline, and goes on doing so.
    lines[at:at] = whole


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return len(found[0].expandtabs(4)) if found is not None else 2


def _require_only(before: Plan, after: Plan, task_id: str, status: TaskStatus) -> None:
    wanted = [(*one[:2], status, *one[3:]) if one[0] == task_id else one for one in _facts(before)]
    if after.faults or _facts(after) != wanted:
        raise BadProject(
            f"{before.name} was left as it is: the status of task {task_id} cannot be set on its line alone",
            f"give task {task_id} a line of its own: - **Status**: {status}",
        )


def _facts(plan: Plan) -> list[tuple[object, ...]]:
    return [(one.id, one.title, one.status, one.agent, one.dependencies, one.artifacts) for one in plan.tasks]
