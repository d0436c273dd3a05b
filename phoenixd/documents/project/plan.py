"""plan.md as a person or an agent wrote it: its tasks with the lines that they stand on. Nothing is rewritten here.

Markdown's own token lines decide what is a heading or a list, so that what stands in a fence, a quotation, a comment or
a paragraph is never taken for a task. A task is a heading `Task ID: name`, or a box `- [ ] name` below a heading that
speaks of tasks.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from phoenixd.documents.project.markdown import Heading, headings_of, spoken_lines, tokens_of
from phoenixd.documents.project.models import PhaseStatus, TaskStatus
from phoenixd.documents.project.reading import TEXT_LIMIT, lines_of, read_text
from phoenixd.errors import BadProject

if TYPE_CHECKING:
    from markdown_it.token import Token

_ID = r"(?=[\w.-]*[0-9])[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_TASK = re.compile(rf"Task\s+#?({_ID})\s*(?:(?::|[-\u2013\u2014]\s)\s*(.*))?", re.IGNORECASE | re.DOTALL)
_BOX = re.compile(r"\[([ xX])\]\s+(.*)", re.DOTALL)
_FIELD = re.compile(
    r"[*_]{0,3}(status|assigned agent|agent|dependencies|depends on|artifacts|outputs)[*_]{0,3}\s*:[*_]{0,3}\s*(.*)",
    re.IGNORECASE,
)
_FIELDS = {
    "status": "status", "assigned agent": "agent", "agent": "agent", "dependencies": "dependencies",
    "depends on": "dependencies", "artifacts": "artifacts", "outputs": "artifacts",
}  # fmt: skip
_STATUSES: dict[str, TaskStatus] = {
    "pending": "pending", "todo": "pending", "open": "pending", "not started": "pending", "not_started": "pending",
    "in progress": "in_progress", "in_progress": "in_progress", "started": "in_progress", "active": "in_progress",
    "completed": "completed", "complete": "completed", "done": "completed", "finished": "completed",
    "blocked": "blocked", "failed": "blocked",
}  # fmt: skip
NOTHING = frozenset({"", "none", "-", "n/a", "\u2013", "\u2014"})
SIGNS = "*_`~ "
_SPEAKS_OF_TASKS = re.compile(r"\btasks?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Task:
    """One task. Lines count from 0; `end` is the first one behind it, `body` the first behind its name.

    title: as lists name it, such as `Task 4: API`. status_line: where its status stands, None where it says none.
    """

    id: str
    title: str
    status: TaskStatus
    line: int
    end: int
    body: int
    is_box: bool = False
    status_line: int | None = None
    agent: str | None = None
    dependencies: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """What keeps a plan from being edited. line: from 1, as editors count."""

    line: int
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it stands. lines: with their own ends; together they are the file."""

    name: str
    lines: tuple[str, ...]
    tasks: tuple[Task, ...] = ()
    headings: tuple[Heading, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def content(self) -> bytes:
        return "".join(self.lines).encode()

    @property
    def newline(self) -> str:
        """How lines of this file end."""
        first = self.lines[0] if self.lines else "\n"
        return "\r\n" if first.endswith("\r\n") else "\r" if first.endswith("\r") else "\n"

    def task(self, task_id: str) -> Task:
        """The task of that id; raises BadProject."""
        self.require_sound()
        found = next((one for one in self.tasks if one.id == task_id), None)
        if found is None:
            known = ", ".join(one.id for one in self.tasks[:20]) or "none"
            raise BadProject(f"{self.name} has no task {task_id[:64]!r}", f"its tasks are: {known}")
        return found

    def require_sound(self) -> None:
        """Raise BadProject where the plan has a fault: it is then left as it is (F-PH-3)."""
        if self.faults:
            first = self.faults[0]
            raise BadProject(f"{self.name}, line {first.line}: {first.what}; the file is left as it is", first.remedy)


def read_plan(content: bytes, name: str, limit: int = TEXT_LIMIT) -> Plan:
    """Read a plan; raises BadProject where it is no text of bounded size. Other faults are told in the plan."""
    text = read_text(content, name, limit)
    tokens = tokens_of(text)
    lines = lines_of(text)
    headings = headings_of(tokens, len(lines))
    drafts = [*_heading_tasks(headings), *_box_tasks(tokens, headings)]
    drafts.sort(key=lambda one: one.line)
    places, texts = spoken_lines(tokens)
    nexts = [one.line for one in drafts[1:]] + [len(lines)] * bool(drafts)
    read = [_with_fields(one, min(one.end, after), places, texts) for one, after in zip(drafts, nexts, strict=True)]
    tasks = tuple(task for task, _ in read)
    faults = [fault for _, fault in read if fault is not None]
    return Plan(name, lines, tasks, headings, tuple(sorted([*faults, *_twice(tasks)], key=lambda one: one.line)))


def task_lines(plan: Plan, task: Task) -> tuple[int, ...]:
    """The lines that name a task and say its status, agent, dependencies and artifacts."""
    places, texts = spoken_lines(tokens_of("".join(plan.lines)))
    until = min([task.end, *(one.line for one in plan.tasks if one.line > task.line)])
    depth = (3, 5) if task.is_box else (1, 3)
    said = [
        places[at]
        for at in range(bisect_left(places, task.line), bisect_left(places, until))
        if texts[at][0] in depth and _FIELD.fullmatch(texts[at][1].strip())
    ]
    return (*range(task.line, task.body), *said)


def phase_status(tasks: tuple[Task, ...]) -> PhaseStatus:
    """Where a phase stands, by its tasks."""
    statuses = {one.status for one in tasks}
    if statuses == {"completed"}:
        return "completed"
    if "blocked" in statuses and not statuses & {"pending", "in_progress"}:
        return "blocked"
    return "in_progress" if statuses & {"completed", "in_progress", "blocked"} else "not_started"


def task_status(word: str) -> TaskStatus | None:
    """What a person's word for a status means; None for one that we do not know."""
    bare = re.sub(r"[^\w\s-]", "", word.replace("_", " ")).strip().lower().replace("-", " ")
    return _STATUSES.get(" ".join(bare.split()))


def _heading_tasks(headings: tuple[Heading, ...]) -> list[Task]:
    named = [(heading, _TASK.fullmatch(bare(heading.text))) for heading in headings]
    return [
        Task(name[1], _title(name), "pending", one.line, one.end, one.body) for one, name in named if name is not None
    ]


def _box_tasks(tokens: list[Token], headings: tuple[Heading, ...]) -> list[Task]:
    found: list[Task] = []
    begins = [one.line for one in headings]
    tasks_end = _ends_of_tasks(headings)
    for at, token in enumerate(tokens[:-2]):
        if token.type != "list_item_open" or token.level != 1 or not token.map or tokens[at + 2].type != "inline":
            continue
        number = bisect_right(begins, token.map[0]) - 1
        # Boxes below a task's own heading are its steps.
        if number < 0 or token.map[0] < tasks_end[number] or not _SPEAKS_OF_TASKS.search(headings[number].text):
            continue
        inline = tokens[at + 2]
        box = _BOX.fullmatch(inline.content.split("\n")[0])
        if box is None:
            continue
        words = " ".join(bare(box[2]).split())
        named = _TASK.fullmatch(words)
        # A box without a number is known by its words, which stay when the plan is split or sorted.
        task_id = named[1] if named else f"t-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
        status: TaskStatus = "completed" if box[1] in "xX" else "pending"
        body = inline.map[1] if inline.map else token.map[0] + 1
        title = _title(named) if named else words
        found.append(Task(task_id, title, status, token.map[0], token.map[1], body, is_box=True))
    return found


def _ends_of_tasks(headings: tuple[Heading, ...]) -> list[int]:
    """For each heading the line up to which a task's section goes that it stands in, its own too; 0 for none."""
    ends, end = [], 0
    for one in headings:
        end = max(end, one.end) if _TASK.fullmatch(bare(one.text)) else (end if one.line < end else 0)
        ends.append(end)
    return ends


def _with_fields(task: Task, until: int, places: list[int], texts: list[tuple[int, str]]) -> tuple[Task, Fault | None]:
    """The task with what its lines say of it. until: where a task of its own begins, or it ends."""
    depth = (3, 5) if task.is_box else (1, 3)
    values: dict[str, tuple[str, int]] = {}
    for at in range(bisect_left(places, task.line), bisect_left(places, until)):
        level, text = texts[at]
        found = _FIELD.fullmatch(text.strip()) if level in depth else None
        if found is not None:
            values.setdefault(_FIELDS[found[1].lower()], (found[2].strip(SIGNS), places[at]))
    status, fault, status_line = task.status, None, None
    if "status" in values:
        word, status_line = values["status"]
        known = task_status(word)
        if known is None:
            remedy = "write pending, in_progress, completed or blocked behind Status:"
            fault = Fault(status_line + 1, f"{word[:40]!r} is no status of a task", remedy)
        else:
            status = known
    agent = values.get("agent", ("", 0))[0]
    whole = replace(
        task,
        status=status,
        status_line=status_line,
        agent=agent if agent.lower() not in NOTHING else None,
        dependencies=tuple(_dependency(one) for one in _several(values.get("dependencies", ("", 0))[0])),
        artifacts=tuple(one.strip("`") for one in _several(values.get("artifacts", ("", 0))[0])),
    )
    return whole, fault


def _twice(tasks: tuple[Task, ...]) -> list[Fault]:
    first: dict[str, Task] = {}
    faults = []
    for one in tasks:
        known = first.setdefault(one.id, one)
        if known is not one:
            what = f"the task {one.id} stands here and on line {known.line + 1}"
            faults.append(Fault(one.line + 1, what, "give one of them another number"))
    return faults


def bare(text: str) -> str:
    """A heading or an item without emphasis and without a sign before its words."""
    return re.sub(r"^[^\w#]+", "", text.replace("*", "").replace("`", "").replace("~", "")).strip()


def _title(named: re.Match[str]) -> str:
    words = " ".join((named[2] or "").split())
    return f"Task {named[1]}: {words}" if words else f"Task {named[1]}"


def _several(text: str) -> tuple[str, ...]:
    parts = [part.strip(SIGNS) for part in re.split(r"[,;]|\band\b", text)]
    return tuple(part for part in parts if part.lower() not in NOTHING)


def _dependency(text: str) -> str:
    named = _TASK.fullmatch(bare(text))
    return named[1] if named is not None else text
